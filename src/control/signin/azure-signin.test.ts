import assert from "node:assert/strict";
import { test } from "node:test";
import { plainRequest } from "../../../test/fixtures/request.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import { openTokens, tokenLifeMs } from "../../runtime/access/tokens.ts";
import { signinRoutes, tenantId } from "./azure-signin.ts";

const adminKey = "YS9zZWNyZXQr+w==";
const base = "https://localhost:4438";

function openRoutes() {
  const facts: [string, Readonly<Record<string, unknown>>][] = [];
  const log = {
    fact: (_: string, name: string, fields: Readonly<Record<string, unknown>>) => {
      facts.push([name, fields]);
    },
  };
  const now = Date.UTC(2030, 0, 1);
  const tokens = openTokens({ adminKey, entra: null, now: () => now, log });
  const routes = signinRoutes({ ...tokens, lock: { check: tokens.whyNoAdmin }, tokenLifeMs, log });
  const ask = async (
    method: Route["method"],
    path: string,
    request: Partial<Request> = {},
  ): Promise<Reply & { readonly json: Record<string, unknown> }> => {
    const route = routes.find((each) => each.path === path && each.method === method);
    assert.ok(route, path);
    const headers = { host: "localhost:4438", ...request.headers };
    const asked = { ...plainRequest, scheme: "https", method, ...request, headers } as const;
    const reply = await route.handle(asked);
    assert.match(reply.headers?.["content-type"] ?? "", /^application\/json/);
    return { ...reply, json: JSON.parse(reply.body ?? "") as Record<string, unknown> };
  };
  const signIn = (form: Readonly<Record<string, string>>, headers: Request["headers"] = {}) =>
    ask("POST", "/adfs/oauth2/token", {
      body: Buffer.from(new URLSearchParams(form).toString()),
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    });
  return { ask, signIn, tokens, facts };
}

/** As the CLI sends it for `az login --service-principal -u app -p <key>`. */
const application = {
  grant_type: "client_credentials",
  client_id: "app",
  client_secret: adminKey,
  scope: `${base}//.default`,
  claims: '{"access_token": {"xms_cc": {"values": ["CP1"]}}}',
};

function claimsOf(token: unknown): Record<string, unknown> {
  const body = String(token).split(".")[1] ?? "";
  return JSON.parse(Buffer.from(body, "base64url").toString()) as Record<string, unknown>;
}

test("a cloud is described with what both generations of the CLI read, as one object", async () => {
  const { ask } = openRoutes();
  for (const version of ["2015-01-01", "2022-09-01", undefined]) {
    const query = { "api-version": version };
    const { status, json } = await ask("GET", "/metadata/endpoints", { query });
    assert.equal(status, 200);
    const { authentication, suffixes, ...rest } = json;
    assert.partialDeepStrictEqual(authentication, {
      loginEndpoint: `${base}/adfs`,
      audiences: [base],
    });
    const names = ["name", "resourceManager", "graphEndpoint", "graphAudience", "gallery", "batch"];
    for (const name of [...names, "media", "sqlManagement", "vmImageAliasDoc"]) {
      assert.equal(typeof rest[name], "string", name);
    }
    for (const name of ["storage", "keyVaultDns", "sqlServerHostname"]) {
      assert.equal(typeof (suffixes as Record<string, unknown>)[name], "string", name);
    }
    assert.equal(rest.resourceManager, base);
  }
});

test("the authority says where tokens are, by the name it was called", async () => {
  const { ask } = openRoutes();
  for (const path of ["/adfs", "/adfs/adfs"]) {
    const headers = { host: "127.0.0.1:9" };
    const reply = await ask("GET", `${path}/.well-known/openid-configuration`, { headers });
    assert.partialDeepStrictEqual(reply.json, {
      issuer: "https://127.0.0.1:9/adfs",
      authorization_endpoint: "https://127.0.0.1:9/adfs/oauth2/authorize",
      token_endpoint: "https://127.0.0.1:9/adfs/oauth2/token",
      jwks_uri: "https://127.0.0.1:9/adfs/discovery/keys",
    });
  }
  assert.deepEqual((await ask("GET", "/adfs/discovery/keys")).json, { keys: [] });
});

test("under the id of any tenant the authority is described as Entra ID's", async () => {
  const { ask, tokens } = openRoutes();
  const params = { tenant: "contoso.example" };
  const wellKnown = "/:tenant/v2.0/.well-known/openid-configuration";
  const { json } = await ask("GET", wellKnown, { params });
  assert.partialDeepStrictEqual(json, {
    issuer: `${base}/contoso.example/v2.0`,
    token_endpoint: `${base}/contoso.example/oauth2/v2.0/token`,
    jwks_uri: `${base}/contoso.example/discovery/v2.0/keys`,
  });
  assert.deepEqual((await ask("GET", "/:tenant/discovery/v2.0/keys", { params })).json.keys, []);
  const body = Buffer.from(new URLSearchParams(application).toString());
  const granted = await ask("POST", "/:tenant/oauth2/v2.0/token", { params, body });
  assert.equal(await tokens.whyNoAdmin(String(granted.json.access_token)), null);
});

test("an application signs in with the admin key as its secret, under any name", async () => {
  const { signIn, tokens, facts } = openRoutes();
  const { status, headers, json } = await signIn(application);
  assert.equal(status, 200);
  assert.equal(headers?.["cache-control"], "no-store");
  assert.equal(json.token_type, "Bearer");
  assert.equal(json.expires_in, 3600);
  assert.equal(json.id_token, undefined);
  assert.equal(await tokens.whyNoAdmin(String(json.access_token)), null);
  const { iss, aud, tid, sub, appid } = claimsOf(json.access_token);
  assert.deepEqual(
    { iss, aud, tid, sub, appid },
    { iss: `${base}/adfs`, aud: base, tid: tenantId, sub: "app", appid: "app" },
  );
  const told = { client: "app", user: null, remote: "127.0.0.1" };
  assert.deepEqual(facts, [["signin.granted", told]]);
});

test("the audience is what was asked for, in either way of asking", async () => {
  const { signIn } = openRoutes();
  const audience = async (form: Readonly<Record<string, string>>) => {
    const { scope: _, ...rest } = application;
    return claimsOf((await signIn({ ...rest, ...form })).json.access_token).aud;
  };
  assert.equal(await audience({ resource: "https://x" }), "https://x");
  assert.equal(await audience({ scope: "openid https://y/.default" }), "https://y");
  assert.equal(await audience({}), base);
});

test("a person signs in with the admin key as password, and is told who they are", async () => {
  const { signIn, tokens } = openRoutes();
  const person = { username: "me@local", password: adminKey, client_id: "the-cli" };
  const { status, json } = await signIn({ grant_type: "password", scope: "openid", ...person });
  assert.equal(status, 200);
  assert.equal(await tokens.whyNoAdmin(String(json.access_token)), null);
  assert.notEqual(await tokens.whyNoAdmin(String(json.id_token)), null);
  const { aud, sub, upn, tid } = claimsOf(json.id_token);
  assert.deepEqual(
    { aud, sub, upn, tid },
    { aud: "the-cli", sub: "me@local", upn: "me@local", tid: tenantId },
  );
});

test("the secret may stand in the header, and a plus sign need not be encoded", async () => {
  const { signIn } = openRoutes();
  const { client_secret: _, ...rest } = application;
  const authorization = `Basic ${Buffer.from(`app:${adminKey}`).toString("base64")}`;
  assert.equal((await signIn(rest, { authorization })).status, 200);
  const blank = { ...application, client_secret: adminKey.replaceAll("+", " ") };
  assert.equal((await signIn(blank)).status, 200);
});

test("what cannot be granted is refused as OAuth says, without the secret", async () => {
  const { signIn, facts } = openRoutes();
  const { grant_type: _, ...kindless } = application;
  const wrong = { ...application, client_secret: "s3cret" };
  const table: readonly (readonly [Readonly<Record<string, string>>, number, string])[] = [
    [wrong, 401, "invalid_client"],
    [{ ...wrong, client_secret: "" }, 401, "invalid_client"],
    [{ grant_type: "password", username: "me", password: "s3cret" }, 400, "invalid_grant"],
    [{ grant_type: "password", client_secret: adminKey }, 400, "invalid_grant"],
    [kindless, 400, "invalid_request"],
    [{}, 400, "invalid_request"],
    [{ ...application, grant_type: "refresh_token" }, 400, "unsupported_grant_type"],
  ];
  for (const [form, status, error] of table) {
    const reply = await signIn(form);
    assert.deepEqual([reply.status, reply.json.error], [status, error]);
    assert.match(String(reply.json.error_description), /\.$/);
    assert.doesNotMatch(reply.body ?? "", /s3cret/);
  }
  assert.ok(facts.every(([name]) => name === "signin.refused"));
  assert.doesNotMatch(JSON.stringify(facts), /s3cret/);
});

test("the tenant is shown to whoever has signed in, and to nobody else", async () => {
  const { ask, signIn } = openRoutes();
  const { json } = await signIn(application);
  const authorization = `Bearer ${json.access_token}`;
  const { value } = (await ask("GET", "/tenants", { headers: { authorization } })).json;
  assert.partialDeepStrictEqual(value, [{ id: `/tenants/${tenantId}`, tenantId }]);
  for (const headers of [
    {},
    { authorization: "Bearer x" },
    { authorization: `Basic ${adminKey}` },
  ]) {
    await assert.rejects(ask("GET", "/tenants", { headers }), (error) => {
      assert.ok(error instanceof Refusal);
      return error.code === "Unauthorized";
    });
  }
});
