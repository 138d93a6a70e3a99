// Where a subscription's dead letters go, as someone wrote it in Event Grid's own property names
// (L-2), and as it is shown. The account must be one that the operator has told us how to reach;
// whether the container is there is seen when the first blob comes.

import { checkMembers } from "../core/members.ts";
import { Refusal } from "../core/refusal.ts";
import {
  containerNameRule,
  findAccount,
  parseStorageId,
  type StorageAccount,
  storageArmId,
  storageIdWords,
} from "../core/storage.ts";
import type { DeadLetterDestination } from "../core/subscription.ts";
import { refuseValue } from "../core/wording.ts";

/** Refusal: InvalidSetting, naming the field. */
export function checkDeadLetter(
  value: unknown,
  field: string,
  accounts: readonly StorageAccount[],
): DeadLetterDestination | null {
  if (value === null) return null;
  const { endpointType, properties } = checkMembers(value, field, ["endpointType", "properties"]);
  if (typeof endpointType !== "string" || endpointType.toLowerCase() !== "storageblob") {
    throw refuseValue({
      field: `${field}.endpointType`,
      value: endpointType,
      allowed: "StorageBlob",
    });
  }
  const inside = `${field}.properties`;
  const members = checkMembers(properties, inside, ["resourceId", "blobContainerName"]);
  const id = typeof members.resourceId === "string" ? parseStorageId(members.resourceId) : null;
  if (id === null) {
    throw refuseValue({
      field: `${inside}.resourceId`,
      value: members.resourceId,
      allowed: `${storageIdWords}, alone or with /blobServices/default/containers/<name>`,
    });
  }
  const container = checkContainer(members.blobContainerName, inside, id.container);
  const resourceId = storageArmId(id);
  if (findAccount(accounts, resourceId) === undefined) {
    const words = `${inside}.resourceId names the storage account '${id.account}'`;
    const advice = "which this broker does not know: add it to storageAccounts in its file";
    const target = `${inside}.resourceId`;
    throw new Refusal("InvalidSetting", `${words}, ${advice}`, { target });
  }
  return { kind: "blob", resourceId, container };
}

/** It stands by itself, or at the end of the resource id; where it stands twice, it is the same. */
function checkContainer(value: unknown, inside: string, atEnd: string | null): string {
  const given = value ?? atEnd;
  const isSame = atEnd === null || given === atEnd;
  if (typeof given === "string" && containerNameRule.test(given) && isSame) return given;
  const rule = "3 to 63 lower-case letters, digits and single hyphens";
  throw refuseValue({
    field: `${inside}.blobContainerName`,
    value: given,
    allowed: isSame ? rule : `left out or ${atEnd}, as in resourceId`,
  });
}

export function renderDeadLetter(deadLetter: DeadLetterDestination | null): object | null {
  if (deadLetter === null) return null;
  const { resourceId, container } = deadLetter;
  return { endpointType: "StorageBlob", properties: { resourceId, blobContainerName: container } };
}
