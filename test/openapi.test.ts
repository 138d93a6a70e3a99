// Our own API against its own description: every route that is described is there, every route that
// is there is described, and what is answered has the shape that was promised.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type ApiDeps, openApi } from "../src/control/api/api.ts";
import { type Operation, openapi, operations } from "../src/control/api/openapi.ts";
import type { RedriveDeps } from "../src/control/deadletters/redrive.ts";
import { Redrives } from "../src/control/deadletters/redrives.ts";
import { type Program, startProgram } from "./fixtures/program.ts";

let program: Program;
const folder = mkdtempSync(join(tmpdir(), "posthorn-openapi-"));

before(async () => {
  const calm = ["--auth", "off", "--handshake", "off", "--store", "memory"];
  program = await startProgram(["--data", folder, ...calm]);
});

after(async () => {
  await program.end("SIGTERM");
  rmSync(folder, { recursive: true });
});

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: object;
}

async function call({ method, path }: Pick<Operation, "method" | "path">, body?: object) {
  const url = `${program.url}/api/v1${path.replace(/\{\w+\}/g, "nowhere")}`;
  const leaving = new AbortController();
  const sent = body && { body: JSON.stringify(body) };
  const response = await fetch(url, { method, signal: leaving.signal, ...sent });
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    leaving.abort();
    return { status: response.status, body: "" };
  }
  return { status: response.status, body: await response.text() };
}

test("every route that is described is there", async () => {
  for (const operation of operations) {
    const { status, body } = await call(operation);
    const what = `${operation.method} ${operation.path}: ${status} ${body}`;
    assert.doesNotMatch(body, /No HTTP resource was found/, what);
    assert.ok(status !== 405 && status < 500, what);
  }
});

test("every route that is there is described", () => {
  // The routes are made without relying on any answer of their ground's.
  const nothing: unknown = new Proxy(() => nothing, { get: () => nothing });
  const routes = [
    ...openApi(nothing as ApiDeps).routes,
    ...new Redrives(nothing as RedriveDeps).routes,
  ];
  const known = operations.map(({ method, path }) => `${method} /api/v1${path}`);
  for (const { method, path } of routes) {
    const name = `${method} ${path.replace(/:(\w+)/g, "{$1}")}`;
    assert.ok(known.includes(name), `${name} is not described`);
  }
  assert.ok(routes.length > 10);
});

test("the description is served, and each operation has a name of its own", async () => {
  const served = (await (await fetch(`${program.url}/openapi.json`)).json()) as Described;
  assert.deepEqual(served, JSON.parse(JSON.stringify(openapi("0.1.0"))));
  const described = Object.values(served.paths).flatMap((path) => Object.values(path));
  const ids = described.map((operation) => (operation as { operationId: string }).operationId);
  assert.equal(new Set(ids).size, operations.length);
  const page = await fetch(`${program.url}/docs`);
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
  assert.match(await page.text(), /<code>\/api\/v1\/overview<\/code>/);
});

test("what is answered has the shape that was promised", async () => {
  const described = openapi("0.1.0") as Described;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "api", components: described.components });
  const resolved = (schema: object) =>
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'));
  await prepare();
  const bodies: Readonly<Record<string, object>> = {
    "/simulate": { profile: "azure", outage: [], backlog: 10 },
    "/topics/{topic}/explain": { event: orderEvent },
  };
  let checked = 0;
  for (const { method, path, gives } of operations) {
    const real = path.replace("{topic}", "orders").replace("{name}", "billing");
    const answer = await call({ method, path: real }, bodies[path]);
    if (answer.status !== 200 || answer.body === "") continue;
    const validate = ajv.compile(resolved(gives));
    const isRight = validate(JSON.parse(answer.body));
    const faults = JSON.stringify(validate.errors);
    assert.ok(isRight, `${method} ${path}: ${faults} in ${answer.body}`);
    checked += 1;
  }
  assert.ok(checked >= 12, `${checked} answers were checked`);
});

const orderEvent = {
  id: "1",
  subject: "/orders/1",
  eventType: "Order.Placed",
  eventTime: "2030-01-01T00:00:00Z",
  data: {},
  dataVersion: "1.0",
};

/** A topic, a subscription that nobody answers, and an event that waits for it. */
async function prepare(): Promise<void> {
  const group = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.EventGrid";
  const put = (path: string, body: object) =>
    fetch(`${program.url}${path}?api-version=2025-02-15`, {
      method: "PUT",
      body: JSON.stringify(body),
    });
  await put(`${group}/topics/orders`, { location: "local" });
  const endpointUrl = "http://127.0.0.1:1/hook";
  const destination = { endpointType: "WebHook", properties: { endpointUrl } };
  await put(`${group}/topics/orders/eventSubscriptions/billing`, { properties: { destination } });
  await fetch(`${program.url}/topics/orders/api/events`, {
    method: "POST",
    body: JSON.stringify([orderEvent]),
  });
}
