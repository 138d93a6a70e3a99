import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../../test/fixtures/request.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Reply, Request } from "../../core/request.ts";
import { openSessions, sessionLifeMs } from "../../runtime/access/sessions.ts";
import { isSignedIn, linkOf, type SessionDeps, sessionRoutes } from "./session.ts";

const base = "http://localhost:5888";
const host = "localhost:5888";

function openDoor(over: Partial<SessionDeps> = {}) {
  const facts: string[] = [];
  const deps: SessionDeps = {
    sessions: openSessions({ path: null }),
    lifeMs: sessionLifeMs,
    isAdminKey: (key) => key === "the key",
    auth: true,
    isLocal: true,
    log: { fact: (_level, name, fields) => void facts.push(`${name} ${JSON.stringify(fields)}`) },
    ...over,
  };
  const ask = async (method: string, path: string, request: Partial<Request> = {}) => {
    const routes = sessionRoutes(deps);
    const route = routes.find((each) => each.method === method && each.path === path);
    assert.ok(route, `${method} ${path}`);
    const headers = { host, ...request.headers };
    const reply = await route.handle({ ...plainRequest, method, ...request, headers });
    return { ...reply, headers: { ...route.headers, ...reply.headers } };
  };
  return { deps, facts, ask };
}

function cookieOf({ headers }: Reply): string {
  return (headers?.["set-cookie"] ?? "").split(";")[0] ?? "";
}

function tokenOf(link: string): string {
  return new URL(link).searchParams.get("token") ?? "";
}

test("the printed link signs a browser in, once", async () => {
  const { deps, ask, facts } = openDoor();
  const token = tokenOf(await linkOf(deps, base));
  const first = await ask("GET", "/signin", { query: { token } });
  assert.equal(first.status, 200);
  assert.match(first.body ?? "", /http-equiv="refresh" content="0;url=\/"/);
  assert.match(
    first.headers["set-cookie"] ?? "",
    /^posthorn_5888=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/,
  );
  const cookie = cookieOf(first);
  assert.equal(await isSignedIn(deps, { ...plainRequest, headers: { host, cookie } }), true);
  const again = await ask("GET", "/signin", { query: { token } });
  assert.equal(again.status, 401);
  assert.match(again.body ?? "", /This link has been used, or is too old\./);
  assert.equal(cookieOf(again), "");
  assert.ok(!facts.join("").includes(token) && !facts.join("").includes(cookie));
});

test("over TLS the cookie never goes out in the clear", async () => {
  const { deps, ask } = openDoor();
  const token = tokenOf(await linkOf(deps, base));
  const { headers } = await ask("GET", "/signin", { query: { token }, scheme: "https" });
  assert.match(headers["set-cookie"] ?? "", /; Secure$/);
});

test("the admin key signs in as well, and another does not", async () => {
  const { deps, ask } = openDoor();
  const give = (key: string, headers = {}) =>
    ask("POST", "/signin", { body: Buffer.from(`key=${encodeURIComponent(key)}`), headers });
  const wrong = await give("a guess");
  assert.equal(wrong.status, 401);
  assert.match(wrong.body ?? "", /That is not the admin key of this broker\./);
  const right = await give(" the key\n");
  assert.deepEqual([right.status, right.headers.location], [303, "/"]);
  const cookie = `other=1; ${cookieOf(right)}`;
  assert.equal(await isSignedIn(deps, { ...plainRequest, headers: { host, cookie } }), true);
  await assert.rejects(give("the key", { origin: "https://evil.example" }), Refusal);
});

test("signing in leads on to where one was going, and nowhere else", async () => {
  const { ask } = openDoor();
  const enter = async (to: string) => {
    const form = new URLSearchParams({ key: "the key", to }).toString();
    return (await ask("POST", "/signin", { body: Buffer.from(form) })).headers.location;
  };
  const story = "/portal/deliveries/a%20b?tab=state&x=1";
  assert.equal(await enter(story), story);
  const shown = await ask("GET", "/signin", { query: { to: story } });
  assert.ok(shown.body?.includes(`value="${story.replace("&", "&amp;")}"`));
  const elsewhere = [
    "//evil.example",
    "https://evil.example/portal/",
    "/portal/\\evil",
    "/signout",
  ];
  for (const to of [...elsewhere, '/portal/"><script>', "/portalx"]) {
    assert.equal(await enter(to), "/", to);
    const page = await ask("GET", "/signin", { query: { to } });
    assert.ok(page.body?.includes('name="to" value="/"'), to);
  }
});

test("whoever signs out is out, whatever their cookie says", async () => {
  const { deps, ask } = openDoor();
  const token = tokenOf(await linkOf(deps, base));
  const cookie = cookieOf(await ask("GET", "/signin", { query: { token } }));
  const left = await ask("POST", "/signout", { headers: { cookie } });
  assert.deepEqual([left.status, left.headers.location], [303, "/signin"]);
  assert.match(left.headers["set-cookie"] ?? "", /^posthorn_5888=; .*Max-Age=0$/);
  assert.equal(await isSignedIn(deps, { ...plainRequest, headers: { host, cookie } }), false);
  const elsewhere = { origin: "https://evil.example" };
  await assert.rejects(ask("POST", "/signout", { headers: elsewhere }), Refusal);
});

test("a cookie is good for the broker that gave it, not for its neighbour", async () => {
  const { deps, ask } = openDoor();
  const cookie = cookieOf(
    await ask("GET", "/signin", { query: { token: tokenOf(await linkOf(deps, base)) } }),
  );
  const neighbour = { host: "localhost:5999", cookie };
  assert.equal(await isSignedIn(deps, { ...plainRequest, headers: neighbour }), false);
});

test("the sign-in page runs nothing and is nobody's frame", async () => {
  const { ask } = openDoor();
  const { status, headers, body } = await ask("GET", "/signin");
  assert.equal(status, 200);
  assert.match(body ?? "", /<label for="key">/);
  const policy = headers["content-security-policy"] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.ok(!policy.includes("unsafe"));
  assert.equal(headers["cache-control"], "no-store");
});

test("an admin can have a new link", async () => {
  const { ask, deps } = openDoor();
  const url = await linkOf(deps, base);
  assert.equal((await ask("GET", "/signin", { query: { token: tokenOf(url) } })).status, 200);
});

test("where nobody is asked for a key, there is nothing to sign in to", async () => {
  const { deps, ask } = openDoor({ auth: false });
  assert.equal(await linkOf(deps, base), `${base}/`);
  assert.equal(await isSignedIn(deps, plainRequest), true);
  assert.equal((await ask("GET", "/signin")).headers.location, "/");
});
