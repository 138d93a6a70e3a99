// The description of our own API in the form of OpenAPI 3.1, and the same as a page to read. What
// is not ours is described by Microsoft: publishing, and Azure Resource Manager.

import { hash } from "node:crypto";
import type { Route } from "../../core/request.ts";
import { reply } from "../arm/reply.ts";
import { schemas } from "./schemas.ts";
import { list, maybe, number, page, record, ref, type Schema, text, whole } from "./shape.ts";

export interface Operation {
  readonly method: Route["method"];
  /** Below `/api/v1`, with `{name}` for what varies. */
  readonly path: string;
  readonly summary: string;
  /** Names in the query, all of which may be left out. */
  readonly query?: readonly string[];
  readonly takes?: Schema;
  readonly gives: Schema;
  /** Where it is no JSON. */
  readonly contentType?: string;
  /** It may go on after the answer; how far it is, `location` tells. */
  readonly goesOn?: boolean;
}

const subscription = "/topics/{topic}/subscriptions/{name}";
const ofDomain = ["domainTopic"];
const letters = [
  ...["account", "container", "topic", "subscription", "reason", "outcome", "type", "from", "to"],
  "redriven",
];
const steering = record<{ endpoint: string; because?: string }>({
  endpoint: text,
  because: maybe(text),
});

export const operations: readonly Operation[] = [
  { method: "GET", path: "/overview", summary: "How things are now", gives: ref("Overview") },
  {
    method: "GET",
    path: "/history",
    summary: "What was counted over the last minutes, for charts",
    query: ["minutes"],
    gives: ref("History"),
  },
  {
    method: "GET",
    path: "/live",
    summary: "What happens, as server-sent events",
    query: ["kinds", "topic", "subscription"],
    gives: text,
    contentType: "text/event-stream",
  },
  { method: "GET", path: "/topics", summary: "Topics and domains", gives: page(ref("Topic")) },
  {
    method: "GET",
    path: "/topics/{topic}/subscriptions",
    summary: "The subscriptions of a topic",
    gives: page(ref("Subscription")),
  },
  {
    method: "GET",
    path: "/subscriptions",
    summary: "All subscriptions",
    gives: page(ref("Subscription")),
  },
  {
    method: "GET",
    path: subscription,
    summary: "A subscription, what waits for it and how its endpoint is",
    query: ofDomain,
    gives: ref("Subscription"),
  },
  {
    method: "POST",
    path: `${subscription}/pause`,
    summary: "Hold everything back; nothing is dropped and nothing grows older",
    query: ofDomain,
    gives: ref("Subscription"),
  },
  {
    method: "POST",
    path: `${subscription}/resume`,
    summary: "Let everything go on",
    query: ofDomain,
    gives: ref("Subscription"),
  },
  {
    method: "POST",
    path: `${subscription}/drain`,
    summary: "Let what waits go out at a chosen rate, then run as usual",
    query: ofDomain,
    takes: record<{ perSecond: number }>({ perSecond: number }),
    gives: ref("Subscription"),
  },
  {
    method: "POST",
    path: `${subscription}/skip`,
    summary: "Drop everything that waits now",
    query: ofDomain,
    gives: record<{ skipped: number }>({ skipped: whole }),
  },
  {
    method: "POST",
    path: `${subscription}/hasten`,
    summary: "Try now what waits for its next attempt, or one event of it",
    query: ofDomain,
    takes: record<{ event?: string }>({ event: maybe(text) }),
    gives: record<{ hastened: number }>({ hastened: whole }),
  },
  {
    method: "GET",
    path: `${subscription}/handshake`,
    summary: "The handshake with the webhook, with its exchange",
    query: ofDomain,
    gives: ref("Handshake"),
  },
  {
    method: "POST",
    path: `${subscription}/validate`,
    summary: "Ask the webhook again",
    query: ofDomain,
    gives: ref("Handshake"),
  },
  {
    method: "GET",
    path: `${subscription}/signing`,
    summary: "The secrets that deliveries are signed with, in clear",
    query: ofDomain,
    gives: ref("SigningSecrets"),
  },
  {
    method: "POST",
    path: `${subscription}/signing`,
    summary: "A new secret, with an overlap, or no signing any more",
    query: ofDomain,
    takes: ref("RotateSigning"),
    gives: ref("SigningSecrets"),
  },
  {
    method: "POST",
    path: "/topics/{topic}/explain",
    summary: "Would this event match? Clause by clause",
    takes: ref("ExplainFilters"),
    gives: list(ref("FilterVerdict")),
  },
  {
    method: "GET",
    path: "/events",
    summary: "Events, the newest first",
    query: [
      ...["id", "subject", "type", "topic", "subscription", "state", "from", "to"],
      ...["after", "limit"],
    ],
    gives: page(ref("EventSummary")),
  },
  {
    method: "GET",
    path: "/events/{id}",
    summary: "The whole story of one event",
    gives: ref("Story"),
  },
  { method: "GET", path: "/endpoints", summary: "Endpoints", gives: page(ref("Endpoint")) },
  {
    method: "POST",
    path: "/endpoints/close",
    summary: "Send nothing to an endpoint until it is opened",
    takes: steering,
    gives: ref("Endpoint"),
  },
  {
    method: "POST",
    path: "/endpoints/open",
    summary: "Send to an endpoint again, however it was",
    takes: steering,
    gives: ref("Endpoint"),
  },
  {
    method: "POST",
    path: "/endpoints/reset",
    summary: "Forget how an endpoint was",
    takes: steering,
    gives: ref("Endpoint"),
  },
  {
    method: "GET",
    path: "/dead-letters",
    summary: "Dead letters, the newest hour first",
    query: [...letters, "after", "limit"],
    gives: ref("DeadLetterPage"),
  },
  {
    method: "GET",
    path: "/dead-letters/groups",
    summary: "Dead letters counted by reason, outcome and subscription",
    query: letters,
    gives: list(ref("DeadLetterGroup")),
  },
  {
    method: "GET",
    path: "/dead-letters/{id}",
    summary: "One dead letter, with its record",
    gives: ref("DeadLetter"),
  },
  {
    method: "POST",
    path: "/redrives",
    summary: "Send dead letters again, or see what would be sent",
    takes: ref("RedriveOrder"),
    gives: ref("Redrive"),
    goesOn: true,
  },
  { method: "GET", path: "/redrives", summary: "Redrives", gives: page(ref("Redrive")) },
  {
    method: "GET",
    path: "/redrives/{id}",
    summary: "How far a redrive is",
    gives: ref("Redrive"),
  },
  { method: "DELETE", path: "/redrives/{id}", summary: "Stop a redrive", gives: ref("Redrive") },
  {
    method: "POST",
    path: "/simulate",
    summary: "What would become of an event if its endpoint were away",
    takes: ref("SimulateOrder"),
    gives: ref("Simulation"),
  },
  {
    method: "GET",
    path: "/settings",
    summary: "The settings in force and where each came from",
    gives: page(ref("Setting")),
  },
  { method: "GET", path: "/profiles", summary: "The profiles, as data", gives: list({}) },
  { method: "GET", path: "/backups", summary: "Backups", gives: page(ref("Backup")) },
  {
    method: "POST",
    path: "/backups",
    summary: "Copy the embedded store while it is in use",
    gives: ref("Backup"),
  },
  {
    method: "GET",
    path: "/backups/{name}",
    summary: "Download a backup",
    gives: { type: "string", format: "binary" },
    contentType: "application/vnd.sqlite3",
  },
  { method: "DELETE", path: "/backups/{name}", summary: "Remove a backup", gives: ref("Backup") },
  {
    method: "POST",
    path: "/links",
    summary: "A link that signs a browser in to the portal, once",
    gives: record<{ url: string }>({ url: text }),
  },
];

export function openapi(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const path = `/api/v1${operation.path}`;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Posthorn",
      version,
      description:
        "Posthorn's own API: looking and steering. Topics and subscriptions are written through " +
        "Azure Resource Manager's routes, events are published as to Azure Event Grid.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ adminKey: [] }],
    paths,
    components: {
      securitySchemes: {
        adminKey: {
          type: "http",
          scheme: "bearer",
          description: "The admin key, or a token issued for it; browsers use their session.",
        },
      },
      schemas,
    },
  };
}

function describe(operation: Operation): object {
  const { method, path, summary, query = [], takes, gives, contentType, goesOn } = operation;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const json = (schema: Schema) => ({ [contentType ?? "application/json"]: { schema } });
  return {
    operationId: operationId(method, path),
    summary,
    parameters: [
      ...names.map((name) => ({ name, in: "path", required: true, schema: text })),
      ...query.map((name) => ({ name, in: "query", schema: text })),
    ],
    ...(takes !== undefined && {
      requestBody: { content: { "application/json": { schema: takes } } },
    }),
    responses: {
      "200": { description: "Done.", content: json(gives) },
      ...(goesOn && { "202": { description: "Begun; see location.", content: json(gives) } }),
      default: {
        description: "Refused, in words.",
        content: { "application/json": { schema: ref("Error") } },
      },
    },
  };
}

/** `getTopicsSubscriptionsHandshake` */
function operationId(method: string, path: string): string {
  const parts = path.split("/").map((part) => part.replace(/[{}]/g, "").replace(/-(\w)/g, upper));
  const capital = (part: string) => part.charAt(0).toUpperCase() + part.slice(1);
  return `${method.toLowerCase()}${parts.map(capital).join("")}`;
}

function upper(_: string, letter: string): string {
  return letter.toUpperCase();
}

const style = `
:root{color-scheme:light dark;font:16px/1.5 "Segoe UI",system-ui,sans-serif}
body{margin:0 auto;max-width:60rem;padding:1rem 1.5rem 4rem}
h1{font-weight:600}h2{font-size:1rem;margin:2rem 0 0}
code,pre{font-family:Consolas,monospace;font-size:.9em}
pre{overflow:auto;background:color-mix(in srgb,CanvasText 8%,Canvas);padding:.75rem}
.method{display:inline-block;min-width:4.5rem;font-weight:700}
a{color:LinkText}
`;

const docsHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; ` +
    "frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options": "nosniff",
};

/** They tell nothing of this broker, and so need no key. */
export function descriptionRoutes(version: string): Route[] {
  return [
    { method: "GET", path: "/openapi.json", handle: () => reply(200, openapi(version)) },
    {
      method: "GET",
      path: "/docs",
      headers: docsHeaders,
      handle: () => ({ status: 200, body: docsPage(version) }),
    },
  ];
}

function docsPage(version: string): string {
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Posthorn API</title>' +
    `<meta name="viewport" content="width=device-width"><style>${style}</style></head><body>` +
    `<main><h1>Posthorn ${escaped(version)}: the API</h1>` +
    "<p>Everything the portal does, a script can do. Send the admin key as " +
    "<code>Authorization: Bearer …</code>. Refusals say what is wrong and what would be right. " +
    'The same for programs: <a href="/openapi.json">openapi.json</a>.</p>' +
    `${operations.map(section).join("")}<h1>Shapes</h1>` +
    `${Object.entries(schemas).map(shapeSection).join("")}</main></body></html>`
  );
}

function section({ method, path, summary, query = [], takes, gives }: Operation): string {
  const asked = query.length === 0 ? "" : `?${query.join("&")}`;
  const url = escaped(`/api/v1${path}${asked}`);
  const taken = takes === undefined ? "" : `takes ${link(takes)}, `;
  return (
    `<h2><span class="method">${method}</span> <code>${url}</code></h2>` +
    `<p>${escaped(summary)}: ${taken}gives ${link(gives)}.</p>`
  );
}

/** A shape by its name, where it has one. */
function link(schema: Schema): string {
  const found = /"\$ref":"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(schema));
  const name = found?.[1];
  if (name === undefined) return "JSON";
  return `<a href="#${name}">${name}</a>${schema.$ref === undefined ? ", several" : ""}`;
}

function shapeSection([name, schema]: readonly [string, Schema]): string {
  const shown = escaped(JSON.stringify(schema, null, 2));
  return `<h2 id="${name}">${name}</h2><details><summary>Schema</summary><pre>${shown}</pre></details>`;
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
