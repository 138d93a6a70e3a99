// Posthorn's own settings of a subscription, under `properties.posthorn`. Microsoft's clients do
// not know the member: a write without it changes nothing, and an answer has it only when something
// in it is set. `null` clears it.

import { type BatchPolicy, batchRanges } from "../../core/delivery/batch.ts";
import { drainRange, type FlowState, pause, runningFlow } from "../../core/delivery/flow.ts";
import { type ProfileName, profiles } from "../../core/delivery/profile.ts";
import type { Instant } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Subscription, SubscriptionTerms } from "../../core/subscription.ts";
import { checkInteger } from "../../core/text/check.ts";
import { isoInstant } from "../../core/text/time.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";
import { checkSigning, renderSigning } from "./signing.ts";

export type Extension = Pick<SubscriptionTerms, "splitOnFailure" | "signing">;

const sizeMember = "preferredBatchSizeInBytes";

const plainExtension: Extension = { splitOnFailure: false, signing: [] };

/** Counts when a subscription is made; later it is changed through routes of its own. */
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
  const known = ["splitOnFailure", "signing", sizeMember, ...readOnly];
  const members = checkMembers(value, field, known);
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

/**
 * The batches of a subscription whose preferred size cannot be said in Azure's whole kilobytes, as
 * the module's default cannot. Where it is left out, and all else is as it is shown, it
 * stays. Refusal: InvalidSetting.
 */
export function withExactSize(
  batch: BatchPolicy | null,
  posthorn: unknown,
  { field, stored }: { readonly field: string; readonly stored: BatchPolicy | null },
): BatchPolicy | null {
  if (batch === null) return null;
  const given = (posthorn as Members | null | undefined)?.[sizeMember] ?? null;
  if (given !== null) {
    return { ...batch, preferredBytes: checkInteger(given, `${field}.${sizeMember}`, bytesRange) };
  }
  const isKept = stored !== null && shownKilobytes(stored) * 1024 === batch.preferredBytes;
  return isKept ? { ...batch, preferredBytes: stored.preferredBytes } : batch;
}

const bytesRange = { min: 1_024, max: 1_058_576 };

/** As Azure can say it. */
export function shownKilobytes({ preferredBytes }: BatchPolicy): number {
  const { min, max } = batchRanges.preferredBatchSizeInKilobytes;
  return Math.min(max, Math.max(min, Math.floor(preferredBytes / 1024)));
}

/** Of a subscription that is made: as an export has it. Refusal: InvalidSetting. */
export function checkFlow(value: unknown, field: string, now: Instant): FlowState {
  if ((value ?? null) === null) return runningFlow;
  const { kind, perSecond } = checkMembers(value, field, ["kind", "since", "perSecond"]);
  if (kind === "running") return runningFlow;
  if (kind === "paused") return pause(runningFlow, now);
  const { min, max } = drainRange;
  const isRate = typeof perSecond === "number" && perSecond >= min && perSecond <= max;
  if (kind === "draining" && isRate) return { ...runningFlow, flow: { kind, perSecond } };
  const allowed = `running, paused, or draining with perSecond from ${min} to ${max}`;
  throw refuseValue({ field: `${field}.kind`, value: kind, allowed });
}

/** Null: nothing in it is set. */
export function renderExtension(
  terms: SubscriptionTerms,
  { flow }: Pick<Subscription, "flow">,
): object | null {
  const shown = {
    ...(terms.splitOnFailure && { splitOnFailure: true }),
    ...(terms.batch !== null &&
      shownKilobytes(terms.batch) * 1024 !== terms.batch.preferredBytes && {
        [sizeMember]: terms.batch.preferredBytes,
      }),
    ...(terms.signing.length > 0 && {
      signing: renderSigning(terms.signing, { showsSecrets: false }),
    }),
    ...(flow.kind === "paused" && { flow: { kind: flow.kind, since: isoInstant(flow.since) } }),
    ...(flow.kind === "draining" && { flow }),
  };
  return Object.keys(shown).length === 0 ? null : shown;
}
