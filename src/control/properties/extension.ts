// Posthorn's own settings of a subscription, under `properties.posthorn`. Microsoft's clients do
// not know the member: a write without it changes nothing, and an answer has it only when something
// in it is set. `null` clears it.

import { type ProfileName, profiles } from "../../core/delivery/profile.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Subscription, SubscriptionTerms } from "../../core/subscription.ts";
import { isoInstant } from "../../core/text/time.ts";
import { checkMembers, refuseValue } from "../../core/text/wording.ts";
import { checkSigning, renderSigning } from "./signing.ts";

export type Extension = Pick<SubscriptionTerms, "splitOnFailure" | "signing">;

const plainExtension: Extension = { splitOnFailure: false, signing: [] };

/** In our answers, and so in what clients write back; changed through routes of their own. */
const readOnly = ["flow"];

export interface ExtensionContext {
  readonly profile: ProfileName;
  readonly stored: SubscriptionTerms | null;
  /** Whether members that are left out keep their value, or take their default. */
  readonly keepsRest: boolean;
  readonly makeKey?: (() => string) | undefined;
}

/** `value`: undefined when the member is missing. Refusal: InvalidSetting. */
export function checkExtension(
  value: unknown,
  field: string,
  { profile, stored, keepsRest, makeKey }: ExtensionContext,
): Extension {
  const { splitOnFailure, signing } = stored ?? plainExtension;
  const kept: Extension = { splitOnFailure, signing };
  if (value === undefined) return kept;
  if (value === null) return plainExtension;
  const members = checkMembers(value, field, ["splitOnFailure", "signing", ...readOnly]);
  const base = keepsRest ? kept : plainExtension;
  return {
    splitOnFailure:
      members.splitOnFailure === undefined
        ? base.splitOnFailure
        : checkSplit(members.splitOnFailure, `${field}.splitOnFailure`, profile),
    signing:
      members.signing === undefined
        ? base.signing
        : checkSigning(members.signing, `${field}.signing`, { stored: signing, makeKey }),
  };
}

function checkSplit(value: unknown, field: string, profileName: ProfileName): boolean {
  if (value !== true && value !== false && value !== null) {
    throw refuseValue({ field, value, allowed: "true or false" });
  }
  const { batching, neverRetried } = profiles[profileName];
  const isOfUse = batching && Object.values(neverRetried).some((codes) => codes.length > 0);
  if (value !== true || isOfUse) return value === true;
  const why = `the profile ${profileName} has no batches that fail because of one event`;
  throw new Refusal("InvalidSetting", `${field} must be left out: ${why}`, { target: field });
}

/** Null: nothing in it is set. */
export function renderExtension(
  terms: SubscriptionTerms,
  { flow }: Pick<Subscription, "flow">,
): object | null {
  const shown = {
    ...(terms.splitOnFailure && { splitOnFailure: true }),
    ...(terms.signing.length > 0 && {
      signing: renderSigning(terms.signing, { showsSecrets: false }),
    }),
    ...(flow.kind === "paused" && { flow: { kind: flow.kind, since: isoInstant(flow.since) } }),
    ...(flow.kind === "draining" && { flow }),
  };
  return Object.keys(shown).length === 0 ? null : shown;
}
