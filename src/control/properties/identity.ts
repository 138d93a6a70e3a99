// Destinations with an identity: in Azure the topic's own, with which the service sends. They have
// a separate member, and only one of the two may be given.
//
// *Differs:* the identity is stored and shown, and has no effect. The credentials of a resource are
// in the configuration file.

import { Refusal } from "../../core/refusal.ts";
import type { Identity, PushDestination } from "../../core/subscription.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";

/** The two members for the same thing. */
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

/** What was written, and where. */
export interface Written {
  readonly value: unknown;
  readonly field: string;
  /** Null: written without one. */
  readonly identity: Identity | null;
}

/** Refusal: InvalidSetting, when both are given or the identity is invalid. */
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

/** Destinations that take posts have no identity. Refusal: InvalidSetting. */
export function withIdentity(
  destination: PushDestination,
  identity: Identity,
  field: string,
): PushDestination {
  if (destination.kind !== "webhook" && destination.kind !== "azureFunction") {
    return { ...destination, identity };
  }
  const target = `${field}.endpointType`;
  const allowed = "a queue, a topic, a hub or a relay where an identity is given";
  throw refuseValue({ field: target, value: destination.kind, allowed });
}

/** The member in which it is shown; the other one is absent, and both if there is none. */
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
