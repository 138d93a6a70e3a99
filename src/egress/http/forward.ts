// Events that are forwarded to a topic of Event Grid, in the cloud or of another broker: the
// request is a publish, with the topic's key, and without headers meant for subscribers.
//
// Such a topic stamps its own id on events of the Event Grid schema and refuses one that is not its
// own; so the event's `topic` is removed, or replaced as the subscription says.

import type { Forward } from "../../core/subscription.ts";
import { findMembers } from "../../core/text/json.ts";

/** Headers besides content type and trace. */
export function forwardHeaders({ sasKey }: Forward): Record<string, string> {
  return { "aeg-sas-key": sasKey };
}

/** `text`: an event of the Event Grid schema. Everything but its topic stays as written. */
export function withTopic(text: string, { topicName }: Forward): string {
  const members = findMembers(text, 0)?.members ?? [];
  const rest = members
    .filter(({ name }) => name !== "topic")
    .map(({ name, start, end }) => `${JSON.stringify(name)}:${text.slice(start, end)}`);
  const own = topicName === null ? [] : [`"topic":${JSON.stringify(topicName)}`];
  return `{${[...rest, ...own].join(",")}}`;
}
