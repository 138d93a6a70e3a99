// The embedded store against the contract of every store, in its three forms.

import { openInMemory, openOnFile, openOnThread } from "../../test/contract/embedded.ts";
import { storeContract } from "../../test/contract/store.ts";

storeContract("the embedded store in memory", openInMemory);
storeContract("the embedded store on a file", openOnFile);
storeContract("the embedded store on its thread", openOnThread);
