// The secrets that a subscription's deliveries are signed with: shown in clear to admins, and
// rotated with an overlap. A change takes effect at once, without a handshake.

import type { RotateSigning } from "../../core/api/orders.ts";
import type { SigningSecrets } from "../../core/api/views.ts";
import {
  overlapMsDefault,
  rotateSecrets,
  type Signing,
  secretsInForce,
} from "../../core/delivery/signing.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Registry } from "../../core/registry.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Subscription, SubscriptionDraft } from "../../core/subscription.ts";
import { wantedTerms } from "../arm/render.ts";
import { checkSecret, makeSecret, refuseUnsignable, renderSigning } from "../properties/signing.ts";
import { retryStale } from "../stale-write.ts";
import { type NamesSubscription, namedSubscription } from "./names.ts";
import type { Handlers } from "./serve.ts";

export interface SigningDeps {
  readonly registry: Registry;
  readonly catalog: () => LiveCatalog;
  readonly refresh: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly makeKey: () => string;
}

export function signingHandlers(
  deps: SigningDeps,
): Pick<Handlers, "showSigning" | "rotateSigning"> {
  return {
    showSigning: (asked) => show(deps, namedSubscription(deps.catalog(), asked)),
    rotateSigning: (asked) => rotate(deps, asked),
  };
}

function show({ clock }: SigningDeps, subscription: Subscription): SigningSecrets {
  const signing = secretsInForce(wantedTerms(subscription).signing, clock.now());
  return renderSigning(signing, { showsSecrets: true });
}

async function rotate(
  deps: SigningDeps,
  asked: NamesSubscription & { readonly body: RotateSigning },
): Promise<SigningSecrets> {
  const order = readOrder(asked.body);
  return await retryStale(async () => {
    const { id, revision, ...draft } = namedSubscription(deps.catalog(), asked);
    const changed = withSigning(draft, (signing) => follow(deps, signing, order));
    refuseUnsignable(wantedTerms({ ...changed, id, revision }), "signing");
    const written = await deps.registry.putSubscription(changed, revision);
    await deps.refresh();
    tell(deps, written, order);
    return show(deps, written);
  }, deps.refresh);
}

interface Order {
  /** Null: one is generated. */
  readonly secret: string | null;
  readonly overlapMs: number;
  readonly isOff: boolean;
}

function readOrder({ secret, overlapMs, off = false }: RotateSigning): Order {
  for (const [field, value] of Object.entries({ secret, overlapMs })) {
    if (!off || value === undefined) continue;
    const words = `${field} must be left out: off forgets all secrets at once`;
    throw new Refusal("InvalidSetting", words, { target: field });
  }
  return {
    secret: secret === undefined ? null : checkSecret(secret, "secret"),
    overlapMs: overlapMs ?? overlapMsDefault,
    isOff: off,
  };
}

function follow(deps: SigningDeps, signing: Signing, order: Order): Signing {
  if (order.isOff) return [];
  const now = deps.clock.now();
  const secret = order.secret ?? makeSecret(deps.makeKey);
  if (secretsInForce(signing, now).some((known) => known.secret === secret)) {
    const words = "secret must differ from the active ones";
    throw new Refusal("InvalidSetting", words, { target: "secret" });
  }
  return rotateSecrets(signing, { secret, overlapMs: order.overlapMs, now });
}

/** In the active settings, and in those that wait for a handshake. */
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
