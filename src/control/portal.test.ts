import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../core/refusal.ts";
import type { Reply, Request } from "../core/request.ts";
import { portalRoutes } from "./portal.ts";

const files: Readonly<Record<string, { readonly text: string; readonly contentType: string }>> = {
  "index.html": {
    text: '<meta name="csp-nonce" nonce="__NONCE__">',
    contentType: "text/html; charset=utf-8",
  },
  "assets/a.js": { text: "code", contentType: "text/javascript; charset=utf-8" },
};

interface Visit {
  readonly isSignedIn?: boolean;
  readonly isBuilt?: boolean;
}

async function visit(path: string, { isSignedIn = true, isBuilt = true }: Visit = {}) {
  let nonces = 0;
  const routes = portalRoutes({
    assets: {
      find(name, accepts) {
        const file = isBuilt ? files[name] : undefined;
        if (file === undefined) return null;
        const encoding = accepts.includes("br") && name !== "index.html" ? "br" : null;
        return { bytes: Buffer.from(file.text), contentType: file.contentType, encoding };
      },
    },
    makeNonce: () => `nonce${++nonces}`,
    isSignedIn: async () => isSignedIn,
  });
  const below = path.startsWith("/portal/");
  const route = routes.find((each) => each.path === (below ? "/portal/*" : path));
  assert.ok(route);
  const request: Request = {
    method: "GET",
    params: below ? { "*": path.slice("/portal/".length) } : {},
    query: {},
    headers: { "accept-encoding": "gzip, br" },
    body: new Uint8Array(),
    remote: "127.0.0.1",
    scheme: "http",
  };
  return { first: await route.handle(request), second: () => route.handle(request) };
}

test("the page is served at every address of the portal, with a nonce of its own", async () => {
  for (const path of ["/", "/portal", "/portal/topics", "/portal/topics/a.b/subscriptions/c"]) {
    const { first, second } = await visit(path);
    const again = (await second()) as Reply;
    assert.equal(first.status, 200, path);
    const policy = (reply: Reply) => reply.headers?.["content-security-policy"] ?? "";
    assert.match(policy(first), /style-src 'self' 'nonce-nonce1'/);
    assert.match(policy(again), /style-src 'self' 'nonce-nonce2'/);
    assert.doesNotMatch(policy(first), /unsafe/);
    assert.match(first.body ?? "", /nonce="nonce1"/);
    assert.equal(first.headers?.["cache-control"], "no-store");
  }
});

test("a file of the portal is compressed, and kept for good under its name", async () => {
  const { first } = await visit("/portal/assets/a.js");
  assert.equal(first.headers?.["content-encoding"], "br");
  assert.match(first.headers?.["cache-control"] ?? "", /^private, max-age=\d{8}, immutable$/);
  assert.equal(Buffer.from(first.bytes ?? []).toString(), "code");
});

test("a file that is not there is not the page", async () => {
  await assert.rejects(visit("/portal/assets/b.js"), (error) => {
    return error instanceof Refusal && error.code === "NotFound";
  });
});

test("whoever has not signed in is shown the way, and gets no file", async () => {
  const { first } = await visit("/portal/topics", { isSignedIn: false });
  const way = "/signin?to=%2Fportal%2Ftopics";
  assert.deepEqual([first.status, first.headers?.location], [303, way], "and back again");
  const home = await visit("/", { isSignedIn: false });
  assert.equal(home.first.headers?.location, "/signin");
  await assert.rejects(visit("/portal/assets/a.js", { isSignedIn: false }), (error) => {
    return error instanceof Refusal && error.code === "Unauthorized";
  });
});

test("a portal that has not been built says what to do", async () => {
  await assert.rejects(visit("/", { isBuilt: false }), /npm run portal/);
});
