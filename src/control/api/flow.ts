// Pause, resume, drain, skip, and "try now" for one subscription. docs/delivery.md describes each.

import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Subscription } from "../../core/subscription.ts";
import type { Operator } from "../operator.ts";
import { type CatalogDeps, viewOf } from "./catalog.ts";
import { type NamesSubscription, namedSubscription } from "./names.ts";
import type { Handlers } from "./serve.ts";

export interface FlowDeps extends CatalogDeps {
  readonly catalog: () => LiveCatalog;
  readonly operator: Operator;
}

export function flowHandlers(
  deps: FlowDeps,
): Pick<
  Handlers,
  | "pauseSubscription"
  | "resumeSubscription"
  | "drainSubscription"
  | "skipSubscription"
  | "hastenSubscription"
> {
  const { operator } = deps;
  const idOf = (asked: NamesSubscription) => namedSubscription(deps.catalog(), asked).id;
  const show = async (changed: Promise<Subscription>) => viewOf(deps, await changed);
  return {
    pauseSubscription: (asked) => show(operator.pause(idOf(asked))),
    resumeSubscription: (asked) => show(operator.resume(idOf(asked))),
    drainSubscription: (asked) => show(operator.drain(idOf(asked), asked.body.perSecond)),
    skipSubscription: async (asked) => ({ skipped: await operator.skip(idOf(asked)) }),
    async hastenSubscription(asked) {
      return { hastened: await operator.hasten(idOf(asked), asked.body.event ?? null) };
    },
  };
}
