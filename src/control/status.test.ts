import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../test/fixtures/request.ts";
import { statusRoutes } from "./status.ts";

async function ask(path: string, why: string | null = null) {
  const routes = statusRoutes({
    whyNotReady: () => why,
    metrics: async (withNames) => (withNames ? "# with names\n" : "# nothing yet\n"),
    showsNames: async ({ remote }) => remote !== "127.0.0.1",
  });
  const route = routes.find((each) => each.path === path && each.method === "GET");
  assert.ok(route);
  return await route.handle({ ...plainRequest, method: "GET" });
}

test("a broker that answers is alive, ready or not", async () => {
  for (const why of [null, "The broker is stopping."]) {
    assert.equal((await ask("/healthz", why)).status, 200);
    assert.equal((await ask("/healthz", why)).body, '{"status":"alive"}');
  }
});

test("a broker that cannot accept publishes is not ready and says why", async () => {
  assert.equal((await ask("/readyz")).status, 200);
  assert.equal((await ask("/readyz")).body, '{"status":"ready"}');
  const { status, body } = await ask("/readyz", "The broker is stopping.");
  assert.equal(status, 503);
  assert.equal(body, '{"status":"notReady","why":"The broker is stopping."}');
});

test("metrics are told as Prometheus asks for them", async () => {
  const { status, headers, body } = await ask("/metrics");
  assert.equal(status, 200);
  assert.equal(headers?.["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  assert.equal(body, "# nothing yet\n");
});
