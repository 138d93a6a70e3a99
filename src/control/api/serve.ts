// The table of operations, served: one handler for each, or api.ts does not compile. Path, query
// and body of a request are checked against the table before its handler sees them.

import { type Operation, type Operations, operations } from "../../core/api/operations.ts";
import { checkQuery, type Infer, object, textOf, wholeRequest } from "../../core/api/schema.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import { readValue } from "../arm/body.ts";
import { reply } from "../arm/reply.ts";

type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsOf<Rest>
  : object;

/** The checked request; an operation without query or body has none. */
export interface Asked<O extends Operation> {
  readonly params: ParamsOf<O["path"]>;
  readonly query: O extends { readonly query: infer Q } ? Infer<Q> : object;
  readonly body: O extends { readonly body: infer B } ? Infer<B> : object;
  readonly request: Request;
}

/** The value to show; or a whole reply if it is not JSON. */
type Answer<O extends Operation> = O extends { readonly contentType: string }
  ? Reply
  : Infer<O["answer"]> | (O extends { readonly goesOn: true } ? Begun<Infer<O["answer"]>> : never);

type Handler<O extends Operation> = (asked: Asked<O>) => Answer<O> | Promise<Answer<O>>;

export type Handlers = { readonly [K in keyof Operations]: Handler<Operations[K]> };

/** The answer to something that has only begun; `location` is where to follow it. */
export class Begun<T> {
  readonly value: T;
  readonly location: string;

  constructor(value: T, location: string) {
    this.value = value;
    this.location = location;
  }
}

export const apiRoot = "/api/v1";

/** With every answer: it must not be cached. */
const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const nothing = object({});
const param = textOf({ min: 1, max: 4_096 });

/** The routes of the operations that have a handler here. */
export function apiRoutes(handlers: Partial<Handlers>): Route[] {
  return Object.entries(handlers).map(([name, handler]) =>
    routeOf(operations[name as keyof Operations], handler as Handler<Operation>),
  );
}

function routeOf(operation: Operation, handler: Handler<Operation>): Route {
  const { method, path, contentType } = operation;
  return {
    method,
    path: apiRoot + path.replace(/\{(\w+)\}/g, ":$1"),
    headers: contentType === undefined ? headers : { ...headers, "content-type": contentType },
    async handle(request) {
      const answer = await handler(askedIn(operation, request));
      if (contentType !== undefined) return answer as Reply;
      if (!(answer instanceof Begun)) return reply(200, answer as object);
      return reply(202, answer.value as object, { location: answer.location });
    },
  };
}

/** Refusals: InvalidSetting, InputJsonInvalid, PayloadTooLarge. */
function askedIn({ method, query, body }: Operation, request: Request): Asked<Operation> {
  for (const [name, value] of Object.entries(request.params)) param.check(value, name);
  return {
    params: request.params,
    query: checkQuery(query ?? nothing, request.query),
    body: method === "GET" ? {} : (body ?? nothing).check(readValue(request), wholeRequest),
    request,
  };
}
