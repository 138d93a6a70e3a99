// Receivers who name their locks by tokens: clients of namespaces, and operators in our own API.

import type { Lock, PullQueue, Receivers, TokenReceivers } from "../core/pull/receivers.ts";
import { Refusal } from "../core/refusal.ts";
import type { LiveCatalog } from "../core/routing/live-catalog.ts";
import { shownAs } from "../core/text/wording.ts";
import { splitTopicName, type Topic } from "../core/topic.ts";
import { lockTokenOf, parseLockToken } from "./lock-token.ts";

export function openTokenReceivers(deps: {
  readonly receivers: Receivers;
  readonly catalog: () => LiveCatalog;
}): TokenReceivers {
  const { receivers, catalog } = deps;
  /** Refusal: NotFound. */
  const namespaceOf = ({ topic }: PullQueue): Topic => {
    const name = splitTopicName(topic.name).namespace ?? "";
    const namespace = catalog().topic(name);
    if (namespace !== undefined) return namespace;
    throw new Refusal("NotFound", `There is no namespace ${shownAs(name)}.`);
  };
  return {
    async receive(queue, order) {
      const namespace = namespaceOf(queue);
      const deliveries = await receivers.receive(queue, order);
      return deliveries.map((delivery) => ({
        delivery,
        lockToken: lockTokenOf(namespace, delivery),
      }));
    },
    async settle(queue, tokens, order) {
      const namespace = namespaceOf(queue);
      const { id } = queue.subscription;
      const locks = tokens.map((token) => parseLockToken(namespace, id, token));
      // Of a token that is given twice, the first counts (N-31).
      const first = new Map(tokens.map((token, place) => [token, place] as const).toReversed());
      const places = locks.flatMap((lock, place) =>
        lock === null || first.get(tokens[place] as string) !== place ? [] : place,
      );
      const known = places.map((place) => locks[place] as Lock);
      const counted = await receivers.settle(queue, known, order);
      const succeeded = new Set(places.filter((_, index) => counted[index]));
      return locks.map((lock, place) => {
        if (succeeded.has(place)) return "succeeded";
        return lock === null ? "bad" : "lost";
      });
    },
  };
}
