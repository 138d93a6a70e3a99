// The memory store against the contract of every store. Two users of it share the same object.

import { storeContract } from "../../test/contract/store.ts";
import { MemoryStore } from "./memory.ts";

storeContract("the memory store", async () => {
  const store = new MemoryStore();
  return { store, second: async () => store, close: async () => {} };
});
