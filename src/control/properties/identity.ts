// Destinations that are written with an identity: in Azure the topic's own, with which the service
// sends. They have a member of their own beside the plain one, and at most one of the two is said.
//
// *Differs:* the identity is kept and shown, and decides nothing. What a resource is reached with,
// the operator has said in the configuration file.

import { Refusal } from "../../core/refusal.ts";
import type { Destination, Identity } from "../../core/subscription.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";

/** The two members in which one and the same thing may be said. */
export interface Forms {
  readonly plain: string;
  readonly identified: string;
}

export const deliveryForms: Forms = {
  plain: "destination",
  identified: "deliveryWithResourceIdentity",
};

export const deadLetterForms: Forms = {
  plain: "deadLetterDestination",
  identified: "deadLetterWithResourceIdentity",
};

/** What was written, and where it stands. */
export interface Written {
  readonly value: unknown;
  readonly field: string;
  /** Null: written without one. */
  readonly identity: Identity | null;
}

/** Refusal: InvalidSetting, when both are said or the identity is none. */
export function eitherOf(members: Members, field: string, { plain, identified }: Forms): Written {
  const { [plain]: value, [identified]: given } = members;
  if ((given ?? null) === null) return { value, field: `${field}.${plain}`, identity: null };
  const target = `${field}.${identified}`;
  if ((value ?? null) !== null) {
    const words = `${target} must be left out where ${plain} is given, or the other way round`;
    throw new Refusal("InvalidSetting", words, { target });
  }
  const inner = checkMembers(given, target, ["identity", plain]);
  return {
    value: inner[plain],
    field: `${target}.${plain}`,
    identity: checkIdentity(inner.identity, `${target}.identity`),
  };
}

function checkIdentity(value: unknown, field: string): Identity {
  const known = ["type", "userAssignedIdentity", "federatedIdentityCredentialInfo"];
  const { type, userAssignedIdentity } = checkMembers(value, field, known);
  const lower = typeof type === "string" ? type.toLowerCase() : null;
  if (lower === "systemassigned") return { type: "SystemAssigned", userAssignedIdentity: null };
  if (lower !== "userassigned") {
    const allowed = "SystemAssigned or UserAssigned";
    throw refuseValue({ field: `${field}.type`, value: type, allowed });
  }
  if (typeof userAssignedIdentity === "string" && userAssignedIdentity.startsWith("/")) {
    return { type: "UserAssigned", userAssignedIdentity };
  }
  throw refuseValue({
    field: `${field}.userAssignedIdentity`,
    value: userAssignedIdentity,
    allowed: "the resource id of an identity",
  });
}

/** Whoever answers a post does not ask who the service is in this way. Refusal: InvalidSetting. */
export function withIdentity(
  destination: Destination,
  identity: Identity,
  field: string,
): Destination {
  if (destination.kind !== "webhook" && destination.kind !== "azureFunction") {
    return { ...destination, identity };
  }
  const target = `${field}.endpointType`;
  const allowed = "a queue, a topic, a hub or a relay where an identity is given";
  throw refuseValue({ field: target, value: destination.kind, allowed });
}

/** The member in which it is shown; the other one is absent, and so are both for nothing. */
export function renderEither(
  { plain, identified }: Forms,
  value: object | null,
  identity: Identity | undefined,
): object {
  if (value === null) return {};
  return identity === undefined
    ? { [plain]: value }
    : { [identified]: { identity, [plain]: value } };
}
