// The queue of a name, for those who fetch from it.

import { Refusal } from "../refusal.ts";
import type { LiveCatalog } from "../routing/live-catalog.ts";
import type { Directory } from "../routing/route.ts";
import { shownAs } from "../text/wording.ts";
import type { Topic } from "../topic.ts";
import type { PullQueue } from "./receivers.ts";

/** N-18. What has expired is there no longer (N-47). Refusals: NotFound, InvalidSetting. */
export function needPullQueue(
  { catalog, directory }: { catalog: () => LiveCatalog; directory: Pick<Directory, "entry"> },
  topic: Topic,
  name: string,
): PullQueue {
  const found = catalog().named({ topic: topic.name, domainTopic: null, name });
  const subscription = found && directory.entry(topic.name)?.subscription(found.id);
  if (subscription === undefined) {
    const words = `The topic '${topic.name}' has no event subscription ${shownAs(name)}.`;
    throw new Refusal("NotFound", words);
  }
  if (subscription.destination.kind === "pull") return { topic, subscription };
  const words = `The event subscription '${name}' has the delivery mode Push`;
  throw new Refusal("InvalidSetting", `${words}: its events are sent and cannot be fetched.`);
}
