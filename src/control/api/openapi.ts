// The OpenAPI 3.1 description of Posthorn's own API, and the same as a page, generated from the
// table of operations. Publishing and Azure Resource Manager are documented by Microsoft.

import { hash } from "node:crypto";
import { type Operation, operations } from "../../core/api/operations.ts";
import { type JsonSchema, text } from "../../core/api/schema.ts";
import { ErrorView } from "../../core/api/views.ts";
import type { Route } from "../../core/request.ts";
import { reply } from "../arm/reply.ts";
import { apiRoot } from "./serve.ts";

type Components = Record<string, JsonSchema>;

const table = Object.entries<Operation>(operations);

export function openapi(version: string): object {
  const schemas: Components = {};
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, operation] of table) {
    const path = apiRoot + operation.path;
    const described = describe(name, operation, schemas);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Posthorn",
      version,
      description:
        "Posthorn's own API: looking and steering. Topics and subscriptions are written through " +
        "Azure Resource Manager's routes, events are published as to Azure Event Grid. In a " +
        "request, a member that is null is as good as left out.",
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

function describe(name: string, operation: Operation, components: Components): object {
  const { path, summary, query, body, answer, contentType, goesOn } = operation;
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param);
  const json = (schema: JsonSchema) => ({ "application/json": { schema } });
  const answered =
    contentType === undefined
      ? json(answer.describe(components))
      : { [contentType.replace(/;.*/, "")]: { schema: answer.describe(components) } };
  return {
    operationId: name,
    summary,
    parameters: [
      ...params.map((param) => ({
        ...{ name: param, in: "path", required: true, schema: text.describe(components) },
      })),
      ...Object.entries(query?.members ?? {}).map(([param, schema]) => ({
        ...{ name: param, in: "query", schema: schema.describe(components), explode: false },
      })),
    ],
    ...(body && { requestBody: { content: json(body.describe(components)) } }),
    responses: {
      "200": { description: "Done.", content: answered },
      ...(goesOn && { "202": { description: "Begun; see location.", content: answered } }),
      default: {
        description: "Refused, with a message.",
        content: json(ErrorView.describe(components)),
      },
    },
  };
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

/** They show nothing of this broker, and so need no key. */
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
  const schemas: Components = {};
  const sections = table.map(([, operation]) => section(operation, schemas)).join("");
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Posthorn API</title>' +
    `<meta name="viewport" content="width=device-width"><style>${style}</style></head><body>` +
    `<main><h1>Posthorn ${escaped(version)}: the API</h1>` +
    "<p>Everything the portal does, a script can do. Send the admin key as " +
    "<code>Authorization: Bearer …</code>. Refusals say what is wrong and what would be right. " +
    'The same for programs: <a href="/openapi.json">openapi.json</a>.</p>' +
    `${sections}<h1>Shapes</h1>` +
    `${Object.entries(schemas).map(shapeSection).join("")}</main></body></html>`
  );
}

function section(operation: Operation, components: Components): string {
  const { method, path, summary, query, body, answer } = operation;
  const names = Object.keys(query?.members ?? {});
  const url = escaped(apiRoot + path + (names.length === 0 ? "" : `?${names.join("&")}`));
  const taken = body === undefined ? "" : `takes ${link(body.describe(components))}, `;
  return (
    `<h2><span class="method">${method}</span> <code>${url}</code></h2>` +
    `<p>${escaped(summary)}: ${taken}gives ${link(answer.describe(components))}.</p>`
  );
}

/** A shape by its name, where it has one. */
function link(schema: JsonSchema): string {
  const found = /"\$ref":"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(schema));
  const name = found?.[1];
  if (name === undefined) return "JSON";
  return `<a href="#${name}">${name}</a>${schema.$ref === undefined ? ", several" : ""}`;
}

function shapeSection([name, schema]: readonly [string, JsonSchema]): string {
  const shown = escaped(JSON.stringify(schema, null, 2));
  return `<h2 id="${name}">${name}</h2><details><summary>Schema</summary><pre>${shown}</pre></details>`;
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
