// What must be true of every run, in words. Each invariant is a small function over the history of
// a run that yields what is wrong, and is named by the rules of the delivery specification it
// proves. Here are the list and the promises that a user would notice first; the law of each
// attempt is in attempt-invariants.ts, the contract of the store in store-invariants.ts, the law of
// pull queues in pull-invariants.ts.

import { isSuccess } from "../../src/core/delivery/retry.ts";
import type { SubscriptionDraft } from "../../src/core/subscription.ts";
import * as lawful from "./attempt-invariants.ts";
import { about, aboutSend, aboutTale, type Finding, type Invariant } from "./finding.ts";
import { excuse, History, type Settled, slackMs, type Tale } from "./history.ts";
import type { Journal, Publication, SendNote, Version } from "./journal.ts";
import * as steered from "./operator-invariants.ts";
import * as fetched from "./pull-invariants.ts";
import * as stored from "./store-invariants.ts";
import type { Weather } from "./weather.ts";

export interface Violation extends Finding {
  readonly rule: string;
}

export const invariants: Readonly<Record<string, Invariant>> = {
  "D-1: what is accepted is in the store before the answer": keptBeforeAnswer,
  "D-2: what is accepted is delivered, dead-lettered or dropped for a reason": accountedFor,
  "D-2: nobody gets what they did not ask for": asked,
  "D-2: a change of a subscription holds for every later send": upToDate,
  "M-2: every drop is told, once, with its reason": dropsTold,
  "H-4: a publish is answered at once": answeredAtOnce,
  "once all is well, everything comes to its end": drained,
  ...lawful.invariants,
  ...stored.invariants,
  ...steered.invariants,
  ...fetched.invariants,
};

export function judge(journal: Journal, weather: Weather): readonly Violation[] {
  const history = new History(journal, weather);
  return Object.entries(invariants).flatMap(([rule, invariant]) =>
    [...invariant(history)].map((finding) => ({ rule, ...finding })),
  );
}

/** Every delivery that an accepted publication must have led to, whatever was changed meanwhile. */
function* promised(history: History) {
  const { journal } = history;
  const slots = new Set(journal.versions.map(({ slot }) => slot));
  for (const publication of journal.publications) {
    if (publication.answer !== "accepted") continue;
    const { asked: from, answered: until } = publication;
    for (const slot of slots) {
      const states = history.versions(slot, from.seq, until?.seq ?? from.seq);
      if (!states.every((state) => wants(state, publication))) continue;
      const id = states.find((state) => state.id !== null)?.id ?? null;
      if (id !== null) yield { publication, slot, tale: history.tale(publication.number, id) };
    }
  }
}

function* keptBeforeAnswer(history: History): Iterable<Finding> {
  for (const { publication, slot, tale } of promised(history)) {
    const isKept = tale !== undefined && tale.append.seq < (publication.answered?.seq ?? 0);
    if (!isKept) yield about(publication, `accepted, and not in the store for ${slot}`);
  }
}

function* accountedFor(history: History): Iterable<Finding> {
  for (const { publication, slot, tale } of promised(history)) {
    if (tale === undefined || tale.removed !== null || tale.skipped !== null) continue;
    if (tale.sent.some(({ send }) => history.isTaken(send))) continue;
    if (history.dropFacts(tale).length > 0 || isLastWordLost(history, tale)) continue;
    yield about(publication, `neither delivered nor dead-lettered nor dropped for ${slot}`);
  }
}

function* asked(history: History): Iterable<Finding> {
  for (const { publication, subscription } of history.tales) {
    const { asked: from, answered: until, answer } = publication;
    if (answer === "refused") {
      yield about(publication, `refused, and yet kept for subscription ${subscription}`);
    }
    const isWanted = history.journal.versions.some(
      (state) =>
        state.id === subscription &&
        state.possibleFrom <= (until?.seq ?? from.seq) &&
        state.possibleUntil >= from.seq &&
        wants(state, publication),
    );
    if (!isWanted) yield about(publication, `kept for ${subscription}, which does not want it`);
  }
  for (const send of history.journal.sends) {
    for (const { event, id } of send.deliveries) {
      const number = history.journal.numberOf(event);
      const tale = history.tale(number, id.subscription);
      if (tale === undefined || id.subscription !== send.subscription.id) {
        yield { words: `sent to ${send.endpoint} out of nowhere`, publication: number };
      }
    }
  }
}

/** A dispatcher whose subscription has other terms by now, or is gone, begins nothing new. */
function* upToDate(history: History): Iterable<Finding> {
  const { versions } = history.journal;
  for (const send of history.journal.sends) {
    const { id, name } = send.subscription;
    const sender = history.record(send.subscription) ?? null;
    // Dead letters of a subscription that is gone are written by its last terms (L-1).
    const isLetter =
      send.stage === "deadLetter" &&
      !versions.some(
        (one) => one.id === id && one.draft !== null && one.possibleUntil > send.begun.seq,
      );
    const isPossible = versions.some(
      (one) =>
        one.id === id &&
        (isLetter || one.possibleUntil > send.begun.seq) &&
        one.draft !== null &&
        termsOf(one.draft) === termsOf(sender),
    );
    if (!isPossible) yield aboutSend(history, send, `sent by a state of ${name} that is over`);
  }
}

/** What concerns sends; who is sent anything is decided by the publish. */
function termsOf(draft: SubscriptionDraft | null): string {
  const { destination, retryPolicy, batch, deadLetter, splitOnFailure } = draft ?? {};
  return JSON.stringify({ destination, retryPolicy, batch, deadLetter, splitOnFailure });
}

function* dropsTold(history: History): Iterable<Finding> {
  const { journal } = history;
  for (const tale of history.tales) {
    const { gone } = tale;
    const told = history.dropFacts(tale);
    if (told.length > 1) yield aboutTale(tale, "dropped more than once");
    const delivered = gone === null ? "not yet" : whenDelivered(history, gone);
    if (delivered !== null) {
      // A late success may come while the disk still takes its time over the drop.
      const isWrong = told.length > 0 && delivered !== "late";
      if (isWrong) yield aboutTale(tale, "told as dropped, and was not");
    } else if (told.length === 0 && !isLastWordLost(history, tale)) {
      yield aboutTale(tale, `dropped for ${tale.subscription} without a word`);
    }
  }
  for (const { number, drops } of journal.lives) {
    let told = 0;
    for (const { life, name, fields } of journal.facts) {
      if (life !== number) continue;
      if (name === "delivery.dropped") told += 1;
      if (name === "deliveries.dropped") told += Number(fields.count);
    }
    // A crash may come between the counter and the line.
    const isClose = drops === told || history.life(number).ended?.how === "crash";
    if (!isClose) {
      yield { words: `life ${number} counts ${drops} drops and tells ${told}`, publication: null };
    }
  }
}

function* answeredAtOnce(history: History): Iterable<Finding> {
  for (const publication of history.journal.publications) {
    const { asked: from, answered, answer } = publication;
    if (answer === "lost") continue;
    if (answered === null) yield about(publication, "never answered");
    else if (answered.at > excuse(from.at, history.journal.diskTroubles) + slackMs) {
      yield about(publication, `answered after ${answered.at - from.at} ms`);
    }
  }
}

function* drained(history: History): Iterable<Finding> {
  const { journal } = history;
  for (const words of journal.faults) yield { words, publication: null };
  for (const { name, fields } of journal.facts) {
    if (name !== "dispatcher.broken") continue;
    yield { words: `a dispatcher is broken: ${fields.error}`, publication: null };
  }
  for (const tale of history.tales) {
    const isOver = tale.gone !== null || tale.removed !== null || tale.skipped !== null;
    if (!isOver) yield aboutTale(tale, `not at its end for ${tale.subscription}`);
  }
}

// What they have in common.

/** What the filter asks for, in the plainest way. */
function wants({ draft }: Version, { topic, subject, eventType }: Publication): boolean {
  if (draft === null || draft.topic !== topic) return false;
  const { includedEventTypes, subjectBeginsWith, subjectEndsWith } = draft.filter;
  const fold = (text: string) => (draft.filter.isSubjectCaseSensitive ? text : text.toLowerCase());
  return (
    (includedEventTypes?.some((type) => type.toLowerCase() === eventType.toLowerCase()) ?? true) &&
    fold(subject).startsWith(fold(subjectBeginsWith)) &&
    fold(subject).endsWith(fold(subjectEndsWith))
  );
}

/** By which answer the endpoint or the dead-letter store has it; null: it was dropped. */
function whenDelivered(
  history: History,
  { send, before, mark }: Settled,
): "in time" | "late" | null {
  if (send === null) return null;
  const isSuccessfulBefore = (answer: SendNote["ended"]) => {
    if (answer === null || answer.seq > mark.seq) return false;
    const { outcome } = answer;
    if (outcome.kind !== "answered") return false;
    if (before.stage === "deliver") return isSuccess(history.terms(send).policy.profile, outcome);
    return outcome.status >= 200 && outcome.status <= 299;
  };
  if (isSuccessfulBefore(history.heard(send))) return "in time";
  return isSuccessfulBefore(history.heardLate(send)) ? "late" : null;
}

/** The broker crashed between settling a drop and telling of it. */
function isLastWordLost(history: History, { gone }: Tale): boolean {
  return gone !== null && history.diedOver({ life: gone.life, at: gone.mark.at });
}
