import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Outcome, Silence } from "./outcome.ts";
import type { Policy } from "./policy.ts";
import { type DestinationKind, profileNames, profiles } from "./profile.ts";
import {
  additionMsMax,
  additionShareMax,
  type Decision,
  decide,
  expire,
  explain,
  isSuccess,
  outcomeName,
  retryAfterMsMax,
  type Standing,
} from "./retry.ts";

const s = 1_000;
const min = 60 * s;
const h = 60 * min;
const start = Date.UTC(2030, 0, 1);

const usual: Policy = {
  profile: profiles.azure,
  destinationKind: "webhook",
  attemptsMax: 30,
  ttlMs: 24 * h,
  deadLetter: false,
  deadLetterPauseMs: 5 * min,
  deadLetterLimitMs: 4 * h,
};

function standing(
  policy: Partial<Policy> = {},
  rest: Partial<Omit<Standing, "policy">> = {},
): Standing {
  return { stage: "deliver", attempts: 1, since: start, ...rest, policy: { ...usual, ...policy } };
}

function answered(status: number, rest: { readonly retryAfterMs?: number } = {}): Outcome {
  return { kind: "answered", status, ...rest };
}

function silent(why: Silence): Outcome {
  return { kind: "noReply", why };
}

function after(delivery: Standing, outcome: Outcome, chance = 0): Decision {
  return decide(delivery, outcome, { now: start, chance });
}

function waitOf(decision: Decision): number {
  assert.equal(decision.kind, "retry");
  return decision.kind === "retry" ? decision.wait.totalMs : Number.NaN;
}

/** Runs a delivery until it ends, with sends that take no time; returns its history. */
function live(
  delivery: Standing,
  answer: (attempt: number) => Outcome,
  chance: () => number = () => 0,
): { readonly sentAt: number[]; readonly endedAt: number; readonly end: Decision } {
  const sentAt: number[] = [];
  let now = delivery.since;
  let { since } = delivery;
  for (let attempts = 1; attempts <= 1_000; attempts++) {
    const expired = expire({ ...delivery, attempts: attempts - 1 }, now);
    if (expired !== null) return { sentAt, endedAt: now, end: expired };
    sentAt.push(now);
    const standing = { ...delivery, since, dueAt: now, attempts };
    const decision = decide(standing, answer(attempts), { now, chance: chance() });
    if (decision.kind !== "retry") return { sentAt, endedAt: now, end: decision };
    now = decision.at;
    since = decision.since;
  }
  assert.fail("it never ended");
}

function clockface(ms: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(ms / h))}:${two(Math.floor(ms / min) % 60)}:${two((ms / s) % 60)}`;
}

function timeline(policy: Partial<Policy>): string[] {
  const { sentAt, endedAt, end } = live(standing(policy), () => answered(500));
  const reason = end.kind === "drop" ? end.reason : end.kind;
  return [...sentAt.map((at) => clockface(at - start)), `${clockface(endedAt - start)} ${reason}`];
}

test("the whole life of an event nobody takes, profile azure (D-3, P-4, P-5, R-1, R-6)", () => {
  assert.deepEqual(timeline({}), [
    "00:00:00",
    "00:00:10",
    "00:00:40",
    "00:01:40",
    "00:06:40",
    "00:16:40",
    "00:46:40",
    "01:46:40",
    "04:46:40",
    "10:46:40",
    "22:46:40",
    "34:46:40 TimeToLiveExceeded",
  ]);
});

test("the same life under the other profiles (P-4, P-5, E-2)", () => {
  const firstHour = ["00:00:00", "00:00:10", "00:00:40", "00:01:40", "00:06:40", "00:16:40"];
  assert.deepEqual(
    timeline({ profile: profiles["preview-2017"], attemptsMax: null, ttlMs: 2 * h }),
    [...firstHour, "00:46:40", "01:46:40", "02:46:40 TimeToLiveExceeded"],
  );
  const hourly = Array.from({ length: 23 }, (_, hour) => clockface((hour + 1) * h + 2800 * s));
  assert.deepEqual(timeline({ profile: profiles["ga-2018"], attemptsMax: null }), [
    ...firstHour,
    "00:46:40",
    ...hourly,
    "24:46:40 TimeToLiveExceeded",
  ]);
  assert.deepEqual(timeline({ profile: profiles["iot-edge"], ttlMs: 30 * min }), [
    "00:00:00",
    "00:01:00",
    "00:11:00",
    "00:21:00",
    "00:31:00 TimeToLiveExceeded",
  ]);
  assert.deepEqual(timeline({ profile: profiles["azure-2020"] }), timeline({}));
});

test("a life of 30 minutes has at most six attempts, whatever their limit (R-5)", () => {
  const { sentAt } = live(standing({ attemptsMax: 10, ttlMs: 30 * min }), () => answered(500));
  assert.equal(sentAt.length, 6);
});

test("attempts used up end the retries at once, even with life left (R-5)", () => {
  assert.deepEqual(timeline({ attemptsMax: 3 }), [
    "00:00:00",
    "00:00:10",
    "00:00:40",
    "00:00:40 MaxDeliveryAttemptsExceeded",
  ]);
  assert.deepEqual(timeline({ attemptsMax: 1 }), [
    "00:00:00",
    "00:00:00 MaxDeliveryAttemptsExceeded",
  ]);
});

test("only the profile's codes complete a delivery; a redirect does not (D-5, D-6, P-1)", () => {
  const succeeds = {
    "preview-2017": [200, 202],
    "ga-2018": [200, 202],
    "azure-2020": [200, 201, 202, 203, 204],
    azure: [200, 201, 202, 203, 204],
    "iot-edge": [200, 201, 202, 203, 204],
    "azure-latest": [200, 201, 202, 203, 204],
  };
  for (const name of profileNames) {
    const profile = profiles[name];
    for (let status = 100; status < 600; status++) {
      const expected = succeeds[name].includes(status);
      assert.equal(isSuccess(profile, answered(status)), expected, `${name} ${status}`);
      const { kind } = after(standing({ profile }), answered(status));
      assert.equal(kind === "delivered", expected, `${name} ${status}`);
    }
  }
});

test("a redirect waits and is retried like any other code (D-6)", () => {
  for (const status of [301, 302, 307, 308]) {
    assert.equal(waitOf(after(standing(), answered(status))), 10 * s);
  }
});

test("codes that are never retried, by destination and profile (R-3, P-7, L-1)", () => {
  const reasons: Record<number, string> = {
    400: "UndeliverableDueToHttpBadRequest",
    401: "UndeliverableDueToHttpUnauthorized",
    403: "UndeliverableDueToHttpForbidden",
    404: "UndeliverableDueToHttpNotFound",
    413: "UndeliverableDueToHttpRequestEntityTooLarge",
  };
  const table: [Policy["profile"], DestinationKind, number[]][] = [
    [profiles["preview-2017"], "webhook", []],
    [profiles["ga-2018"], "webhook", []],
    [profiles["azure-2020"], "webhook", [400, 401, 403, 404, 413]],
    [profiles["azure-2020"], "resource", [400, 403, 413]],
    [profiles.azure, "webhook", [400, 401, 403, 404, 413]],
    [profiles.azure, "resource", [400, 403, 413]],
    [profiles["iot-edge"], "webhook", []],
    [profiles["azure-latest"], "webhook", [400, 401, 403, 413]],
    [profiles["azure-latest"], "resource", [400, 403, 413]],
  ];
  for (const [profile, destinationKind, final] of table) {
    for (let status = 205; status < 600; status++) {
      const decision = after(standing({ profile, destinationKind }), answered(status));
      const seen = decision.kind === "drop" ? decision.reason : decision.kind;
      const expected = final.includes(status) ? reasons[status] : "retry";
      assert.equal(seen, expected, `${profile.name} ${destinationKind} ${status}`);
    }
  }
});

test("the old profiles retry every failure, and no answer at all (P-7)", () => {
  for (const name of ["preview-2017", "ga-2018"] as const) {
    const policy = { profile: profiles[name], attemptsMax: null };
    for (const status of [400, 401, 404, 408, 414, 500, 503, 504, 201, 418]) {
      assert.equal(waitOf(after(standing(policy), answered(status))), 10 * s, `${status}`);
    }
    assert.equal(waitOf(after(standing(policy), silent("timeout"))), 10 * s);
  }
});

test("the wait is the larger of the step and the smallest wait by status (R-1, P-8)", () => {
  const table: [DestinationKind, Outcome, number[]][] = [
    ["webhook", answered(500), [10 * s, 30 * s, 1 * min, 5 * min]],
    ["webhook", answered(503), [30 * s, 30 * s, 1 * min, 5 * min]],
    ["webhook", answered(408), [2 * min, 2 * min, 2 * min, 5 * min]],
    ["resource", answered(401), [5 * min, 5 * min, 5 * min, 5 * min, 10 * min]],
    ["resource", answered(404), [5 * min, 5 * min, 5 * min, 5 * min, 10 * min]],
    ["resource", answered(408), [2 * min, 2 * min, 2 * min, 5 * min]],
    ["resource", answered(503), [30 * s, 30 * s, 1 * min, 5 * min]],
    ["webhook", silent("timeout"), [10 * s, 30 * s, 1 * min, 5 * min]],
    ["webhook", silent("connection"), [10 * s, 30 * s]],
    ["webhook", silent("dns"), [10 * s, 30 * s]],
    ["webhook", silent("tls"), [10 * s, 30 * s]],
  ];
  for (const [destinationKind, outcome, waits] of table) {
    for (const [failures, expected] of waits.entries()) {
      const delivery = standing({ destinationKind }, { attempts: failures + 1 });
      assert.equal(waitOf(after(delivery, outcome)), expected, JSON.stringify([outcome, failures]));
    }
  }
});

test("azure-latest comes back to a webhook that is not there, after five minutes (P-7, P-8)", () => {
  const profile = profiles["azure-latest"];
  for (const [failures, expected] of [5 * min, 5 * min, 5 * min, 5 * min, 10 * min].entries()) {
    const delivery = standing({ profile }, { attempts: failures + 1 });
    assert.equal(waitOf(after(delivery, answered(404))), expected, `${failures}`);
  }
  assert.equal(after(standing({ profile: profiles.azure }), answered(404)).kind, "drop");
});

test("an overloaded endpoint's Retry-After is a smallest wait, up to an hour", () => {
  const asking = (status: number, retryAfterMs: number) => answered(status, { retryAfterMs });
  const table: [Outcome, number, number][] = [
    [asking(503, 2 * min), 1, 2 * min],
    [asking(429, 2 * min), 1, 2 * min],
    [asking(503, 5 * s), 1, 30 * s],
    [asking(429, 0), 1, 10 * s],
    [asking(503, 2 * min), 4, 5 * min],
    [asking(429, retryAfterMsMax), 1, 1 * h],
    [asking(429, 48 * h), 1, 1 * h],
    [asking(503, 48 * h), 8, 3 * h],
    [asking(500, 2 * min), 1, 10 * s],
    [asking(302, 2 * min), 1, 10 * s],
    [asking(408, 48 * h), 1, 2 * min],
  ];
  for (const [outcome, attempts, expected] of table) {
    const label = JSON.stringify([outcome, attempts]);
    assert.equal(waitOf(after(standing({}, { attempts }), outcome)), expected, label);
  }
  const asked = profileNames.filter((name) => profiles[name].retryAfter);
  assert.deepEqual(asked, ["azure-2020", "azure", "azure-latest"]);
  for (const name of profileNames) {
    const delivery = standing({ profile: profiles[name] });
    const scheduleMs = profiles[name].scheduleMs[0];
    const expected = asked.includes(name) ? 20 * min : scheduleMs;
    assert.equal(waitOf(after(delivery, asking(503, 20 * min))), expected, name);
  }
  const stored = standing({}, { stage: "deadLetter" });
  assert.equal(waitOf(after(stored, asking(503, 20 * min))), 10 * s, "a store has its schedule");
});

test("the last step of the schedule repeats (P-4)", () => {
  for (const attempts of [10, 11, 29]) {
    assert.equal(waitOf(after(standing({}, { attempts }), answered(500))), 12 * h);
  }
});

test("waits count from the end of the attempt (R-1)", () => {
  const ended = start + 30 * s;
  const decision = decide(standing(), silent("timeout"), { now: ended, chance: 0 });
  assert.equal(decision.kind === "retry" && decision.at, ended + 10 * s);
});

test("the random addition is a tenth of the wait at most, and a minute at most (R-2)", () => {
  const almost = 1 - Number.EPSILON;
  const table: [number, number, number][] = [
    [1, 0, 0],
    [1, 0.5, 500],
    [1, almost, 999],
    [4, 0.5, 15 * s],
    [5, almost, 59_999],
    [6, almost, 59_999],
    [10, almost, 59_999],
  ];
  for (const [attempts, chance, additionMs] of table) {
    const decision = after(standing({}, { attempts }), answered(500), chance);
    assert.equal(decision.kind === "retry" && decision.wait.additionMs, additionMs, `${attempts}`);
  }
});

test("a limit lowered below the attempts made ends an event when it is next due (R-5)", () => {
  const tried = standing({ attemptsMax: 4 }, { attempts: 5 });
  const decision = expire(tried, start + h);
  assert.equal(decision?.kind, "drop");
  assert.equal(
    decision && explain(decision),
    "MaxDeliveryAttemptsExceeded: 5 attempts made before the limit became 4; dropped",
  );
  assert.equal(expire(standing({ attemptsMax: 4 }, { attempts: 3 }), start + h), null);
});

test("a life that ended between attempts ends when the next is due, not before (R-6)", () => {
  const delivery = standing({ ttlMs: min }, { attempts: 4 });
  const now = start + 2 * min;
  const decision = decide(delivery, answered(500), { now, chance: 0 });
  assert.equal(decision.kind, "retry", "the time to live is not looked at after a send");
  assert.equal(expire(delivery, start + min - 1), null);
  const expired = expire(delivery, start + min);
  assert.equal(expired?.kind === "drop" && expired.reason, "TimeToLiveExceeded");
});

test("giving up leads to the dead letters after the pause, where there are any (L-1, L-3)", () => {
  const policy = { deadLetter: true, attemptsMax: 3 };
  const now = start + 7 * min;
  const final = decide(standing(policy), answered(413), { now, chance: 0.9 });
  const used = decide(standing(policy, { attempts: 3 }), answered(500), { now, chance: 0.9 });
  const old = expire(standing({ ...policy, ttlMs: min }), now);
  for (const [decision, reason] of [
    [final, "UndeliverableDueToHttpRequestEntityTooLarge"],
    [used, "MaxDeliveryAttemptsExceeded"],
    [old, "TimeToLiveExceeded"],
  ] as const) {
    assert.equal(decision?.kind, "deadLetter");
    assert.equal(decision?.kind === "deadLetter" && decision.reason, reason);
    assert.equal(decision?.kind === "deadLetter" && decision.at, now + 5 * min);
  }
});

test("a 404 on the only attempt allowed is told as the limit, like Azure's example (L-6)", () => {
  const decision = after(standing({ attemptsMax: 1 }), answered(404));
  assert.equal(decision.kind === "drop" && decision.reason, "MaxDeliveryAttemptsExceeded");
});

test("a dead letter is retried on its own schedule until four hours have passed (L-4)", () => {
  const delivery = standing({ attemptsMax: 1 }, { stage: "deadLetter" });
  const { sentAt, endedAt, end } = live(delivery, () => answered(403));
  const waits = sentAt.map((at, index) => at - (sentAt[index - 1] ?? start));
  assert.deepEqual(waits.slice(0, 6), [0, 10 * s, 1 * min, 5 * min, 5 * min, 5 * min]);
  assert.ok(waits.slice(4).every((wait) => wait === 5 * min));
  assert.equal(end.kind === "drop" && end.reason, "DeadLetterStoreUnavailable");
  assert.ok(endedAt - start >= 4 * h && endedAt - start < 4 * h + 5 * min);
});

test("any 2xx ends a dead letter's way, and nothing else does (L-4)", () => {
  const delivery = standing({}, { stage: "deadLetter" });
  for (let status = 100; status < 600; status++) {
    const { kind } = after(delivery, answered(status));
    assert.equal(kind, status >= 200 && status <= 299 ? "delivered" : "retry", `${status}`);
  }
  assert.equal(after(delivery, silent("connection")).kind, "retry");
});

test("a dead letter is tried before it is dropped, however old (L-4)", () => {
  for (const attempts of [0, 1, 60]) {
    assert.equal(expire(standing({}, { stage: "deadLetter", attempts }), start + 100 * h), null);
  }
});

test("only time in which a dead-letter store was tried and failed counts (L-4)", () => {
  const stage = "deadLetter";
  const at = (now: number) => ({ now, sentAt: now - 20 * s, chance: 0 });
  // The first write comes late: what counts is from its begin on.
  const first = decide(standing({}, { stage, dueAt: start }), answered(503), at(start + 9 * h));
  assert.ok(first.kind === "retry");
  assert.equal(first.since, start + 9 * h - 20 * s);
  assert.equal(first.left.ms, 4 * h - 20 * s);
  // The pause before the first write does not count either.
  const paused = standing({}, { stage, since: start, dueAt: start + 5 * min });
  const onTime = decide(paused, answered(503), {
    now: start + 6 * min,
    sentAt: start + 5 * min,
    chance: 0,
  });
  assert.equal(onTime.kind === "retry" && onTime.since, start + 5 * min);
  const failing = { stage, attempts: 2, since: start, dueAt: start + h } as const;
  // Away for five hours after an hour of failures: the five do not count.
  const back = decide(standing({}, failing), answered(503), at(start + 6 * h + 20 * s));
  assert.ok(back.kind === "retry");
  assert.equal(back.since, start + 5 * h);
  assert.equal(back.left.ms, 3 * h - 20 * s);
  const late = { ...failing, dueAt: start + 4 * h - 20 * s };
  const end = decide(standing({}, late), answered(503), at(start + 4 * h));
  assert.equal(end.kind, "drop");
  const earlier = decide(standing({}, late), answered(503), at(start + 4 * h - 1));
  assert.equal(earlier.kind, "retry");
});

test("outcomes have Event Grid's names (L-6)", () => {
  const table: [Outcome, string][] = [
    [answered(200), "Delivered"],
    [answered(202), "Delivered"],
    [answered(400), "BadRequest"],
    [answered(401), "Unauthorized"],
    [answered(403), "Forbidden"],
    [answered(404), "NotFound"],
    [answered(408), "TimedOut"],
    [answered(413), "PayloadTooLarge"],
    [answered(429), "Busy"],
    [answered(503), "Busy"],
    [answered(302), "GenericError"],
    [answered(500), "GenericError"],
    [silent("timeout"), "TimedOut"],
    [silent("connection"), "SocketError"],
    [silent("tls"), "SocketError"],
    [silent("dns"), "ResolutionError"],
    [silent("canceled"), "Canceled"],
  ];
  for (const [outcome, name] of table) {
    // One list of names is documented, in 2023; the older descriptions have no other.
    for (const profile of profileNames) {
      assert.equal(outcomeName(outcome, profiles[profile]), name, profile);
    }
  }
  assert.equal(outcomeName(answered(201), profiles["ga-2018"]), "GenericError");
});

test("a decision explains itself in one sentence with its numbers", () => {
  const now = start + 14 * h;
  const table: [Decision | null, string][] = [
    [
      decide(standing({}, { attempts: 2 }), answered(503), { now: start + 2 * min, chance: 0.5 }),
      "503: at least 30 s; step 2 of the schedule is 30 s; random addition 1.5 s; " +
        "next attempt 2030-01-01T00:02:31.500Z; 28 attempts and 23 h 58 min left",
    ],
    [
      decide(
        standing({ profile: profiles["ga-2018"], attemptsMax: null }, { attempts: 9 }),
        silent("timeout"),
        { now: start + 23.5 * h, chance: 0 },
      ),
      "timeout; step 9 of the schedule is 1 h; random addition 0 s; " +
        "next attempt 2030-01-02T00:30:00.000Z; 30 min left, over before that attempt is due",
    ],
    [
      decide(standing({}, { attempts: 29 }), answered(302), { now: start, chance: 0 }),
      "302: at least 10 s; step 29 of the schedule is 12 h; random addition 0 s; " +
        "next attempt 2030-01-01T12:00:00.000Z; 1 attempt and 1 d left",
    ],
    [
      after(standing(), answered(429, { retryAfterMs: 90 * s })),
      "429: at least 10 s; Retry-After asks for 1 min 30 s; step 1 of the schedule is 10 s; " +
        "random addition 0 s; next attempt 2030-01-01T00:01:30.000Z; 29 attempts and 1 d left",
    ],
    [
      after(standing(), answered(503, { retryAfterMs: 3 * h })),
      "503: at least 30 s; Retry-After asks for 3 h, heeded up to 1 h; " +
        "step 1 of the schedule is 10 s; random addition 0 s; " +
        "next attempt 2030-01-01T01:00:00.000Z; 29 attempts and 1 d left",
    ],
    [after(standing({}, { attempts: 3 }), answered(202)), "202: delivered with attempt 3"],
    [
      decide(standing({ deadLetter: true }), answered(400), { now, chance: 0 }),
      "UndeliverableDueToHttpBadRequest: 400 on attempt 1 is never retried; " +
        "dead letter to be written 2030-01-01T14:05:00.000Z",
    ],
    [
      after(standing({}, { attempts: 30 }), silent("dns")),
      "MaxDeliveryAttemptsExceeded: dns on attempt 30 of 30; dropped",
    ],
    [
      expire(standing({ ttlMs: 90 * min }, { attempts: 8 }), now),
      "TimeToLiveExceeded: due 14 h after its publish with 1 h 30 min to live, 8 attempts made; " +
        "dropped",
    ],
    [
      decide(standing({}, { stage: "deadLetter", attempts: 51 }), answered(503), {
        now: start + 4 * h + 40 * s,
        chance: 0,
      }),
      "DeadLetterStoreUnavailable: the store failed for 4 h of the 4 h allowed, 51 attempts made; " +
        "dropped",
    ],
  ];
  for (const [decision, sentence] of table) {
    assert.ok(decision !== null);
    assert.equal(explain(decision), sentence);
  }
});

test("a delivery that was never sent has no outcome to decide about", () => {
  assert.throws(() => after(standing({}, { attempts: 0 }), answered(500)), RangeError);
});

const outcomes = fc.oneof(
  fc.integer({ min: 100, max: 599 }).map((status) => answered(status)),
  fc
    .tuple(fc.constantFrom(408, 429, 503), fc.integer({ min: 0, max: 999_999_999 * s }))
    .map(([status, retryAfterMs]) => answered(status, { retryAfterMs })),
  fc.constantFrom<Silence>("timeout", "connection", "dns", "tls", "canceled").map(silent),
);
const chances = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const policies = fc.record<Policy>({
  profile: fc.constantFrom(...profileNames).map((name) => profiles[name]),
  destinationKind: fc.constantFrom("webhook", "resource"),
  attemptsMax: fc.option(fc.integer({ min: 1, max: 30 })),
  ttlMs: fc.integer({ min: min, max: 24 * h }),
  deadLetter: fc.boolean(),
  deadLetterPauseMs: fc.integer({ min: 0, max: h }),
  deadLetterLimitMs: fc.integer({ min: min, max: 8 * h }),
});

test("no wait is shorter than the law or longer than law and bound (R-1, R-2, P-8)", () => {
  const stages = fc.constantFrom("deliver" as const, "deadLetter" as const);
  const attempt = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(policies, stages, attempt, outcomes, chances, (...drawn) => {
      const [policy, stage, attempts, outcome, chance] = drawn;
      const decision = after({ stage, attempts, since: start, policy }, outcome, chance);
      if (decision.kind !== "retry") return;
      const schedule = stage === "deliver" ? policy.profile.scheduleMs : [10 * s, 1 * min, 5 * min];
      const step = schedule[Math.min(attempts, schedule.length) - 1] ?? Number.NaN;
      const smallest = stage === "deliver" ? smallestByTable(policy, outcome) : 0;
      const asked = stage === "deliver" && policy.profile.retryAfter ? askedByTable(outcome) : 0;
      const law = Math.max(step, smallest, asked);
      const bound = Math.min(additionShareMax * law, additionMsMax);
      const { wait } = decision;
      assert.ok(wait.totalMs >= law && wait.totalMs < law + bound);
      assert.ok(Number.isInteger(decision.at));
      assert.equal(decision.at, start + wait.totalMs);
      const longest = Math.max(wait.scheduleMs, wait.smallestMs, asked);
      assert.equal(wait.totalMs, longest + wait.additionMs);
      assert.ok(decision.left.attempts === null || decision.left.attempts > 0);
    }),
    { numRuns: 2_000 },
  );
});

/** P-8 as the table says it, apart from the profiles' own values. */
function smallestByTable(policy: Policy, outcome: Outcome): number {
  const { name } = policy.profile;
  if (!["azure", "azure-2020", "azure-latest"].includes(name)) return 0;
  const status = outcome.kind === "answered" ? outcome.status : null;
  if (status === 404 && name === "azure-latest") return 5 * min;
  if (status === 408) return 2 * min;
  if (status === 503) return 30 * s;
  const isResource = policy.destinationKind === "resource";
  return isResource && (status === 401 || status === 404) ? 5 * min : 10 * s;
}

function askedByTable(outcome: Outcome): number {
  if (outcome.kind !== "answered" || ![429, 503].includes(outcome.status)) return 0;
  return Math.min(outcome.retryAfterMs ?? 0, 1 * h);
}

test("no attempt is made beyond the count or after the life, and every life ends (R-5, R-6)", () => {
  fc.assert(
    fc.property(policies, fc.infiniteStream(outcomes), fc.infiniteStream(chances), (...drawn) => {
      const [policy, answers, draws] = drawn;
      const { sentAt, end } = live(
        standing(policy),
        () => answers.next().value ?? answered(500),
        () => draws.next().value ?? 0,
      );
      assert.ok(sentAt.length <= (policy.attemptsMax ?? Number.POSITIVE_INFINITY));
      assert.ok(sentAt.every((at) => at - start < policy.ttlMs));
      assert.notEqual(end.kind, "retry");
      if (end.kind === "drop") assert.equal(policy.deadLetter, false);
      if (end.kind === "deadLetter") assert.equal(policy.deadLetter, true);
    }),
    { numRuns: 500 },
  );
});

test("a dead letter is tried at least once and dropped no sooner than the limit (L-4)", () => {
  fc.assert(
    fc.property(policies, fc.infiniteStream(chances), (policy, draws) => {
      const { sentAt, endedAt, end } = live(
        standing(policy, { stage: "deadLetter" }),
        () => silent("connection"),
        () => draws.next().value ?? 0,
      );
      assert.equal(end.kind === "drop" && end.reason, "DeadLetterStoreUnavailable");
      assert.ok(sentAt.length >= 1);
      assert.ok(endedAt - start >= policy.deadLetterLimitMs);
    }),
    { numRuns: 200 },
  );
});
