// The dead-letter destination of a subscription, in Event Grid's own property names (L-2): read and
// shown. The account must be in the configuration file; whether the container exists is seen with
// the first blob.

import type { AzureResources } from "../../core/azure/resources.ts";
import {
  containerNameRule,
  containerNameWords,
  findAccount,
  parseStorageId,
  storageArmId,
  storageIdWords,
} from "../../core/azure/storage.ts";
import type { DeadLetterDestination } from "../../core/subscription.ts";
import { checkMembers, refuseValue } from "../../core/text/wording.ts";
import { refuseUnknown } from "./azure-destination.ts";
import { deadLetterForms, type Forms, renderEither, type Written } from "./identity.ts";

/** Refusal: InvalidSetting, naming the field. */
export function checkDeadLetter(
  { value, field, identity }: Written,
  azure: AzureResources,
): DeadLetterDestination | null {
  if ((value ?? null) === null) return null;
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
  if (findAccount(azure.storageAccounts, resourceId) === undefined) {
    const [what, section] = ["storage account", "storageAccounts"] as const;
    throw refuseUnknown({
      ...{ what, section, azure },
      ...{ name: id.account, target: `${inside}.resourceId` },
    });
  }
  return { kind: "blob", resourceId, container, ...(identity !== null && { identity }) };
}

/** It is given by itself, or at the end of the resource id; if both, they must be the same. */
function checkContainer(value: unknown, inside: string, atEnd: string | null): string {
  const given = value ?? atEnd;
  const isSame = atEnd === null || given === atEnd;
  if (typeof given === "string" && containerNameRule.test(given) && isSame) return given;
  throw refuseValue({
    field: `${inside}.blobContainerName`,
    value: given,
    allowed: isSame ? containerNameWords : `left out or ${atEnd}, as in resourceId`,
  });
}

/** Its members in `properties`. */
export function renderDeadLetter(
  deadLetter: DeadLetterDestination | null,
  forms: Forms = deadLetterForms,
): object {
  if (deadLetter === null) return renderEither(forms, null, undefined);
  const { resourceId, container, identity } = deadLetter;
  const properties = { resourceId, blobContainerName: container };
  return renderEither(forms, { endpointType: "StorageBlob", properties }, identity);
}
