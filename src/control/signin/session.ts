// Signing in to the portal: a link that works once, or the admin key, is exchanged for a cookie.
//
// The cookie is HttpOnly and SameSite=Strict; its name contains the port, because a browser sends
// the same cookies to all brokers on one machine. The answer to a link is a page that forwards, not
// a redirect: a browser that came from another site would not send the new cookie with it.

import { hash } from "node:crypto";
import { whyAstray } from "../../core/access/foreign-page.ts";
import type { Log } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import type { Reply, Request, RequestHead, Route } from "../../core/request.ts";

/** Who is signed in; see runtime/access/sessions.ts. */
export interface SessionKeeper {
  invite(): Promise<string>;
  enter(token: string): Promise<string | null>;
  open(): Promise<string>;
  isOpen(name: string): Promise<boolean>;
  end(name: string): Promise<void>;
}

export interface SessionDeps {
  readonly sessions: SessionKeeper;
  readonly lifeMs: number;
  readonly isAdminKey: (key: string) => boolean;
  /** False: no key is required, and there is nothing to sign in to. */
  readonly auth: boolean;
  readonly isLocal: boolean;
  readonly log: Log;
}

/** The target of a link that the broker prints. */
export async function linkOf({ sessions, auth }: SessionDeps, baseUrl: string): Promise<string> {
  return auth ? `${baseUrl}/signin?token=${await sessions.invite()}` : `${baseUrl}/`;
}

export async function isSignedIn(deps: SessionDeps, request: RequestHead): Promise<boolean> {
  if (!deps.auth) return true;
  const name = cookieIn(request);
  return name !== null && (await deps.sessions.isOpen(name));
}

export function sessionRoutes(deps: SessionDeps): Route[] {
  const headers = pageHeaders;
  return [
    { method: "GET", path: "/signin", headers, handle: (asked) => enterByLink(deps, asked) },
    { method: "POST", path: "/signin", headers, handle: (asked) => enterByKey(deps, asked) },
    { method: "POST", path: "/signout", headers, handle: (asked) => leave(deps, asked) },
  ];
}

async function enterByLink(deps: SessionDeps, asked: Request): Promise<Reply> {
  const { token } = asked.query;
  const to = wayOn(asked.query.to);
  if (!deps.auth || (token === undefined && (await isSignedIn(deps, asked)))) return lead(to);
  if (token === undefined) return page(200, signinPage(null, to));
  const name = await deps.sessions.enter(token);
  if (name === null) {
    deps.log.fact("warn", "session.refused", { with: "link", remote: asked.remote });
    return page(401, signinPage("This link has been used, or is too old.", to));
  }
  deps.log.fact("info", "session.opened", { with: "link", remote: asked.remote });
  return page(200, leadingPage, cookie(asked, name, deps.lifeMs));
}

async function enterByKey(deps: SessionDeps, asked: Request): Promise<Reply> {
  refuseAstray(deps, asked);
  const form = new URLSearchParams(Buffer.from(asked.body).toString("utf8"));
  const to = wayOn(form.get("to") ?? undefined);
  if (!deps.auth) return lead(to);
  const key = form.get("key") ?? "";
  if (!deps.isAdminKey(key.trim())) {
    deps.log.fact("warn", "session.refused", { with: "key", remote: asked.remote });
    return page(401, signinPage("That is not the admin key of this broker.", to));
  }
  deps.log.fact("info", "session.opened", { with: "key", remote: asked.remote });
  return lead(to, cookie(asked, await deps.sessions.open(), deps.lifeMs));
}

async function leave(deps: SessionDeps, asked: Request): Promise<Reply> {
  refuseAstray(deps, asked);
  const name = cookieIn(asked);
  if (name !== null) await deps.sessions.end(name);
  deps.log.fact("info", "session.ended", { remote: asked.remote });
  return lead("/signin", cookie(asked, "", 0));
}

/** Refusal: Forbidden. */
function refuseAstray(deps: SessionDeps, asked: Request): void {
  const why = whyAstray(asked, deps);
  if (why !== null) throw new Refusal("Forbidden", why);
}

function cookieName({ headers, scheme }: RequestHead): string {
  const [, port] = /:(\d{1,5})$/.exec((headers.host ?? "").toString()) ?? [];
  return `posthorn_${port ?? (scheme === "https" ? "443" : "80")}`;
}

function cookieIn(asked: RequestHead): string | null {
  const wanted = `${cookieName(asked)}=`;
  const pairs = (asked.headers.cookie ?? "").toString().split(";");
  const found = pairs.map((pair) => pair.trim()).find((pair) => pair.startsWith(wanted));
  return found === undefined ? null : found.slice(wanted.length);
}

function cookie(asked: Request, name: string, lifeMs: number): Readonly<Record<string, string>> {
  const terms = `Path=/; HttpOnly; SameSite=Strict; Max-Age=${Math.floor(lifeMs / 1000)}`;
  const secure = asked.scheme === "https" ? "; Secure" : "";
  return { "set-cookie": `${cookieName(asked)}=${name}; ${terms}${secure}` };
}

function lead(to: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 303, headers: { location: to, ...headers } };
}

function page(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { "content-type": "text/html; charset=utf-8", ...headers }, body };
}

const style = `
:root{color-scheme:light dark;font:14px/1.45 "Segoe UI",system-ui,sans-serif;
--page:#fafafa;--card:#fff;--line:#e0e0e0;--text:#242424;--quiet:#616161;--field:#fff;--edge:#8a8a8a}
@media (prefers-color-scheme:dark){:root{
--page:#1f1f1f;--card:#292929;--line:#525252;--text:#fff;--quiet:#d6d6d6;--field:#1f1f1f;--edge:#a6a6a6}}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--page);color:var(--text)}
main{box-sizing:border-box;width:min(26rem,calc(100vw - 2rem));padding:2rem;background:var(--card);
border:1px solid var(--line);border-radius:8px}
svg{display:block;width:44px;height:44px;border-radius:10px}
h1{font-size:1.5rem;line-height:2rem;font-weight:600;margin:1.25rem 0 .25rem}
p{margin:0 0 .75rem;color:var(--quiet)}
label{display:block;margin:1.25rem 0 .25rem}
input,button{font:inherit;box-sizing:border-box;width:100%;padding:.5rem .75rem;border-radius:4px}
input{border:1px solid var(--line);border-bottom-color:var(--edge);background:var(--field);color:inherit}
button{margin-top:1rem;border:0;background:#0f6cbd;color:#fff;font-weight:600;cursor:pointer}
button:hover{background:#115ea3}
:focus-visible{outline:2px solid #0f6cbd;outline-offset:2px}
.wrong{color:var(--text);border-left:3px solid #c50f1f;padding-left:.75rem}
code{font-family:Consolas,monospace;color:var(--text)}
a{color:inherit}
`;

/** The mark of the portal, drawn in the page: these pages load nothing. */
const mark =
  '<svg aria-hidden="true" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Posthorn</title><rect width="32" height="32" rx="7" fill="#0f6cbd"/><g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"><circle cx="13" cy="16" r="6.2"/><path d="M13 9.8h6.5l6-3.6v16.6l-4.4-2.6"/></g><circle cx="13" cy="16" r="1.8" fill="#ffd35a"/></svg>';

/** These pages have one style and nothing else: no script, no image, no frame. */
const pageHeaders = {
  "content-security-policy":
    `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; ` +
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

function html({ head, main }: { readonly head: string; readonly main: string }): string {
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Posthorn</title>' +
    `<meta name="viewport" content="width=device-width">${head}<style>${style}</style></head>` +
    `<body><main>${mark}${main}</main></body></html>`
  );
}

const leadingPage = html({
  head: '<meta http-equiv="refresh" content="0;url=/">',
  main: '<h1>Signed in</h1><p><a href="/">Open the portal</a></p>',
});

/** Where to after signing in: a page of the portal, and nothing else. */
function wayOn(to: string | undefined): string {
  return to !== undefined && to.length <= wayOnMax && portalPage.test(to) ? to : "/";
}

/** Characters that need no escape in an attribute, either. */
const portalPage = /^\/portal(?:\/[\w.~%:@!$()*+,;=-]*)*(?:\?[\w.~%:@!$()*+,;=/?&-]*)?$/;
const wayOnMax = 2_000;

/** Where an address of the portal leads for whoever has not signed in. */
export function signinPath(to: string): string {
  const way = wayOn(to);
  return way === "/" ? "/signin" : `/signin?to=${encodeURIComponent(way)}`;
}

function signinPage(wrong: string | null, to: string): string {
  const said = wrong === null ? "" : `<p class="wrong" role="alert">${wrong}</p>`;
  return html({
    head: "",
    main:
      `<h1>Sign in to Posthorn</h1>${said}` +
      "<p>With the admin key, which is in the data folder in <code>admin.key</code>; or run " +
      "<code>posthorn portal</code> on the broker's machine for a link that works once.</p>" +
      '<form method="post" action="/signin"><label for="key">Admin key</label>' +
      `<input type="hidden" name="to" value="${to.replaceAll("&", "&amp;")}">` +
      '<input id="key" name="key" type="password" autocomplete="current-password" required ' +
      'autofocus><button type="submit">Sign in</button></form>',
  });
}
