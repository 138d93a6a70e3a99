// The dry run of filters: a given event, read as a publish would read it, and the result of each
// subscription's filter, clause by clause. Nothing is stored and nothing is sent.

import type { ExplainFilters } from "../../core/api/orders.ts";
import type { FilterVerdict } from "../../core/api/views.ts";
import type { EventFields } from "../../core/event.ts";
import { whyNothingIsSent } from "../../core/handshake/handshake.ts";
import type { Clock } from "../../core/ports.ts";
import { Refusal } from "../../core/refusal.ts";
import { explainFilter } from "../../core/routing/filter/explain.ts";
import { parseFilter } from "../../core/routing/filter/parse.ts";
import type { Filter } from "../../core/routing/filter.ts";
import type { LiveCatalog } from "../../core/routing/live-catalog.ts";
import { publishLimits } from "../../core/schema/limits.ts";
import { readEvents } from "../../core/schema/read.ts";
import { isSameName } from "../../core/text/compare.ts";
import { shownAs } from "../../core/text/wording.ts";
import { type Topic, topicArmId } from "../../core/topic.ts";
import { namedTopic } from "./names.ts";
import type { Handlers } from "./serve.ts";

export interface ExplainDeps {
  readonly catalog: () => LiveCatalog;
  readonly clock: Clock;
}

export function explainHandlers(deps: ExplainDeps): Pick<Handlers, "explainFilters"> {
  return { explainFilters: ({ params, body }) => explain(deps, params.topic, body) };
}

function explain(
  deps: ExplainDeps,
  name: string,
  { event, subscription, filter, ...given }: ExplainFilters,
): readonly FilterVerdict[] {
  const catalog = deps.catalog();
  const topic = namedTopic(catalog, name);
  const read = readOne(topic, event, deps.clock.now());
  const domainTopic = given.domainTopic ?? read.domainTopic ?? "";
  const verdict = (wanted: Filter) => explainFilter(wanted, read.fields);
  if (filter !== undefined) {
    return [{ subscription: null, ...verdict(parseFilter(filter, "filter")), held: null }];
  }
  const asked = catalog.subscriptions.filter(
    (each) =>
      isSameName(each.topic, topic.name) &&
      (each.domainTopic === null || isSameName(each.domainTopic, domainTopic)) &&
      (subscription === undefined || isSameName(each.name, subscription)),
  );
  if (subscription !== undefined && asked.length === 0) {
    const words = `There is no subscription ${shownAs(subscription)} of ${shownAs(topic.name)}.`;
    throw new Refusal("NotFound", words);
  }
  return asked.map((each) => ({
    ...{ subscription: each.name, ...verdict(each.filter), held: whyNothingIsSent(each) },
  }));
}

interface Read {
  readonly fields: EventFields;
  readonly domainTopic: string | null;
}

/** Refusals: those of a publish. */
function readOne(topic: Topic, event: object, publishedAt: number): Read {
  const [read] = readEvents(topic.inputSchema, JSON.stringify(event), {
    topic: topic.name,
    topicArmId: topicArmId(topic),
    isDomain: topic.kind === "domain",
    mapping: topic.mapping,
    publishedAt,
    trace: null,
    hops: 0,
    systemId: () => "",
    limits: publishLimits,
  });
  return read as Read;
}
