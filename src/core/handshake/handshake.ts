// What happens to a subscription during its handshake: each step is a decision with its reason, and
// each decision makes a new record, which is written as a whole.
//
//   asking    `Creating` or `Updating`. The endpoint is asked, and asked again while it fails, for
//             as long as we persist. Ends with its agreement, with an answer that does not decide
//             (awaiting), or with failure.
//   awaiting  `AwaitingManualAction`. A person, or the endpoint later, may call the
//             validation URL until the window ends. Ends with that call, or with failure.
//   decided   `Succeeded` or `Failed`. A subscription that was active before keeps its old
//             terms when the new ones fail, and is `Succeeded` again.
//
// The validation URL agrees while asking, too: an endpoint may call it before it answers us.
//
// *Differs:* Event Grid fails after a few attempts within a minute; we persist for longer, so that
// an endpoint that is deployed together with its subscription may start a little later. One that
// answers no gets less time than one that is silent.

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
  /** How long an endpoint may take to answer. */
  readonly waitMs: number;
  /**
   * From the end of the first question to the next one; each further wait is multiplied by
   * `growth`.
   */
  readonly firstRetryMs: number;
  readonly growth: number;
  /** From the beginning to the last question to an endpoint that fails. */
  readonly persistMs: number;
  /** The same for one that says no: an unknown host, a refused connection, a 4xx. */
  readonly refusedPersistMs: number;
  /** From the beginning to the last time at which the validation URL may be called. */
  readonly windowMs: number;
  /** How many exchanges are kept. */
  readonly exchangesMax: number;
}

/** The service documents the 30 and the 5 seconds, and the 10 minutes since 2024. */
export const handshakeRules: HandshakeRules = {
  waitMs: 30_000,
  firstRetryMs: 5_000,
  growth: 2,
  persistMs: 120_000,
  refusedPersistMs: 15_000,
  windowMs: 600_000,
  exchangesMax: 20,
};

export function newHandshake(
  begun: {
    readonly code: string;
    readonly now: Instant;
    readonly pending: SubscriptionTerms | null;
    /** The previous one, whose allowed rate applies to the current terms. */
    readonly before: Handshake | null;
    readonly called?: Handshake["called"];
  },
  { windowMs }: HandshakeRules,
): Handshake {
  const { code, now, pending, before, called } = begun;
  return {
    code,
    startedAt: now,
    until: now + windowMs,
    pending,
    exchanges: [],
    allowedRate: before?.allowedRate ?? null,
    ...(called !== undefined && { called }),
  };
}

/** Why a subscription gets no events though they match; null: it does get them. */
export function whyNothingIsSent({
  isActive,
  state,
}: Pick<Subscription, "isActive" | "state">): string | null {
  if (isActive) return null;
  if (state === "Failed") return "its endpoint did not agree to get events";
  if (state === "AwaitingManualAction") {
    return "its endpoint has not agreed yet: its validation URL has to be opened";
  }
  return "its handshake is still in progress";
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
      const isRefusal = finding.isRefusal === true;
      const at = askAgainAt(handshake.startedAt, { asked, lastAt: now, isRefusal, rules });
      return at === null ? { kind: "fail", why } : { kind: "askAgain", at, why };
    }
    default:
      return finding satisfies never;
  }
}

/** The wait grows, and the last question is at the very end of the time allowed. */
function askAgainAt(
  startedAt: Instant,
  last: {
    readonly asked: number;
    readonly lastAt: Instant;
    readonly isRefusal: boolean;
    readonly rules: HandshakeRules;
  },
): Instant | null {
  const { asked, lastAt, isRefusal, rules } = last;
  const { persistMs, refusedPersistMs } = rules;
  const endAt = startedAt + (isRefusal ? Math.min(persistMs, refusedPersistMs) : persistMs);
  if (lastAt >= endAt) return null;
  return Math.min(endAt, lastAt + rules.firstRetryMs * rules.growth ** (asked - 1));
}

export type HandshakeStep =
  | { readonly kind: "ask" }
  | { readonly kind: "rest"; readonly until: Instant }
  | { readonly kind: "decide"; readonly decision: HandshakeDecision }
  /** Decided, or never started. */
  | { readonly kind: "none" };

/** What comes next, from the record alone: so a restart continues where it was. */
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
  const { at: lastAt, isRefusal = false } = last;
  const at = askAgainAt(startedAt, { asked: exchanges.length, lastAt, isRefusal, rules });
  return at === null || at <= now ? { kind: "ask" } : { kind: "rest", until: at };
}

/** Whether it is still undecided. */
export function isOpen(state: ProvisioningState): boolean {
  return state === "Creating" || state === "Updating" || state === "AwaitingManualAction";
}

/** The record that a decision makes. One write makes pending terms and state active together. */
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
      const { allowedRate, why } = decision;
      const ended = { isAgreed: true, why };
      return {
        ...subscription,
        ...handshake.pending,
        isActive: true,
        state: "Succeeded",
        handshake: { ...handshake, pending: null, exchanges, allowedRate, ended },
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
        handshake: {
          ...{ ...handshake, pending: null, exchanges, until: made.now },
          ended: { isAgreed: false, why: decision.why },
        },
      };
    default:
      return decision satisfies never;
  }
}

/** What the question is about: the pending terms, or else the current ones. */
export function termsAsked({ handshake, ...subscription }: Subscription): SubscriptionTerms {
  return handshake?.pending ?? subscription;
}
