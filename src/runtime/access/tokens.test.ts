import assert from "node:assert/strict";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  type CryptoKey,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { Refusal } from "../../core/refusal.ts";
import { type EntraTerms, openTokens, tokenLifeMs } from "./tokens.ts";

const adminKey = "c29tZSBhZG1pbiBrZXk=";
const now = Date.UTC(2030, 0, 1);
const audience = "https://eventgrid.azure.net";
const issuer = "https://sts.example/tenant/";

function open({ at = now, key = adminKey, entra = null as EntraTerms | null } = {}) {
  const facts: string[] = [];
  const log = { fact: (_: string, name: string) => void facts.push(name) };
  return { ...openTokens({ adminKey: key, entra, now: () => at, log }), facts };
}

async function openIssuer(kid = "one") {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" };
  const sign = (claims: Readonly<Record<string, unknown>> = {}, key: CryptoKey = privateKey) =>
    new SignJWT({ iss: issuer, aud: audience, exp: now / 1000 + 60, ...claims })
      .setProtectedHeader({ alg: "ES256", kid })
      .sign(key);
  return { jwk, sign };
}

function openFile(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "keys.json");
  writeFileSync(path, text);
  return path;
}

const foreign = "The bearer token was signed by an issuer that this broker does not trust.";
const malformed = "The bearer token is neither the admin key nor a well-formed token.";

test("the admin key itself opens the desk, and may publish", async () => {
  const { isAdminKey, whyNoAdmin, whyNoBearer } = open();
  assert.ok(isAdminKey(adminKey));
  assert.equal(await whyNoAdmin(adminKey), null);
  assert.equal(await whyNoBearer(adminKey), null);
  for (const key of ["", adminKey.slice(1), `${adminKey} `, adminKey.toLowerCase()]) {
    assert.ok(!isAdminKey(key));
    assert.equal(await whyNoAdmin(key), malformed);
    assert.equal(await whyNoBearer(key), malformed);
  }
});

test("a token of ours is worth the admin key for an hour, also after a restart", async () => {
  const token = await open().issue("access", { sub: "me", aud: "https://localhost" });
  const { sub, aud, iat, exp } = decodeJwt(token);
  assert.deepEqual(
    [sub, aud, iat, exp],
    ["me", "https://localhost", now / 1000, now / 1000 + 3600],
  );
  const later = (ms: number) => open({ at: now + ms });
  assert.equal(await later(0).whyNoAdmin(token), null);
  assert.equal(await later(tokenLifeMs - 1000).whyNoBearer(token), null);
  assert.equal(await later(tokenLifeMs).whyNoAdmin(token), "The bearer token has expired.");
});

test("tokens end with the admin key they were issued for", async () => {
  const token = await open().issue("access", { sub: "me" });
  assert.equal(await open({ key: "another" }).whyNoAdmin(token), foreign);
});

test("an id token says who somebody is and opens nothing", async () => {
  const token = await open().issue("id", { sub: "me", aud: "client" });
  assert.equal(decodeProtectedHeader(token).typ, "JWT");
  assert.match((await open().whyNoAdmin(token)) ?? "", /its claim "typ" does not fit/);
  assert.match((await open().whyNoBearer(token)) ?? "", /its claim "typ" does not fit/);
});

test("a token that was tampered with, or not signed at all, opens nothing", async () => {
  const token = await open().issue("access", { sub: "me" });
  const [head = "", body = "", mac = ""] = token.split(".");
  const other = Buffer.from(JSON.stringify({ ...decodeJwt(token), exp: 9e9 })).toString(
    "base64url",
  );
  assert.equal(await open().whyNoAdmin(`${head}.${other}.${mac}`), foreign);
  assert.equal(await open().whyNoAdmin(`${head}.${body}.`), foreign);
  const none = new UnsecuredJWT({ sub: "me", exp: 9e9 }).encode();
  for (const text of [none, "a.b.c", "..", `${head}.${body}`, `${token}.x`]) {
    assert.notEqual(await open().whyNoAdmin(text), null, text);
    assert.notEqual(await open().whyNoBearer(text), null, text);
  }
});

test("a token of the trusted issuer may publish, and is not an admin's", async (t) => {
  const { jwk, sign } = await openIssuer();
  const jwks = openFile(t, JSON.stringify({ keys: [jwk] }));
  const entra = { issuer, audiences: ["other", audience], jwks };
  const token = await sign();
  const { whyNoBearer, whyNoAdmin } = open({ entra });
  assert.equal(await whyNoBearer(token), null);
  assert.equal(await whyNoAdmin(token), foreign);
  assert.equal(await open().whyNoBearer(token), foreign);
  const ours = await open().issue("access", {});
  assert.equal(await whyNoBearer(ours), null);
});

test("of a trusted issuer's token every claim counts", async (t) => {
  const { jwk, sign } = await openIssuer();
  const jwks = openFile(t, JSON.stringify({ keys: [jwk] }));
  const { whyNoBearer } = open({ entra: { issuer, audiences: [audience], jwks } });
  const claim = (name: string) =>
    `The bearer token is not meant for this broker: its claim "${name}" does not fit.`;
  const second = now / 1000;
  const table: readonly (readonly [Readonly<Record<string, unknown>>, string | null])[] = [
    [{ iss: "https://sts.example/other/" }, claim("iss")],
    [{ aud: "https://management.azure.com" }, claim("aud")],
    [{ aud: undefined }, claim("aud")],
    [{ aud: ["x", audience] }, null],
    [{ exp: undefined }, claim("exp")],
    [{ exp: second - 301 }, "The bearer token has expired."],
    [{ exp: second - 299 }, null],
    [{ nbf: second + 301 }, claim("nbf")],
  ];
  for (const [claims, words] of table) assert.equal(await whyNoBearer(await sign(claims)), words);
});

test("a token that another key signed, even under the same name, is foreign", async (t) => {
  const { jwk } = await openIssuer();
  const jwks = openFile(t, JSON.stringify({ keys: [jwk] }));
  const { whyNoBearer } = open({ entra: { issuer, audiences: [audience], jwks } });
  for (const kid of ["one", "two"]) {
    assert.equal(await whyNoBearer(await (await openIssuer(kid)).sign()), foreign);
  }
});

test("the issuer's public key is not a secret that somebody could sign with", async (t) => {
  const { jwk } = await openIssuer();
  const secret = { kty: "oct", k: Buffer.from("public").toString("base64url"), kid: "two" };
  const jwks = openFile(t, JSON.stringify({ keys: [jwk, secret] }));
  const { whyNoBearer } = open({ entra: { issuer, audiences: [audience], jwks } });
  const forged = await new SignJWT({ iss: issuer, aud: audience, exp: 9e9 })
    .setProtectedHeader({ alg: "HS256", kid: "two", typ: "at+jwt" })
    .sign(Buffer.from("public"));
  assert.equal(await whyNoBearer(forged), foreign);
});

test("keys in a file are read when they are needed, and again when they have changed", async (t) => {
  const [before, after] = [await openIssuer(), await openIssuer("two")];
  const path = openFile(t, "not yet");
  const { whyNoBearer, facts } = open({ entra: { issuer, audiences: [audience], jwks: path } });
  assert.deepEqual(facts, []);
  await assert.rejects(whyNoBearer(await before.sign()), (error) => {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "Unavailable");
    assert.match(error.message, /^The keys of the token's issuer cannot be read/);
    return true;
  });
  assert.deepEqual(facts, ["entra.keysFailed"]);
  const change = (second: number, ...keys: object[]) => {
    writeFileSync(path, JSON.stringify({ keys }));
    utimesSync(path, second, second);
  };
  change(1, before.jwk);
  assert.equal(await whyNoBearer(await before.sign()), null);
  assert.equal(await whyNoBearer(await after.sign()), foreign);
  change(2, after.jwk);
  assert.equal(await whyNoBearer(await after.sign()), null);
  assert.equal(await whyNoBearer(await before.sign()), foreign);
});

test("keys at a URL are fetched once, and an issuer that is down is not the token's fault", async (t) => {
  const { jwk, sign } = await openIssuer();
  let asked = 0;
  const server = createServer((_, response) => {
    asked++;
    response.end(JSON.stringify({ keys: [jwk] }));
  });
  await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
  t.after(() => server.close());
  const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  const { whyNoBearer } = open({ entra: { issuer, audiences: [audience], jwks } });
  assert.equal(asked, 0);
  for (let turn = 0; turn < 3; turn++) assert.equal(await whyNoBearer(await sign()), null);
  assert.equal(asked, 1);
  await new Promise((go) => server.close(go).closeAllConnections());
  const down = open({ entra: { issuer, audiences: [audience], jwks } });
  await assert.rejects(down.whyNoBearer(await sign()), Refusal);
  assert.deepEqual(down.facts, ["entra.keysFailed"]);
});
