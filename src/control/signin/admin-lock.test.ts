import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../../test/fixtures/request.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Request, Route } from "../../core/request.ts";
import { type AdminLock, requireAdmin, requireAdminOrLocal } from "./admin-lock.ts";

const open: Route = {
  method: "GET",
  path: "/secrets",
  headers: { "x-more": "y" },
  handle: () => ({ status: 200, body: "all of them" }),
};

async function ask(authorization: string | undefined, isOn = true) {
  const check = async (token: string) => (token === "key" ? null : "The token is not good.");
  const [route] = requireAdmin([open], { check: isOn ? check : null });
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

const local = { isLocal: true, isSignedIn: async () => true };

async function browse(request: Partial<Request>, lock: Partial<AdminLock> = local) {
  const [route] = requireAdmin([open], { check: async () => "The token is not good.", ...lock });
  try {
    return (await route?.handle({ ...plainRequest, ...request }))?.body;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return error.code;
  }
}

test("a browser that has signed in is answered without a token", async () => {
  assert.equal(await browse({ headers: { host: "localhost:5888" } }), "all of them");
  assert.equal(await browse({}, { isSignedIn: async () => false }), "Unauthorized");
});

test("a wrong token is not made good by a session", async () => {
  assert.equal(await browse({ headers: { authorization: "Bearer other" } }), "Unauthorized");
});

test("a page of another origin cannot make a signed-in browser change anything", async () => {
  const host = "localhost:5888";
  for (const headers of [
    { host, origin: "https://evil.example" },
    { host, origin: "http://localhost:9999" },
    { host, origin: "null" },
    { host, "sec-fetch-site": "cross-site" },
    { host, "sec-fetch-site": "same-site" },
  ]) {
    assert.equal(await browse({ headers }), "Forbidden", JSON.stringify(headers));
    assert.equal(await browse({ headers }, { check: null }), "Forbidden");
    assert.equal(await browse({ headers, method: "GET" }), "all of them");
  }
  const own = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
  assert.equal(await browse({ headers: own }), "all of them");
});

test("a broker of this machine alone is not called by a name from elsewhere", async () => {
  const headers = { host: "evil.example:5888" };
  for (const method of ["GET", "POST"]) {
    assert.equal(await browse({ headers, method }), "Forbidden");
    assert.equal(await browse({ headers, method }, { check: null, isLocal: true }), "Forbidden");
    assert.equal(await browse({ headers, method }, { ...local, isLocal: false }), "all of them");
  }
  const bearer = { ...headers, authorization: "Bearer key" };
  assert.equal(await browse({ headers: bearer }, { check: async () => null }), "all of them");
});

test("a program on this machine needs no key where either will do; others do", async () => {
  const check = async (token: string) => (token === "key" ? null : "The token is not good.");
  const [route] = requireAdminOrLocal([{ ...open, method: "POST" }], { check, isLocal: false });
  const asked = async (remote: string, headers: Request["headers"]) => {
    try {
      return (await route?.handle({ ...plainRequest, remote, headers }))?.status;
    } catch (error) {
      return error instanceof Refusal ? error.code : error;
    }
  };
  const host = "localhost:5888";
  assert.equal(await asked("127.0.0.1", { host }), 200);
  assert.equal(await asked("127.0.0.1", { host, origin: "http://evil.example" }), "Unauthorized");
  assert.equal(await asked("127.0.0.1", { host: "evil.example" }), "Unauthorized");
  assert.equal(await asked("10.0.0.1", { host }), "Unauthorized");
  assert.equal(await asked("10.0.0.1", { host, authorization: "Bearer other" }), "Unauthorized");
  assert.equal(await asked("10.0.0.1", { host, authorization: "Bearer key" }), 200);
});
