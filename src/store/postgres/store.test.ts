// The PostgreSQL store against the contract of every store, on a real server.

import { postgresHarness } from "../../../test/contract/postgres.ts";
import { storeContract } from "../../../test/contract/store.ts";

const open = postgresHarness();

storeContract("the PostgreSQL store", () => open());
