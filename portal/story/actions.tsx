// What can be done with an event: send it again, copy it as a command, publish an edited copy.

import { useState } from "react";
import type { Page, ResentView, Story, TopicView } from "../../src/core/api/views.ts";
import { apiPath, ask } from "../api.ts";
import { listKeys } from "../arm.ts";
import { Button } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { CopyRegular, SendRegular } from "../icons/drawings.tsx";
import { copyText } from "../parts/texts.tsx";
import { eventPath, go, pathTo } from "../route.ts";
import { curlOf } from "../snippets.ts";
import { sayMany } from "../words.ts";

export function StoryActions({ story }: { readonly story: Story }) {
  const say = useSay();
  const copyCurl = async () => {
    try {
      await copyText(await curlFor(story));
      say.done("Copied as curl", "The topic's key1 is in it.");
    } catch (error) {
      say.refused("It could not be copied", error);
    }
  };
  const isKept = story.body !== null;
  return (
    <>
      <SendAgain story={story} />
      <Button icon={<CopyRegular />} disabled={!isKept} onClick={() => void copyCurl()}>
        Copy as curl
      </Button>
      <Button
        disabled={!isKept}
        onClick={() => go(pathTo(["topics", story.topic], { tab: "publish", copy: story.event }))}
      >
        Publish an edited copy
      </Button>
    </>
  );
}

/** Also after success: a new event with the same content, and a story of its own. */
export function SendAgain({
  story,
  subscription,
}: {
  readonly story: Story;
  /** Only to this one, whatever its filter; default: to all that match now. */
  readonly subscription?: string;
}) {
  const say = useSay();
  const [isBusy, setBusy] = useState(false);
  const send = async () => {
    if (isBusy) return;
    setBusy(true);
    try {
      const order = subscription === undefined ? {} : { subscriptions: [subscription] };
      const path = apiPath(["events", story.event, "resend"]);
      const sent = await ask<ResentView>("POST", path, order);
      say.done(
        "Sent again",
        sent.subscriptions.length === 0
          ? "No filter matches it now."
          : `To ${sayMany(sent.subscriptions.length, "subscription")}. This is its new story.`,
      );
      go(eventPath(sent.event));
    } catch (error) {
      say.refused("It could not be sent again", error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button
      icon={<SendRegular />}
      disabled={story.body === null}
      size={subscription === undefined ? "medium" : "small"}
      onClick={() => void send()}
    >
      Send again
    </Button>
  );
}

async function curlFor(story: Story): Promise<string> {
  const { value } = await ask<Page<TopicView>>("GET", apiPath(["topics"]));
  const topic = value.find(({ name }) => name === story.topic);
  if (topic === undefined) throw new Error("the topic has been deleted");
  const { key1 } = await listKeys(topic.armId);
  const isCloud = topic.inputSchema === "CloudEventSchemaV1_0";
  const event = JSON.parse(story.body ?? "{}") as object;
  return curlOf({ topic, key: key1, event, isCloud });
}
