// What becomes of a subscription while its endpoint is asked whether it wants our events: each step
// is a decision with its reason, and each decision makes a new record, to be written in one piece.
//
//   asking    `Creating` or `Updating`. The endpoint is asked, and asked again while it fails, for
//             as long as we persist. Ends with its agreement, with an answer that says nothing
//             (awaiting), or with failure.
//   awaiting  `AwaitingManualAction`. A person, or the endpoint in its own time, may call the
//             validation URL until the window ends. Ends with that call, or with failure.
//   decided   `Succeeded` or `Failed`. A subscription that was in force before stays so by its old
//             terms when the new ones fail, and is `Succeeded` again.
//
// The validation URL agrees while asking, too: an endpoint may call it before it answers us.
//
// *Differs:* Event Grid fails after a few attempts within a minute; we persist for longer, so that
// an endpoint that is being deployed together with its subscription may come a little later.

import type { Instant } from "../ports.ts";
import type {
  Handshake,
  HandshakeExchange,
  ProvisioningState,
  Subscription,
  SubscriptionDraft,
  SubscriptionTerms,
} from "../subscription.ts";
import { wordsOfMs } from "../text/time.ts";
import type { Finding } from "./question.ts";

export interface HandshakeRules {
  /** How long an endpoint may take over its answer. */
  readonly waitMs: number;
  /** From the end of the first asking to the next; each further wait is longer by `growth`. */
  readonly firstRetryMs: number;
  readonly growth: number;
  /** From the beginning to the last asking of an endpoint that fails. */
  readonly persistMs: number;
  /** From the beginning to the last moment at which the validation URL may be called. */
  readonly windowMs: number;
  /** How many exchanges are kept. */
  readonly exchangesMax: number;
}

/** The service names the 30 and the 5 seconds, and the 10 minutes since 2024. */
export const handshakeRules: HandshakeRules = {
  waitMs: 30_000,
  firstRetryMs: 5_000,
  growth: 2,
  persistMs: 120_000,
  windowMs: 600_000,
  exchangesMax: 20,
};

export function newHandshake(
  begun: {
    readonly code: string;
    readonly now: Instant;
    readonly pending: SubscriptionTerms | null;
    /** The one before, whose allowed rate holds for the terms in force. */
    readonly before: Handshake | null;
  },
  { windowMs }: HandshakeRules,
): Handshake {
  const { code, now, pending, before } = begun;
  return {
    code,
    startedAt: now,
    until: now + windowMs,
    pending,
    exchanges: [],
    allowedRate: before?.allowedRate ?? null,
  };
}

/** Every `why` is a sentence for people, without secrets. */
export type HandshakeDecision =
  | { readonly kind: "succeed"; readonly allowedRate: number | null; readonly why: string }
  | { readonly kind: "await"; readonly why: string }
  | { readonly kind: "askAgain"; readonly at: Instant; readonly why: string }
  | { readonly kind: "fail"; readonly why: string };

/** After an answer, or after none. */
export function decideHandshake(
  handshake: Handshake,
  finding: Finding,
  { now, rules }: { readonly now: Instant; readonly rules: HandshakeRules },
): HandshakeDecision {
  const { why } = finding;
  switch (finding.kind) {
    case "agreed":
      return { kind: "succeed", allowedRate: finding.allowedRate, why };
    case "heard":
      return { kind: "await", why };
    case "failed": {
      const asked = handshake.exchanges.length + 1;
      const at = askAgainAt(handshake.startedAt, { asked, lastAt: now, rules });
      return at === null ? { kind: "fail", why } : { kind: "askAgain", at, why };
    }
    default:
      return finding satisfies never;
  }
}

/** The wait grows, and the last asking is at the very end of the time for which we persist. */
function askAgainAt(
  startedAt: Instant,
  last: { readonly asked: number; readonly lastAt: Instant; readonly rules: HandshakeRules },
): Instant | null {
  const { asked, lastAt, rules } = last;
  const endAt = startedAt + rules.persistMs;
  if (lastAt >= endAt) return null;
  return Math.min(endAt, lastAt + rules.firstRetryMs * rules.growth ** (asked - 1));
}

export type HandshakeStep =
  | { readonly kind: "ask" }
  | { readonly kind: "rest"; readonly until: Instant }
  | { readonly kind: "decide"; readonly decision: HandshakeDecision }
  /** Decided, or never begun. */
  | { readonly kind: "none" };

/** What is next, from the record alone: so a restart goes on where it was. */
export function nextStep(
  { state, handshake }: Pick<Subscription, "state" | "handshake">,
  { now, rules }: { readonly now: Instant; readonly rules: HandshakeRules },
): HandshakeStep {
  if (handshake === null || !isOpen(state)) return { kind: "none" };
  const { startedAt, until, exchanges } = handshake;
  if (state === "AwaitingManualAction") {
    if (now < until) return { kind: "rest", until };
    const window = wordsOfMs(until - startedAt);
    const why = `The validation URL was not called within ${window}.`;
    return { kind: "decide", decision: { kind: "fail", why } };
  }
  const last = exchanges.at(-1);
  if (last === undefined) return { kind: "ask" };
  const at = askAgainAt(startedAt, { asked: exchanges.length, lastAt: last.at, rules });
  return at === null || at <= now ? { kind: "ask" } : { kind: "rest", until: at };
}

/** Whether it is still to be decided. */
export function isOpen(state: ProvisioningState): boolean {
  return state === "Creating" || state === "Updating" || state === "AwaitingManualAction";
}

/** The record that a decision makes. One write of it puts pending terms and state in force. */
export function applyDecision(
  { id: _id, revision: _revision, ...subscription }: Subscription & { handshake: Handshake },
  decision: HandshakeDecision,
  made: { readonly exchange: HandshakeExchange | null; readonly now: Instant },
  { exchangesMax }: HandshakeRules,
): SubscriptionDraft {
  const { handshake } = subscription;
  const exchanges =
    made.exchange === null
      ? handshake.exchanges
      : [...handshake.exchanges, made.exchange].slice(-exchangesMax);
  switch (decision.kind) {
    case "succeed": {
      const { allowedRate } = decision;
      return {
        ...subscription,
        ...handshake.pending,
        isActive: true,
        state: "Succeeded",
        handshake: { ...handshake, pending: null, exchanges, allowedRate },
      };
    }
    case "await":
      return {
        ...subscription,
        state: "AwaitingManualAction",
        handshake: { ...handshake, exchanges },
      };
    case "askAgain":
      return { ...subscription, handshake: { ...handshake, exchanges } };
    case "fail":
      return {
        ...subscription,
        state: subscription.isActive ? "Succeeded" : "Failed",
        handshake: { ...handshake, pending: null, exchanges, until: made.now },
      };
    default:
      return decision satisfies never;
  }
}

/** What is asked about: the terms to come, or else those there are. */
export function termsAsked({ handshake, ...subscription }: Subscription): SubscriptionTerms {
  return handshake?.pending ?? subscription;
}
