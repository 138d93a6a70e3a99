// Steering one subscription: pause, resume, drain, skip, and "try now". What each does is told in
// docs/delivery.md.

import { drainRange } from "../../core/delivery/flow.ts";
import type { Catalog } from "../../core/ports.ts";
import type { Reply, Request, Route } from "../../core/request.ts";
import type { Subscription } from "../../core/subscription.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { readMembers } from "../arm/body.ts";
import { reply } from "../arm/reply.ts";
import type { Operator } from "../operator.ts";
import { type CatalogDeps, viewOf } from "./catalog.ts";
import { apiHeaders, namedSubscription, subscriptionPath } from "./names.ts";

export interface FlowDeps extends CatalogDeps {
  readonly catalog: () => Catalog;
  readonly operator: Operator;
}

export function flowRoutes(deps: FlowDeps): Route[] {
  const { operator } = deps;
  const show = async (subscription: Subscription) => reply(200, await viewOf(deps, subscription));
  const post = (
    verb: string,
    act: (subscription: Subscription, request: Request) => Promise<Reply>,
  ): Route => ({
    method: "POST",
    path: `${subscriptionPath}/${verb}`,
    headers: apiHeaders,
    handle: (request) => act(namedSubscription(deps.catalog(), request), request),
  });
  return [
    post("pause", async ({ id }, request) => {
      readMembers(request, []);
      return await show(await operator.pause(id));
    }),
    post("resume", async ({ id }, request) => {
      readMembers(request, []);
      return await show(await operator.resume(id));
    }),
    post("drain", async ({ id }, request) => {
      const { perSecond } = readMembers(request, ["perSecond"]);
      return await show(await operator.drain(id, checkRate(perSecond)));
    }),
    post("skip", async ({ id }, request) => {
      readMembers(request, []);
      return reply(200, { skipped: await operator.skip(id) });
    }),
    post("hasten", async ({ id }, request) => {
      const { event } = readMembers(request, ["event"]);
      return reply(200, { hastened: await operator.hasten(id, checkEvent(event ?? null)) });
    }),
  ];
}

function checkRate(value: unknown): number {
  const { min, max } = drainRange;
  if (typeof value === "number" && value >= min && value <= max) return value;
  const allowed = `a number of events a second from ${min} to ${max}`;
  throw refuseValue({ field: "perSecond", value, allowed });
}

function checkEvent(value: unknown): string | null {
  if (value === null || (typeof value === "string" && value !== "")) return value;
  throw refuseValue({ field: "event", value, allowed: "the id of an event, or left out for all" });
}
