// The portal's files: the page at `/` and at every address below `/portal/` that is not a file of
// its own, so that a page of the portal can be bookmarked and reloaded. Without a session the
// request is redirected to the sign-in page.
//
// Only our own scripts and styles may run in the page: the Content-Security-Policy allows nothing
// else, and styles made at run time have a nonce that is new with every answer.

import { Refusal } from "../core/refusal.ts";
import type { Reply, Request, Route } from "../core/request.ts";
import { signinPath } from "./signin/session.ts";

export interface PortalDeps {
  readonly assets: {
    find(name: string, accepts: string): PortalAsset | null;
  };
  /** Never the same twice. */
  readonly makeNonce: () => string;
  readonly isSignedIn: (request: Request) => Promise<boolean>;
}

interface PortalAsset {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly encoding: string | null;
}

const yearSeconds = 31_536_000;

export function portalRoutes(deps: PortalDeps): Route[] {
  const page = (request: Request) => servePage(deps, request);
  return [
    { method: "GET", path: "/", handle: page },
    { method: "GET", path: "/portal", handle: page },
    {
      method: "GET",
      path: "/portal/*",
      handle(request) {
        const name = request.params["*"] ?? "";
        const isFile = name.startsWith("assets/") || name === "licenses.md";
        return isFile ? serveFile(deps, request, name) : page(request);
      },
    },
  ];
}

async function servePage(deps: PortalDeps, request: Request): Promise<Reply> {
  if (!(await deps.isSignedIn(request))) {
    const location = signinPath(addressOf(request));
    return { status: 303, headers: { location, "cache-control": "no-store" } };
  }
  const page = deps.assets.find("index.html", "");
  if (page === null) {
    const words = "The portal has not been built: run `npm run portal` where Posthorn is installed";
    throw new Refusal("NotFound", `${words}, and start it again.`);
  }
  const nonce = deps.makeNonce().replaceAll(/[^A-Za-z0-9+/=]/g, "");
  return {
    status: 200,
    headers: {
      "content-type": page.contentType,
      "cache-control": "no-store",
      "content-security-policy": policyWith(nonce),
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
    },
    body: new TextDecoder().decode(page.bytes).replaceAll("__NONCE__", nonce),
  };
}

/** As it stands in the browser. */
function addressOf({ params, query }: Request): string {
  const names = params["*"]?.split("/").map(encodeURIComponent).join("/");
  if (names === undefined) return "/";
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const search = new URLSearchParams(Object.fromEntries(given)).toString();
  return `/portal/${names}${search === "" ? "" : `?${search}`}`;
}

function policyWith(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Their names contain a hash of their content: it never changes under one name. */
async function serveFile(deps: PortalDeps, request: Request, name: string): Promise<Reply> {
  if (!(await deps.isSignedIn(request))) {
    throw new Refusal("Unauthorized", "Sign in first, with a link from the broker.");
  }
  const accepts = (request.headers["accept-encoding"] ?? "").toString();
  const asset = deps.assets.find(name, accepts);
  if (asset === null) throw new Refusal("NotFound", `The portal has no file ${name}.`);
  const lastsSeconds = name.startsWith("assets/") ? yearSeconds : 0;
  return {
    status: 200,
    headers: {
      "content-type": asset.contentType,
      "cache-control": `private, max-age=${lastsSeconds}${lastsSeconds > 0 ? ", immutable" : ""}`,
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
      ...(asset.encoding !== null && { "content-encoding": asset.encoding }),
    },
    bytes: asset.bytes,
  };
}
