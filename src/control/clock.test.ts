import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../test/fixtures/request.ts";
import { Refusal } from "../core/refusal.ts";
import type { Reply } from "../core/request.ts";
import { VirtualClock } from "../runtime/clock/virtual.ts";
import { clockRoutes } from "./clock.ts";

const startAt = Date.UTC(2030, 0, 1);

function openRoutes() {
  const clock = new VirtualClock({ startAt, patienceMs: 60_000 });
  const counts = { attempts: 0, delivered: 0, deadLettered: 0, dropped: 0 };
  const routes = clockRoutes({ clock, tally: () => ({ ...counts }) });
  const ask = async (method: "GET" | "POST", text = ""): Promise<Record<string, unknown>> => {
    const route = routes.find((each) => each.path === "/clock" && each.method === method);
    assert.ok(route);
    const body = Buffer.from(text);
    const reply: Reply = await route.handle({ ...plainRequest, method, body });
    assert.equal(reply.status, 200);
    return JSON.parse(reply.body ?? "") as Record<string, unknown>;
  };
  return { clock, counts, ask };
}

const nothing = { attempts: 0, delivered: 0, deadLettered: 0, dropped: 0 };

test("the clock tells its time and when something is next due", async () => {
  const { clock, ask } = openRoutes();
  assert.deepEqual(await ask("GET"), { now: "2030-01-01T00:00:00.000Z", nextDueAt: null });
  clock.after(10_500, () => {});
  assert.deepEqual(await ask("GET"), {
    now: "2030-01-01T00:00:00.000Z",
    nextDueAt: "2030-01-01T00:00:10.500Z",
  });
});

test("time is advanced by a length, to an instant, or to what is next due", async () => {
  const { clock, ask } = openRoutes();
  clock.after(7_200_000, () => {});
  const next = "2030-01-01T02:00:00.000Z";
  assert.deepEqual(await ask("POST", '{"advance":"PT30S"}'), {
    now: "2030-01-01T00:00:30.000Z",
    nextDueAt: next,
    ...nothing,
  });
  assert.deepEqual(await ask("POST", '{"to":"2030-01-01T02:00:00+01:00"}'), {
    now: "2030-01-01T01:00:00.000Z",
    nextDueAt: next,
    ...nothing,
  });
  assert.deepEqual(await ask("POST", '{"to":"next"}'), { now: next, nextDueAt: null, ...nothing });
});

test("an advance counts what happened during itself, also when two come at once", async () => {
  const { clock, counts, ask } = openRoutes();
  counts.attempts = 100;
  for (const second of [1, 2, 3]) {
    clock.after(second * 1_000, () => {
      counts.attempts += second;
      counts.delivered++;
    });
  }
  const [first, second] = await Promise.all([
    ask("POST", '{"advance":"PT2S"}'),
    ask("POST", '{"advance":"PT2S"}'),
  ]);
  assert.deepEqual([first?.attempts, first?.delivered], [3, 2]);
  assert.deepEqual([second?.attempts, second?.delivered], [3, 1]);
});

test("what was still under way when the advance was asked for is not counted", async () => {
  const { clock, counts, ask } = openRoutes();
  const end = clock.begin("inside");
  const answer = ask("POST", '{"advance":"PT1S"}');
  setImmediate(() => {
    counts.attempts++;
    end();
  });
  assert.equal((await answer).attempts, 0);
});

test("what is no way to advance is refused, naming the field", async () => {
  const { ask } = openRoutes();
  const table: [string, RegExp][] = [
    ["", /JSON object/],
    ["PT30S", /JSON object/],
    ["[]", /the request must be an object, and is an array of 0/],
    ["{}", /advance or to, and has neither/],
    ['{"advance":"PT1S","to":"next"}', /has both/],
    ['{"advanse":"PT1S"}', /"advanse" in the request; did you mean advance/],
    ['{"advance":30}', /^advance must be a duration such as 12h or PT12H, and is the number 30/],
    ['{"advance":"30"}', /^advance must be/],
    ['{"advance":"P1M"}', /^advance must be/],
    ['{"to":"tomorrow"}', /^to must be/],
    ['{"to":null}', /^to must be/],
    ['{"to":"2029-12-31T00:00:00Z"}', /^to must lead to a moment from now/],
  ];
  for (const [text, words] of table) {
    await assert.rejects(ask("POST", text), (error) => {
      assert.ok(error instanceof Refusal, text);
      assert.match(error.message, words);
      return true;
    });
  }
  assert.equal((await ask("GET")).now, "2030-01-01T00:00:00.000Z");
});
