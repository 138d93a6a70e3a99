// Where dead letters can go: the storage accounts that the settings name, each with the containers
// that subscriptions use.

import type { DeadLetterStoreView } from "../../core/api/views.ts";
import {
  parseStorageId,
  placeOfAccount,
  type StorageAccount,
  storageArmId,
} from "../../core/azure/storage.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import { isSameName } from "../../core/text/compare.ts";
import type { Handlers } from "./serve.ts";

export interface DeadLetterStoresDeps {
  readonly catalog: () => LiveCatalog;
  readonly accounts: readonly StorageAccount[];
}

export function deadLetterStoreHandlers({
  catalog,
  accounts,
}: DeadLetterStoresDeps): Pick<Handlers, "listDeadLetterStores"> {
  return {
    listDeadLetterStores: () => ({
      value: accounts.map((account) => viewOf(account, catalog())),
      next: null,
    }),
  };
}

function viewOf(account: StorageAccount, { subscriptions }: LiveCatalog): DeadLetterStoreView {
  const { name, store } = account;
  const used = subscriptions.flatMap(({ deadLetter }) =>
    deadLetter && isSameName(parseStorageId(deadLetter.resourceId)?.account ?? "", name)
      ? [deadLetter.container]
      : [],
  );
  return {
    armId: storageArmId({ group: placeOfAccount(account), account: name }),
    name,
    kind: store.kind === "folder" ? "folder" : "azure",
    folder: store.kind === "folder" ? store.path : null,
    containers: [...new Set(used)].toSorted(),
  };
}
