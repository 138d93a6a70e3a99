// Signing in as the Azure CLI and the SDKs do it: they ask the resource manager where to sign in,
// ask there for the token endpoint, and exchange a secret for a token. The secret is the admin key,
// whatever the name of the user or application.
//
// The authority that `az` is given ends in `/adfs` because for any other unknown host the sign-in
// library first asks Microsoft whether it is one of theirs. Credentials of the SDKs are told to
// leave that question out, and ask under the id of a tenant, which may be any. All URLs have the
// host that the client used. Deliberately absent: signing in with a browser, refresh tokens.

import type { Log } from "../../core/ports.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import { baseUrlOf } from "../../core/request.ts";
import { shownAs } from "../../core/text/wording.ts";
import { type AdminLock, requireAdmin } from "./admin-lock.ts";

/** The only tenant. */
export const tenantId = "00000000-0000-0000-0000-000000000001";

export interface SigninDeps {
  /** Whether this secret may have a token. */
  readonly isAdminKey: (secret: string) => boolean;
  readonly issue: (
    kind: "access" | "id",
    claims: Readonly<Record<string, string>>,
  ) => Promise<string>;
  readonly tokenLifeMs: number;
  /** Who may see admin routes. */
  readonly lock: AdminLock;
  readonly log: Log;
}

export function signinRoutes(deps: SigninDeps): Route[] {
  const discovery = (asked: Request) => json(200, openidOf(baseUrlOf(asked)));
  const tenantDiscovery = (asked: Request) =>
    json(200, tenantOpenidOf(baseUrlOf(asked), asked.params.tenant ?? tenantId));
  const noKeys = () => json(200, { keys: [] });
  const wellKnown = "/.well-known/openid-configuration";
  return [
    {
      method: "GET",
      path: "/metadata/endpoints",
      handle: (asked) => json(200, endpointsOf(baseUrlOf(asked))),
    },
    { method: "GET", path: `/adfs${wellKnown}`, handle: discovery },
    // Where the tenant is not a GUID, the CLI looks for it here.
    { method: "GET", path: `/adfs/adfs${wellKnown}`, handle: discovery },
    // Our tokens are for ourselves: there is no public key.
    { method: "GET", path: "/adfs/discovery/keys", handle: noKeys },
    { method: "POST", path: "/adfs/oauth2/token", handle: (asked) => grant(deps, asked) },
    { method: "GET", path: `/:tenant/v2.0${wellKnown}`, handle: tenantDiscovery },
    { method: "GET", path: "/:tenant/discovery/v2.0/keys", handle: noKeys },
    { method: "POST", path: "/:tenant/oauth2/v2.0/token", handle: (asked) => grant(deps, asked) },
    ...requireAdmin(
      [{ method: "GET", path: "/tenants", handle: () => json(200, { value: [tenant] }) }],
      deps.lock,
    ),
  ];
}

const tenant = {
  id: `/tenants/${tenantId}`,
  tenantId,
  displayName: "Posthorn",
  defaultDomain: "posthorn.local",
  domains: ["posthorn.local"],
  tenantCategory: "Home",
};

/** What two generations of the CLI read from a cloud, as one: each ignores the other's members. */
function endpointsOf(base: string) {
  return {
    name: "Posthorn",
    portal: `${base}/`,
    authentication: {
      loginEndpoint: `${base}/adfs`,
      audiences: [base],
      tenant: "adfs",
      identityProvider: "ADFS",
    },
    resourceManager: base,
    graph: base,
    graphAudience: base,
    graphEndpoint: base,
    microsoftGraphResourceId: base,
    gallery: base,
    galleryEndpoint: base,
    portalEndpoint: `${base}/`,
    batch: base,
    media: base,
    sqlManagement: base,
    vmImageAliasDoc: base,
    // None of these exist, and the CLI requires a text for each.
    suffixes: {
      storage: "localhost",
      keyVaultDns: ".localhost",
      sqlServerHostname: ".localhost",
      acrLoginServer: ".localhost",
    },
  };
}

function openidOf(base: string) {
  const adfs = `${base}/adfs`;
  return {
    issuer: adfs,
    authorization_endpoint: `${adfs}/oauth2/authorize`,
    token_endpoint: `${adfs}/oauth2/token`,
    jwks_uri: `${adfs}/discovery/keys`,
    ...openidTraits,
  };
}

/** As Entra ID describes itself to clients that sign in under a tenant. */
function tenantOpenidOf(base: string, tenant: string) {
  const authority = `${base}/${encodeURIComponent(tenant)}`;
  return {
    issuer: `${authority}/v2.0`,
    authorization_endpoint: `${authority}/oauth2/v2.0/authorize`,
    token_endpoint: `${authority}/oauth2/v2.0/token`,
    jwks_uri: `${authority}/discovery/v2.0/keys`,
    ...openidTraits,
  };
}

const openidTraits = {
  grant_types_supported: ["client_credentials", "password"],
  token_endpoint_auth_methods_supported: ["client_secret_post", "client_secret_basic"],
  response_types_supported: ["token"],
  response_modes_supported: ["form_post"],
  scopes_supported: ["openid"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["HS256"],
};

/** https://www.rfc-editor.org/rfc/rfc6749#section-4.4, and 4.3 for people. */
async function grant(deps: SigninDeps, request: Request): Promise<Reply> {
  const form = new URLSearchParams(Buffer.from(request.body).toString("utf8"));
  const kind = form.get("grant_type");
  const { client, secret } = clientOf(request, form);
  switch (kind) {
    case "client_credentials":
      if (isKey(deps, secret)) return await give(deps, request, form, { client });
      return deny(deps, client, {
        status: 401,
        error: "invalid_client",
        why: "The client secret is not the admin key of this broker.",
      });
    case "password":
      if (isKey(deps, form.get("password") ?? "")) {
        return await give(deps, request, form, { client, user: form.get("username") ?? "" });
      }
      return deny(deps, client, {
        status: 400,
        error: "invalid_grant",
        why: "The password is not the admin key of this broker.",
      });
    case null:
      return deny(deps, client, {
        status: 400,
        error: "invalid_request",
        why: "grant_type must be given, as a form.",
      });
    default:
      return deny(deps, client, {
        status: 400,
        error: "unsupported_grant_type",
        why: `grant_type must be client_credentials or password, and is ${shownAs(kind)}.`,
      });
  }
}

/** In the form or, as the standard prefers, in the header. */
function clientOf({ headers }: Request, form: URLSearchParams) {
  const [, basic] = /^basic +(\S+)$/i.exec((headers.authorization ?? "").toString()) ?? [];
  if (basic === undefined) {
    return { client: form.get("client_id") ?? "", secret: form.get("client_secret") ?? "" };
  }
  const [client = "", ...rest] = Buffer.from(basic, "base64").toString("utf8").split(":");
  return { client, secret: rest.join(":") };
}

/** Keys are often base64, and an unencoded plus sign is a blank in a form. */
function isKey({ isAdminKey }: SigninDeps, secret: string): boolean {
  return isAdminKey(secret) || isAdminKey(secret.replaceAll(" ", "+"));
}

async function give(
  deps: SigninDeps,
  request: Request,
  form: URLSearchParams,
  { client, user }: { readonly client: string; readonly user?: string },
): Promise<Reply> {
  const base = baseUrlOf(request);
  const about = { iss: `${base}/adfs`, tid: tenantId, sub: user ?? client, oid: user ?? client };
  const audience = resourceOf(form) ?? base;
  const token = await deps.issue("access", { ...about, aud: audience, appid: client });
  const seconds = deps.tokenLifeMs / 1000;
  const who = { aud: client, upn: user ?? "", unique_name: user ?? "" };
  const whom = { client: told(client), user: user === undefined ? null : told(user) };
  deps.log.fact("info", "signin.granted", { ...whom, remote: request.remote });
  return json(200, {
    token_type: "Bearer",
    expires_in: seconds,
    ext_expires_in: seconds,
    resource: audience,
    access_token: token,
    ...(user === undefined ? {} : { id_token: await deps.issue("id", { ...about, ...who }) }),
  });
}

/** Older clients name a resource, newer ones a scope of it: `https://localhost:4438//.default`. */
function resourceOf(form: URLSearchParams): string | null {
  const scopes = form.get("scope")?.split(" ") ?? [];
  const scope = scopes.find((each) => each.endsWith("/.default"));
  return form.get("resource") || scope?.replace(/\/+\.default$/, "") || null;
}

/** Names may be anything that a client sends. */
function told(name: string): string {
  return name.slice(0, 100);
}

function deny(
  { log }: SigninDeps,
  client: string,
  { status, error, why }: { readonly status: number; readonly error: string; readonly why: string },
): Reply {
  log.fact("warn", "signin.refused", { client: told(client), error });
  const isGuess = error === "invalid_grant" || error === "invalid_client";
  return { ...json(status, { error, error_description: why }), isGuess };
}

function json(status: number, body: object): Reply {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
    body: JSON.stringify(body),
  };
}
