import assert from "node:assert/strict";
import { test } from "node:test";
import { urlIn } from "../../../test/contract/fixture.ts";
import {
  type Handshake,
  plainSubscription,
  type Subscription,
  type SubscriptionTerms,
} from "../subscription.ts";
import {
  applyDecision,
  decideHandshake,
  type HandshakeDecision,
  isOpen,
  newHandshake,
  nextStep,
  handshakeRules as rules,
  termsAsked,
  whyNothingIsSent,
} from "./handshake.ts";
import type { Finding } from "./question.ts";

const startedAt = Date.UTC(2030, 0, 1);
const agreed: Finding = { kind: "agreed", allowedRate: 120, why: "Yes." };
const heard: Finding = { kind: "heard", why: "Hm." };
const failed: Finding = { kind: "failed", why: "No." };
const refused: Finding = { kind: "failed", why: "No, never.", isRefusal: true };

const begun = newHandshake({ code: "A", now: startedAt, pending: null, before: null }, rules);

type Asked = Subscription & { handshake: Handshake };

const asked = (over: Partial<Asked> = {}): Asked => ({
  ...plainSubscription,
  id: 1,
  revision: 1,
  topic: "orders",
  name: "billing",
  destination: { kind: "webhook", url: "http://endpoint.test/old" },
  origin: "api",
  isActive: false,
  state: "Creating",
  handshake: begun,
  ...over,
});

const newTerms: SubscriptionTerms = {
  ...plainSubscription,
  destination: { kind: "webhook", url: "http://endpoint.test/new" },
  labels: ["new"],
};

const exchange = (atMs: number) => ({
  at: startedAt + atMs,
  request: "POST http://endpoint.test/",
  answer: "500",
  verdict: "No.",
});

const apply = (record: Asked, decision: HandshakeDecision, atMs = 0, isRefusal = false): Asked => ({
  ...record,
  ...(applyDecision(
    record,
    decision,
    {
      exchange: { ...exchange(atMs), ...(isRefusal && { isRefusal }) },
      now: startedAt + atMs,
    },
    rules,
  ) as Asked),
});

test("a handshake may be answered for ten minutes, and keeps the rate allowed before", () => {
  assert.equal(begun.until - begun.startedAt, 600_000);
  assert.equal(begun.allowedRate, null);
  const before = { ...begun, allowedRate: 30 };
  const next = newHandshake({ code: "B", now: startedAt, pending: newTerms, before }, rules);
  assert.deepEqual([next.code, next.allowedRate, next.pending], ["B", 30, newTerms]);
});

test("an endpoint that agrees is done, and one that says nothing is left to a person", () => {
  const at = { now: startedAt, rules };
  assert.deepEqual(decideHandshake(begun, agreed, at), {
    kind: "succeed",
    allowedRate: 120,
    why: "Yes.",
  });
  assert.deepEqual(decideHandshake(begun, heard, at), { kind: "await", why: "Hm." });
});

/** When an endpoint that always fails is asked, if each answer takes so long. */
function askings(answerMs: number, finding: Finding = failed): number[] {
  let record = asked();
  let now = startedAt;
  const at: number[] = [];
  for (;;) {
    const step = nextStep(record, { now, rules });
    if (step.kind === "rest") {
      now = step.until;
      continue;
    }
    assert.equal(step.kind, "ask");
    at.push(now - startedAt);
    now += answerMs;
    const decision = decideHandshake(record.handshake, finding, { now, rules });
    record = apply(record, decision, now - startedAt, finding === refused);
    if (decision.kind === "fail") return at;
    assert.equal(decision.kind, "askAgain");
  }
}

test("an endpoint that fails is asked again after 5 s, then ever later, for two minutes", () => {
  assert.deepEqual(askings(0), [0, 5_000, 15_000, 35_000, 75_000, 120_000]);
});

test("an endpoint that says no is asked again for fifteen seconds", () => {
  assert.deepEqual(askings(0, refused), [0, 5_000, 15_000]);
});

test("an endpoint that never answers within 30 s is asked again after 5 s more", () => {
  assert.deepEqual(askings(30_000), [0, 35_000, 75_000, 120_000]);
});

test("what is to be asked again is asked when its time comes, also after a restart", () => {
  const record = apply(asked(), { kind: "askAgain", at: 0, why: "No." }, 1_000);
  const step = (now: number) => nextStep(record, { now: startedAt + now, rules });
  assert.deepEqual(step(2_000), { kind: "rest", until: startedAt + 6_000 });
  assert.deepEqual(step(6_000), { kind: "ask" });
  assert.deepEqual(step(9_999_999), { kind: "ask" });
});

test("a person may answer until the window ends, and then it has failed", () => {
  const record = apply(asked(), { kind: "await", why: "Hm." }, 1_000);
  assert.equal(record.state, "AwaitingManualAction");
  assert.equal(record.isActive, false);
  const step = (now: number) => nextStep(record, { now: startedAt + now, rules });
  assert.deepEqual(step(599_999), { kind: "rest", until: startedAt + 600_000 });
  assert.deepEqual(step(600_000), {
    kind: "decide",
    decision: { kind: "fail", why: "The validation URL was not called within 10 min." },
  });
});

test("success puts a new subscription in force", () => {
  const record = apply(asked(), { kind: "succeed", allowedRate: 5, why: "Yes." });
  assert.deepEqual(
    [record.state, record.isActive, record.handshake.allowedRate],
    ["Succeeded", true, 5],
  );
  assert.deepEqual(nextStep(record, { now: startedAt, rules }), { kind: "none" });
});

test("failure leaves a new subscription out of force, and its code of no more use", () => {
  const record = apply(asked(), { kind: "fail", why: "No." }, 7);
  assert.deepEqual([record.state, record.isActive], ["Failed", false]);
  assert.equal(record.handshake.until, startedAt + 7);
});

const updated = asked({
  isActive: true,
  state: "Updating",
  handshake: { ...begun, pending: newTerms, allowedRate: 30 },
});

test("the terms asked about are those to come", () => {
  assert.equal(urlIn(termsAsked(updated)), "http://endpoint.test/new");
  assert.equal(urlIn(termsAsked(asked())), "http://endpoint.test/old");
});

test("an update takes effect as a whole with its success, and not before", () => {
  for (const decision of [
    { kind: "await", why: "Hm." },
    { kind: "askAgain", at: 0, why: "No." },
  ] as const) {
    const waiting = apply(updated, decision);
    assert.equal(urlIn(waiting), "http://endpoint.test/old");
    assert.deepEqual([waiting.isActive, waiting.handshake.allowedRate], [true, 30]);
    assert.deepEqual(waiting.handshake.pending, newTerms);
  }
  const done = apply(updated, { kind: "succeed", allowedRate: null, why: "Yes." });
  assert.equal(urlIn(done), "http://endpoint.test/new");
  assert.deepEqual(done.labels, ["new"]);
  assert.deepEqual([done.state, done.isActive], ["Succeeded", true]);
  assert.deepEqual([done.handshake.pending, done.handshake.allowedRate], [null, null]);
});

test("an update that fails leaves the old terms in force, at their old rate", () => {
  const record = apply(updated, { kind: "fail", why: "No." });
  assert.equal(urlIn(record), "http://endpoint.test/old");
  assert.deepEqual([record.state, record.isActive], ["Succeeded", true]);
  assert.deepEqual([record.handshake.pending, record.handshake.allowedRate], [null, 30]);
});

test("only the last exchanges are kept", () => {
  let record = asked();
  for (let at = 0; at < rules.exchangesMax + 3; at += 1) {
    record = apply(record, { kind: "askAgain", at: 0, why: "No." }, at);
  }
  const { exchanges } = record.handshake;
  assert.equal(exchanges.length, rules.exchangesMax);
  assert.equal(exchanges.at(-1)?.at, startedAt + rules.exchangesMax + 2);
});

test("a subscription without a handshake, or with one decided, is left alone", () => {
  const step = nextStep({ state: "Creating", handshake: null }, { now: startedAt, rules });
  assert.deepEqual(step, { kind: "none" });
  for (const state of ["Succeeded", "Failed"] as const) assert.ok(!isOpen(state));
  for (const state of ["Creating", "Updating", "AwaitingManualAction"] as const) {
    assert.ok(isOpen(state));
  }
});

test("who gets nothing is told why", () => {
  const table = [
    [{ isActive: true, state: "Updating" }, null],
    [{ isActive: false, state: "Failed" }, /did not agree/],
    [{ isActive: false, state: "AwaitingManualAction" }, /validation URL/],
    [{ isActive: false, state: "Creating" }, /still in progress/],
  ] as const;
  for (const [subscription, words] of table) {
    const why = whyNothingIsSent(subscription);
    if (words === null) assert.equal(why, null);
    else assert.match(why ?? "", words);
  }
});
