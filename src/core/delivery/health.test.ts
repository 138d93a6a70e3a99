import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  fold,
  gate,
  type Health,
  type HealthFact,
  type HealthRules,
  healthRules,
  healthyStart,
  recallHealth,
  rememberedHealth,
} from "./health.ts";

const s = 1_000;
const min = 60 * s;
const h = 60 * min;

function after(health: Health, ...facts: HealthFact[]): Health {
  return facts.reduce((state, fact) => fold(state, fact, healthRules), health);
}

function failed(at: number, sentAt = at): HealthFact {
  return { kind: "failed", at, sentAt };
}

function succeeded(at: number, sentAt = at): HealthFact {
  return { kind: "succeeded", at, sentAt };
}

function sent(at: number): HealthFact {
  return { kind: "sent", at };
}

function times(count: number, fact: HealthFact): HealthFact[] {
  return Array.from({ length: count }, () => fact);
}

/** Ten failures at 0: unhealthy until 30 s. */
const sick = after(healthyStart, ...times(10, failed(0)));

test("the tenth failure in a row makes an endpoint unhealthy, and not the ninth (H-1)", () => {
  const nine = after(healthyStart, ...times(9, failed(0)));
  assert.deepEqual(nine, { kind: "healthy", failures: 9 });
  assert.deepEqual(gate(nine, 0), { kind: "open", atOnce: Number.POSITIVE_INFINITY });
  assert.deepEqual(sick, { kind: "unhealthy", until: 30 * s, waitMs: 30 * s });
  assert.deepEqual(gate(sick, 0), { kind: "closed", until: 30 * s });
});

test("a success in between starts the count again (H-1)", () => {
  const facts = [...times(9, failed(0)), succeeded(1), ...times(9, failed(2))];
  assert.deepEqual(after(healthyStart, ...facts), { kind: "healthy", failures: 9 });
  assert.equal(after(healthyStart, ...facts, failed(3)).kind, "unhealthy");
});

test("when the wait is over one probe may be sent, and nothing beside it (H-2, R-7)", () => {
  assert.deepEqual(gate(sick, 30 * s - 1), { kind: "closed", until: 30 * s });
  assert.deepEqual(gate(sick, 30 * s), { kind: "open", atOnce: 1 });
  const probing = after(sick, sent(30 * s));
  assert.deepEqual(probing, { kind: "probing", startedAt: 30 * s, waitMs: 30 * s });
  assert.deepEqual(gate(probing, 99 * h), { kind: "closed", until: Number.POSITIVE_INFINITY });
});

test("the wait doubles with each failed probe, up to two hours (H-2)", () => {
  let health = sick;
  const waits: number[] = [];
  for (let probes = 0; probes < 10; probes++) {
    assert.equal(health.kind, "unhealthy");
    const now = health.kind === "unhealthy" ? health.until : Number.NaN;
    health = after(health, sent(now), failed(now + 30 * s, now));
    assert.equal(health.kind === "unhealthy" && health.until - now - 30 * s, waitMs(health));
    waits.push(waitMs(health));
  }
  const doubled = [1, 2, 4, 8, 16, 32, 64].map((minutes) => minutes * min);
  assert.deepEqual(waits, [...doubled, 2 * h, 2 * h, 2 * h]);
});

function waitMs(health: Health): number {
  return "waitMs" in health ? health.waitMs : Number.NaN;
}

test("sends begun before the endpoint turned unhealthy do not lengthen the wait (H-2)", () => {
  assert.equal(after(sick, ...times(20, failed(29 * s, -1))), sick);
  const probing = after(sick, sent(30 * s));
  assert.equal(after(probing, failed(31 * s, -1)), probing, "not even beside the probe");
});

test("a success counts whenever its send began (H-2)", () => {
  for (const before of [sick, after(sick, sent(30 * s))]) {
    const recovering = after(before, succeeded(31 * s, -1));
    assert.equal(recovering.kind, "recovering");
    assert.deepEqual(gate(recovering, 31 * s), { kind: "open", atOnce: 1 });
  }
});

test("a probe that was not made after all may be made again at once (H-2)", () => {
  const again = after(sick, sent(40 * s), { kind: "unsent" });
  assert.deepEqual(gate(again, 40 * s), { kind: "open", atOnce: 1 });
  assert.equal(waitMs(again), 30 * s);
  assert.equal(after(healthyStart, sent(0), { kind: "unsent" }), healthyStart);
  assert.equal(after(sick, { kind: "unsent" }), sick);
});

test("a recovering endpoint gets one more at once with each success, until healthy (H-2)", () => {
  let health = after(sick, sent(30 * s), succeeded(31 * s, 30 * s));
  for (let atOnce = 1; atOnce < 16; atOnce++) {
    assert.deepEqual(gate(health, 32 * s), { kind: "open", atOnce });
    health = after(health, succeeded(32 * s));
  }
  assert.deepEqual(health, healthyStart);
});

test("a failure while recovering brings back the wait it had, no longer, no shorter (H-2)", () => {
  const twoMinutes = after(sick, sent(min), failed(min), sent(3 * min), failed(3 * min));
  assert.equal(waitMs(twoMinutes), 2 * min);
  const recovering = after(twoMinutes, sent(h), ...times(5, succeeded(h)));
  assert.deepEqual(gate(recovering, h), { kind: "open", atOnce: 5 });
  assert.deepEqual(after(recovering, ...times(4, failed(h + s, h))), {
    kind: "unhealthy",
    until: h + s + 2 * min,
    waitMs: 2 * min,
  });
});

test("the failure of a send begun before the recovery does not undo it (H-2)", () => {
  const recovering = after(sick, sent(30 * s), succeeded(31 * s, 30 * s));
  assert.equal(after(recovering, failed(32 * s, -1)), recovering);
  assert.equal(after(recovering, failed(32 * s, 31 * s)).kind, "unhealthy");
  const further = after(recovering, succeeded(33 * s, 32 * s), failed(34 * s, 32 * s));
  assert.equal(further.kind, "unhealthy", "a success meanwhile does not excuse it");
});

test("once healthy again, the next illness begins with the first wait (H-2)", () => {
  const worse = after(sick, sent(30 * s), failed(31 * s, 30 * s));
  const well = after(worse, sent(h), ...times(16, succeeded(h)));
  assert.deepEqual(well, healthyStart);
  assert.equal(waitMs(after(well, ...times(10, failed(2 * h)))), 30 * s);
});

test("without the instant of its send, a result is taken for the latest send's", () => {
  const probing = after(sick, sent(30 * s));
  assert.equal(waitMs(after(probing, { kind: "failed", at: 31 * s })), min);
  const recovering = after(probing, { kind: "succeeded", at: 31 * s });
  assert.equal(after(recovering, { kind: "failed", at: 31 * s }).kind, "unhealthy");
});

/** A sender that asks the gate before each send and reports every result, with random results. */
class Sender {
  health: Health = healthyStart;
  now = 0;
  /** When each send in flight started. */
  readonly underWay: number[] = [];
  readonly rules: HealthRules;

  constructor(rules: HealthRules) {
    this.rules = rules;
  }

  /** A due probe is sent even while earlier sends are in flight. */
  mayBegin(): boolean {
    const open = gate(this.health, this.now);
    const isDue = this.health.kind === "unhealthy";
    return open.kind === "open" && (isDue || this.underWay.length < open.atOnce);
  }

  begin(): void {
    if (!this.mayBegin()) return;
    const isProbe = this.health.kind === "unhealthy";
    this.tell({ kind: "sent", at: this.now });
    this.underWay.push(this.now);
    if (isProbe) assert.equal(this.mayBegin(), false, "one probe at a time");
  }

  beginAndThinkBetterOfIt(): void {
    if (!this.mayBegin()) return;
    const before = gate(this.health, this.now);
    this.tell({ kind: "sent", at: this.now });
    this.tell({ kind: "unsent" });
    assert.deepEqual(gate(this.health, this.now), before);
  }

  finish(choice: number, isGood: boolean): void {
    if (this.underWay.length === 0) return;
    const [sentAt = 0] = this.underWay.splice(choice % this.underWay.length, 1);
    const before = this.health;
    this.tell({ kind: isGood ? "succeeded" : "failed", at: this.now, sentAt });
    if (!("waitMs" in before && "waitMs" in this.health)) return;
    const isProbe = before.kind === "probing" && sentAt === before.startedAt;
    const grownMs = Math.min(before.waitMs * this.rules.growth, this.rules.waitMaxMs);
    const expectedMs = isProbe && !isGood ? grownMs : before.waitMs;
    assert.equal(this.health.waitMs, expectedMs, "only a failed probe lengthens the wait");
  }

  tell(fact: HealthFact): void {
    this.health = fold(this.health, fact, this.rules);
    const open = gate(this.health, this.now);
    if (open.kind === "open") assert.ok(open.atOnce >= 1);
    else if (this.health.kind !== "probing") {
      assert.ok(open.until > this.now && open.until <= this.now + this.rules.waitMaxMs);
    }
  }
}

const rulesOfAnyKind = fc.record({
  failuresMax: fc.integer({ min: 1, max: 12 }),
  firstWaitMs: fc.integer({ min: 1, max: 30 * s }),
  growth: fc.constantFrom(1, 1.5, 2, 3),
  waitMaxMs: fc.integer({ min: 30 * s, max: 2 * h }),
  healthyAtOnce: fc.integer({ min: 1, max: 20 }),
});

type Step = (sender: Sender) => void;
const steps = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>((sender) => sender.begin()) },
  { weight: 1, arbitrary: fc.constant<Step>((sender) => sender.beginAndThinkBetterOfIt()) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(), fc.boolean()).map<Step>(
      ([choice, isGood]) =>
        (sender) =>
          sender.finish(choice, isGood),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.nat().map<Step>((choice) => (sender) => sender.finish(choice, false)),
  },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 1, max: h }).map<Step>((ms) => (sender) => {
      sender.now += ms;
    }),
  },
);

test("one probe at a time, and from any state successes lead back to health (H-2)", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      rulesOfAnyKind,
      fc.array(steps, { maxLength: 200, size: "max" }),
      (rules, weather) => {
        const sender = new Sender(rules);
        for (const step of weather) {
          step(sender);
          seen.add(sender.health.kind);
        }
        // Now everything succeeds: what is in flight, and then whatever may be sent.
        while (sender.underWay.length > 0) sender.finish(0, true);
        for (let sends = 0; sender.health.kind !== "healthy"; sends++) {
          assert.ok(sends <= rules.healthyAtOnce + 1, "it never gets well");
          const open = gate(sender.health, sender.now);
          if (open.kind === "closed") sender.now = open.until;
          assert.ok(Number.isFinite(sender.now));
          sender.begin();
          assert.equal(sender.underWay.length, 1);
          sender.finish(0, true);
        }
      },
    ),
    { numRuns: 500 },
  );
  assert.deepEqual([...seen].sort(), ["healthy", "probing", "recovering", "unhealthy"]);
});

test("what is remembered over a restart: that it is down, and that it was just recovering", () => {
  const down: Health = { kind: "unhealthy", until: 5 * min, waitMs: 2 * min };
  const probing: Health = { kind: "probing", startedAt: 5 * min, waitMs: 2 * min };
  const better: Health = { kind: "recovering", startedAt: min, atOnce: 9, waitMs: 2 * min };
  assert.equal(rememberedHealth({ kind: "healthy", failures: 9 }, down), null);
  assert.equal(rememberedHealth(down, null), down);
  assert.equal(rememberedHealth(probing, down), down, "the next life makes a probe of its own");
  assert.deepEqual(rememberedHealth(better, down), { ...better, atOnce: 1 });
});

test("what was remembered is taken as it is, unless it is old or no such record", () => {
  const down: Health = { kind: "unhealthy", until: 5 * min, waitMs: 2 * min };
  const better: Health = { kind: "recovering", startedAt: min, atOnce: 1, waitMs: 2 * min };
  const table: [object, number, Health | null][] = [
    [down, 4 * min, down],
    [down, 9 * h, down],
    [down, 5 * min + 24 * h, null],
    // A clock that was set back holds nobody longer than the wait.
    [down, 0, { ...down, until: 2 * min }],
    [better, 9 * min, better],
    [{ ...better, atOnce: 12 }, 9 * min, better],
    [better, min + 24 * h, null],
    [{ kind: "unhealthy", until: "soon", waitMs: 1 }, 0, null],
    [{ kind: "unhealthy", until: 1, waitMs: 0 }, 0, null],
    [{ kind: "ill", waitMs: 1 }, 0, null],
    [{}, 0, null],
  ];
  for (const [record, now, expected] of table) {
    assert.deepEqual(recallHealth(record, now), expected, JSON.stringify([record, now]));
  }
});
