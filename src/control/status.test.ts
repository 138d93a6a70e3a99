import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../test/fixtures/request.ts";
import { statusRoutes } from "./status.ts";

function ask(path: string, why: string | null = null) {
  const routes = statusRoutes({ whyNotReady: () => why, metrics: () => "# nothing yet\n" });
  const route = routes.find((each) => each.path === path && each.method === "GET");
  assert.ok(route);
  const reply = route.handle({ ...plainRequest, method: "GET" });
  assert.ok(!(reply instanceof Promise));
  return reply;
}

test("a broker that answers is alive, ready or not", () => {
  for (const why of [null, "The broker is stopping."]) {
    assert.equal(ask("/healthz", why).status, 200);
    assert.equal(ask("/healthz", why).body, '{"status":"alive"}');
  }
});

test("a broker that cannot accept publishes is not ready and says why", () => {
  assert.equal(ask("/readyz").status, 200);
  assert.equal(ask("/readyz").body, '{"status":"ready"}');
  const { status, body } = ask("/readyz", "The broker is stopping.");
  assert.equal(status, 503);
  assert.equal(body, '{"status":"notReady","why":"The broker is stopping."}');
});

test("metrics are told as Prometheus asks for them", () => {
  const { status, headers, body } = ask("/metrics");
  assert.equal(status, 200);
  assert.equal(headers?.["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  assert.equal(body, "# nothing yet\n");
});
