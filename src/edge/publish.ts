// Publishing through the routes of the retired Event Grid module on IoT Edge, by the module's own
// rules: `topic` is the topic's name instead of its id, `dataVersion` is required and `eventTime`
// may be any text. The module's keys are valid for every topic; a topic's own keys and tokens work
// as usual.
//
// Deliberately absent: routing. Events are routed and stored like all others.

import type { Published } from "../core/event.ts";
import { Refusal } from "../core/refusal.ts";
import { judgedBy, type RequestHead, type Route, type Verdict } from "../core/request.ts";
import { shownAs } from "../core/text/wording.ts";
import { judgePublish, type Manner, type PublishDeps } from "../ingress/publish.ts";
import { checkModuleVersion, replyToModuleRefusal, sasKeyIn, withReplies } from "./protocol.ts";

export interface ModulePublishDeps extends PublishDeps {
  /** Whether it is one of the module's keys; without this function there are none. */
  readonly isModuleKey?: (key: string) => boolean;
}

export function modulePublishRoutes(deps: ModulePublishDeps): readonly Route[] {
  const manner = mannerOf(deps);
  const judgedIn = (mannerFor: (head: RequestHead) => Manner) =>
    judgedBy(withReplies((head) => judge(deps, head, mannerFor(head)), replyToModuleRefusal));
  const checking = ({ params }: RequestHead): Manner => ({
    ...manner,
    check: (published) => checkOne(published, params.eventId ?? ""),
  });
  return [
    { method: "POST", path: "/topics/:topic/events", ...judgedIn(() => manner) },
    { method: "POST", path: "/topics/:topic/events/:eventId", ...judgedIn(checking) },
  ];
}

function mannerOf({ isModuleKey }: ModulePublishDeps): Manner {
  return {
    stampOf: ({ name }) => name,
    asModule: true,
    isOpenTo(head) {
      const key = sasKeyIn(head);
      return key !== null && isModuleKey?.(key) === true;
    },
  };
}

async function judge(deps: PublishDeps, head: RequestHead, manner: Manner): Promise<Verdict> {
  checkModuleVersion(head);
  return await judgePublish(deps, { name: head.params.topic ?? "", head, manner });
}

/** The id is in the path as well; an event of a custom schema has none of its own. */
function checkOne(published: readonly Published[], eventId: string): void {
  const [first] = published;
  if (first === undefined || published.length !== 1) {
    const words = `The request must have one event, and has ${published.length}.`;
    throw new Refusal("InputJsonInvalid", words);
  }
  const { id, schema } = first.fields;
  if (schema === "CustomEventSchema" || id === eventId) return;
  const words = `The event's id must be ${shownAs(eventId)}, as in the path.`;
  throw new Refusal("InputJsonInvalid", words);
}
