// Our own API against its own description: every operation in the table is served, and what it
// really answers has the shape that was promised, member by member.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { openapi } from "../src/control/api/openapi.ts";
import { type Operation, type Operations, operations } from "../src/core/api/operations.ts";
import { type ChangesPage, ErrorView, LiveEvent } from "../src/core/api/views.ts";
import { type ApiScene, jsonOf, openApiScene } from "./fixtures/api-examples.ts";

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { operationId: string }>>>>;
  readonly components: object;
}

let scene: ApiScene;
const ends: (() => unknown)[] = [];

before(async () => {
  scene = await openApiScene({ after: (end) => ends.unshift(end) });
});

after(async () => {
  for (const end of ends) await end();
});

const names = Object.keys(operations) as (keyof Operations)[];

/** Judges by the document alone, as a client that was made from it would. */
function openJudge() {
  const { components } = openapi("0.1.0") as Described;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "api", components });
  return ({ answer }: Operation, value: unknown, what: string) => {
    const schema = JSON.stringify(answer.describe({})).replaceAll('"#/comp', '"api#/comp');
    const validate = ajv.compile(JSON.parse(schema));
    assert.ok(validate(value), `${what}: ${JSON.stringify(validate.errors)}`);
  };
}

test("what every operation answers is what was promised, and nothing beside it", async () => {
  const { send, examples } = scene;
  const judge = openJudge();
  for (const name of names) {
    const operation: Operation = operations[name];
    const answered = await send(name, examples[name]);
    if (operation.contentType !== undefined) {
      assert.equal(answered.status, 200, `${name}: ${answered.body}`);
      continue;
    }
    const value = jsonOf(answered, name === "resumeRedrive" ? 202 : 200, name);
    judge(operation, value, name);
    assert.deepEqual(operation.answer.check(value, name), value, name);
  }
  const begun = await send("startRedrive", { body: { query: { subscription: "billing" } } });
  judge(operations.startRedrive, jsonOf(begun, 202, "a redrive"), "a redrive");
});

test("what is shown live is what was promised", async () => {
  const { send } = scene;
  const { body } = await send("watch", { query: { kinds: "overview" } });
  const [, kind, data = ""] = /event: (\w+)\ndata: (.*)\n/.exec(body) ?? [];
  const event = { kind, ...JSON.parse(data) };
  assert.deepEqual(LiveEvent.check(event, "live"), event);
});

test("refusals have a shape, and name what is wrong", async () => {
  const { send, examples } = scene;
  const table: [keyof Operations, object, status: number, message: RegExp][] = [
    ["showStory", { params: { id: "nobody" } }, 404, /There is no event "nobody"/],
    ["listTopics", { query: { page: "1" } }, 400, /no query parameter "page"; there are none/],
    ["findEvents", { query: { stat: "x" } }, 400, /no query parameter "stat"; did you mean state/],
    ["findEvents", { query: { state: "lost" } }, 400, /^state must be waiting, .* and is "lost"$/],
    ["findEvents", { query: { from: "noon" } }, 400, /^from must be an ISO 8601 instant/],
    ["showHistory", { query: { minutes: "0" } }, 400, /^minutes must be a whole number from 1 to/],
    ["watch", { query: { kinds: "overview,all" } }, 400, /^kinds\[1\] must be overview, /],
    ["drainSubscription", { body: {} }, 400, /^perSecond must be .*, and is missing$/],
    ["pauseSubscription", { body: { now: true } }, 400, /no member "now" in the request/],
    ["startRedrive", { body: { query: { form: "x" } } }, 400, /no member "form" in query; did you/],
    ["startRedrive", { body: { ids: ["a"], to: 1 } }, 400, /^to must be an object with topic/],
    [
      ...(["startRedrive", { body: { ids: ["a"], to: { url: "x", topic: "o" } } }, 400] as const),
      /^to must be an object with topic and subscription, or with url, and is an object$/,
    ],
    [
      ...(["explainFilters", { body: { event: {}, subscription: { toString: 1 } } }, 400] as const),
      /^subscription must be a name of at most 1024 characters, and is an object$/,
    ],
    [
      ...(["rotateSigning", { body: { secret: 5 } }, 400] as const),
      /^secret must be a text of 1 to 1024 characters, and is the number 5$/,
    ],
  ];
  for (const [name, change, status, message] of table) {
    const answered = await send(name, { ...examples[name], ...change });
    const { error } = ErrorView.check(jsonOf(answered, status, name), name);
    assert.match(error.message, message);
  }
});

test("the description is served, and each operation has a name of its own", async () => {
  const { program } = scene;
  const answered = await fetch(`${program.url}/openapi.json`);
  assert.match(answered.headers.get("content-encoding") ?? "", /^(br|gzip)$/);
  const served = (await answered.json()) as Described;
  assert.deepEqual(served, JSON.parse(JSON.stringify(openapi("0.1.0"))));
  const ids = Object.values(served.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  assert.deepEqual(ids.toSorted(), names.toSorted());
  const page = await fetch(`${program.url}/docs`);
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  assert.match(await page.text(), /<code>\/api\/v1\/overview<\/code>/);
});

test("lists answer what has changed since the revision that was seen", async () => {
  const { send, examples } = scene;
  for (const [name, key] of [
    ["listSubscriptions", "name"],
    ["listEndpoints", "endpoint"],
  ] as const) {
    const ask = async (since?: string) => {
      const answered = await send(name, { query: since === undefined ? {} : { since } });
      return jsonOf(answered, 200, name) as ChangesPage<Record<string, unknown>>;
    };
    const all = await ask();
    assert.deepEqual([all.isWhole, all.value.length > 1], [true, true]);
    const none = await ask(all.revision);
    assert.deepEqual([none.isWhole, none.value, none.gone], [false, [], []]);
    await send("closeEndpoint", examples.closeEndpoint);
    const [closed, ...others] = (await ask(all.revision)).value;
    assert.match(String(closed?.[key]), /waiting$/);
    assert.deepEqual(others, []);
    await send("openEndpoint", examples.openEndpoint);
  }
});
