import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../test/fixtures/request.ts";
import type { Route } from "../core/ports.ts";
import { Refusal } from "../core/refusal.ts";
import { requireAdmin } from "./admin.ts";

const open: Route = {
  method: "GET",
  path: "/secrets",
  headers: { "x-more": "y" },
  handle: () => ({ status: 200, body: "all of them" }),
};

async function ask(authorization: string | undefined, isOn = true) {
  const check = async (token: string) => (token === "key" ? null : "The token is not good.");
  const [route] = requireAdmin([open], isOn ? check : null);
  assert.ok(route);
  assert.deepEqual([route.method, route.path, route.headers], ["GET", "/secrets", open.headers]);
  try {
    return (await route.handle({ ...plainRequest, headers: { authorization } })).body;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "Unauthorized");
    return error.message;
  }
}

test("a route for admins answers whoever has a good bearer token", async () => {
  for (const text of ["Bearer key", "bearer key", "BEARER   key "]) {
    assert.equal(await ask(text), "all of them");
  }
});

test("everybody else is told what to send, or why it will not do", async () => {
  for (const text of [undefined, "", "Bearer", "Bearer ", "Basic key", "key", "Bearerkey"]) {
    assert.match((await ask(text)) ?? "", /^Send the admin key, or a token issued for it, as/);
  }
  assert.equal(await ask("Bearer other"), "The token is not good.");
});

test("where nothing is asked for, everybody is answered", async () => {
  assert.equal(await ask(undefined, false), "all of them");
});
