// The secrets that a subscription's deliveries are signed with: shown in clear to admins, and
// followed by new ones with an overlap. A change takes effect at once and asks no endpoint.

import type { SigningSecrets } from "../../core/api/views.ts";
import {
  overlapMsDefault,
  overlapMsMax,
  rotateSecrets,
  type Signing,
  secretsInForce,
} from "../../core/delivery/signing.ts";
import type { Catalog, Clock, Log, Registry } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import type { Subscription, SubscriptionDraft } from "../../core/subscription.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { readMembers } from "../arm/body.ts";
import { wantedTerms } from "../arm/render.ts";
import { reply } from "../arm/reply.ts";
import { checkSecret, makeSecret, refuseUnsignable, renderSigning } from "../properties/signing.ts";
import { namedSubscription, subscriptionPath } from "./names.ts";

export interface SigningDeps {
  readonly registry: Registry;
  readonly catalog: () => Catalog;
  readonly refresh: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly makeKey: () => string;
}

/** Writes by others that may come between. */
const triesMax = 5;

export function signingRoutes(deps: SigningDeps): Route[] {
  const path = `${subscriptionPath}/signing`;
  return [
    { method: "GET", path, handle: (request) => show(deps, find(deps, request)) },
    { method: "POST", path, handle: (request) => rotate(deps, request) },
  ];
}

function find({ catalog }: SigningDeps, request: Request): Subscription {
  return namedSubscription(catalog(), request);
}

/** Not to be kept by anyone on the way. */
function show({ clock }: SigningDeps, subscription: Subscription): Reply {
  const signing = secretsInForce(wantedTerms(subscription).signing, clock.now());
  const shown: SigningSecrets = renderSigning(signing, { showsSecrets: true });
  return reply(200, shown, { "cache-control": "no-store" });
}

async function rotate(deps: SigningDeps, request: Request): Promise<Reply> {
  const order = readOrder(request);
  for (let tried = 1; ; tried++) {
    const { id, revision, ...draft } = find(deps, request);
    const changed = withSigning(draft, (signing) => follow(deps, signing, order));
    refuseUnsignable(wantedTerms({ ...changed, id, revision }), "signing");
    try {
      const written = await deps.registry.putSubscription(changed, revision);
      await deps.refresh();
      tell(deps, written, order);
      return show(deps, written);
    } catch (error) {
      const isStale = error instanceof Refusal && error.code === "PreconditionFailed";
      if (!isStale || tried === triesMax) throw error;
      await deps.refresh();
    }
  }
}

interface Order {
  /** Null: one is made. */
  readonly secret: string | null;
  readonly overlapMs: number;
  readonly isOff: boolean;
}

function readOrder(request: Request): Order {
  const { secret, overlapMs, off } = readMembers(request, ["secret", "overlapMs", "off"]);
  if (![undefined, null, true, false].includes(off as null)) {
    throw refuseValue({ field: "off", value: off, allowed: "true or false" });
  }
  const isOff = off === true;
  for (const [field, value] of Object.entries({ secret, overlapMs })) {
    if (!isOff || (value ?? null) === null) continue;
    const words = `${field} must be left out: off forgets all secrets at once`;
    throw new Refusal("InvalidSetting", words, { target: field });
  }
  return {
    secret: (secret ?? null) === null ? null : checkSecret(secret, "secret"),
    overlapMs: checkOverlap(overlapMs ?? overlapMsDefault),
    isOff,
  };
}

function checkOverlap(value: unknown): number {
  const isFine = Number.isInteger(value) && (value as number) >= 0;
  if (isFine && (value as number) <= overlapMsMax) return value as number;
  const allowed = `a whole number of milliseconds from 0 to ${overlapMsMax}`;
  throw refuseValue({ field: "overlapMs", value, allowed });
}

function follow(deps: SigningDeps, signing: Signing, order: Order): Signing {
  if (order.isOff) return [];
  const now = deps.clock.now();
  const secret = order.secret ?? makeSecret(deps.makeKey);
  if (secretsInForce(signing, now).some((known) => known.secret === secret)) {
    const words = "secret must be another than those in force";
    throw new Refusal("InvalidSetting", words, { target: "secret" });
  }
  return rotateSecrets(signing, { secret, overlapMs: order.overlapMs, now });
}

/** In the terms in force, and in those that wait for the endpoint. */
function withSigning(
  draft: SubscriptionDraft,
  change: (signing: Signing) => Signing,
): SubscriptionDraft {
  const pending = draft.handshake?.pending ?? null;
  const signing = change((pending ?? draft).signing);
  return {
    ...draft,
    signing,
    handshake: draft.handshake && {
      ...draft.handshake,
      pending: pending && { ...pending, signing },
    },
  };
}

function tell({ log }: SigningDeps, { topic, name }: Subscription, { isOff }: Order): void {
  const change = isOff ? "off" : "rotated";
  log.fact("info", "signing.changed", { topic, subscription: name, change });
}
