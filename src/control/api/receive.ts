// Receiving by hand: what a client of a namespace does, for operators. The locks are real ones:
// what is neither acknowledged nor released is handed out again when its lock ends.

import type { Clock } from "../../core/ports.ts";
import { needPullQueue } from "../../core/pull/pull-queue.ts";
import type { LockOrder, PullQueue, TokenReceivers } from "../../core/pull/receivers.ts";
import { Refusal } from "../../core/refusal.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import type { Directory } from "../../core/routing/route.ts";
import { isoInstant } from "../../core/text/time.ts";
import { type NamesSubscription, namedTopic } from "./names.ts";
import type { Handlers } from "./serve.ts";

export interface ReceiveDeps {
  readonly catalog: () => LiveCatalog;
  readonly directory: Pick<Directory, "entry">;
  readonly tokenReceivers: TokenReceivers;
  readonly clock: Clock;
}

const secondMs = 1_000;

export function receiveHandlers(
  deps: ReceiveDeps,
): Pick<Handlers, "receiveEvents" | "settleLocks"> {
  const { tokenReceivers, clock } = deps;
  const queueOf = ({ params }: NamesSubscription) =>
    needPullQueue(deps, namedTopic(deps.catalog(), params.topic), params.name);
  return {
    async receiveEvents(asked) {
      const { max = 1, waitSeconds = 0 } = asked.body;
      const { onGone } = asked.request;
      const received = await tokenReceivers.receive(queueOf(asked), {
        ...{ max, waitMs: waitSeconds * secondMs, by: operatorAt(asked), onGone },
      });
      const value = received.map(({ delivery, lockToken }) => ({
        lockToken,
        lockedUntil: isoInstant(delivery.leasedUntil),
        deliveryCount: delivery.attempts,
        publishedAt: isoInstant(delivery.event.publishedAt),
        systemId: delivery.event.systemId,
        event: JSON.parse(delivery.event.text) as unknown,
      }));
      return { value, next: null };
    },
    async settleLocks(asked) {
      const { lockTokens, order: kind, delaySeconds } = asked.body;
      if (delaySeconds !== undefined && kind !== "release") {
        throw new Refusal("InvalidSetting", "delaySeconds is only for the order release.");
      }
      const order: LockOrder =
        kind === "release" ? { kind, delayMs: (delaySeconds ?? 0) * secondMs } : { kind };
      const queue = queueOf(asked);
      const until = kind === "renewLock" ? isoInstant(clock.now() + lockMsOf(queue)) : null;
      const by = operatorAt(asked);
      const results = await tokenReceivers.settle(queue, lockTokens, { ...order, by });
      const value = results.map((result, place) => ({
        lockToken: lockTokens[place] as string,
        result,
        lockedUntil: result === "succeeded" ? until : null,
      }));
      return { value, next: null };
    },
  };
}

function lockMsOf({ subscription: { destination } }: PullQueue): number {
  return destination.kind === "pull" ? destination.lockMs : 0;
}

/** For stories. */
function operatorAt({ request: { remote } }: { readonly request: { readonly remote: string } }) {
  return `an operator at ${remote}`;
}
