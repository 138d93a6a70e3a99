// The story of one event: when and how it was accepted, which subscriptions matched and why others
// did not, every attempt with its decision, and its current state.

import { useState } from "react";
import type { Story } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { makeStyles, Text, tokens } from "../fluent.ts";
import { useTick } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, Note, PageHead } from "../parts/page.tsx";
import { Rows } from "../parts/table.tsx";
import { Code, CopyButton, Facts, Long, Mono, When } from "../parts/texts.tsx";
import { concerning, ProblemCards } from "../problems/cards.tsx";
import { pathTo, subscriptionPath, topicPath } from "../route.ts";
import { StoryActions } from "../story/actions.tsx";
import { DeliveryCard, namedIn } from "../story/delivery.tsx";
import { pretty } from "../story/exchange.ts";
import { byTrouble, type Chosen, deliveryKey, headline, Lanes } from "../story/lanes.tsx";
import { sayBytes, saySchema } from "../words.ts";

const useStyles = makeStyles({
  facts: {
    display: "grid",
    gridTemplateColumns: "minmax(0, 2fr) minmax(0, 3fr)",
    columnGap: tokens.spacingHorizontalL,
    alignItems: "start",
    "@media (max-width: 1100px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  reason: { overflowWrap: "anywhere", whiteSpace: "normal" },
  id: { fontFamily: tokens.fontFamilyMonospace },
});

export function StoryPage({ names }: PageProps) {
  const id = names.event ?? "";
  const tick = useTick(["attempt", "ended", "overview"]);
  const asked = useAsked<Story>(apiPath(["events", id]), tick);
  return (
    <>
      <PageHead
        title={asked.value?.id ?? id}
        subtitle={
          <>
            Event <Mono>{asked.value?.event ?? id}</Mono>
            <CopyButton text={asked.value?.event ?? id} what="its id" />
          </>
        }
        actions={asked.value !== undefined && <StoryActions story={asked.value} />}
      />
      <Answer asked={asked} what="the stories of events">
        {(story) => <Told story={story} again={asked.again} />}
      </Answer>
    </>
  );
}

function Told({ story, again }: { readonly story: Story; readonly again: () => void }) {
  const styles = useStyles();
  const [chosen, choose] = useState<Chosen | null>(null);
  const lanes = story.deliveryStories.toSorted(byTrouble);
  const delivery = lanes.find((each) => deliveryKey(each) === chosen?.delivery) ?? lanes[0];
  const shown: Chosen =
    delivery === undefined
      ? { delivery: "", attempt: null }
      : { delivery: deliveryKey(delivery), attempt: chosen?.attempt ?? null };
  return (
    <>
      {story.cut !== null && <Note>{story.cut}</Note>}
      {story.type === "Posthorn.ShowMe" && <WhatNext />}
      {story.deliveryStories.length === 0 && (
        <Card>
          <Empty title="It matched no subscription">
            {story.unmatched.length === 0
              ? "The topic had no subscriptions when it was published, so it was not delivered."
              : "The filter clauses that failed are below. Changing a subscription now has no effect on this event."}
          </Empty>
        </Card>
      )}
      {delivery !== undefined && (
        <>
          <Card title={headline(story)}>
            <Lanes story={story} chosen={shown} choose={choose} />
          </Card>
          {delivery.held !== null && <ProblemCards concerns={concerning(namedIn(delivery))} />}
          <DeliveryCard
            key={deliveryKey(delivery)}
            story={story}
            delivery={delivery}
            open={shown.attempt}
            choose={(attempt) => choose({ ...shown, attempt })}
            again={again}
          />
        </>
      )}
      {story.unmatched.length > 0 && <Unmatched story={story} />}
      <div className={styles.facts}>
        <Card title="Accepted">
          <Facts
            facts={[
              ["At", <When key="at" at={story.acceptedAt} />],
              ["With", acceptedWords(story.acceptedWith)],
              [
                "Topic",
                <span key="topic">
                  <To to={topicPath(story.topic)}>{story.topic}</To>
                  {story.domainTopic !== null && ` / ${story.domainTopic}`}
                </span>,
              ],
              [
                "Type",
                <To key="type" to={pathTo(["deliveries"], { type: story.type })}>
                  {story.type}
                </To>,
              ],
              ["Subject", story.subject || "–"],
              ["As", `${saySchema(story.schema)}, ${sayBytes(story.bytes)}`],
              ...(story.traceparent === null
                ? []
                : [["Trace", <Mono key="trace">{story.traceparent}</Mono>] as const]),
            ]}
          />
        </Card>
        <Card title="The event">
          {story.body === null ? (
            <NotKept story={story} />
          ) : (
            <Code text={pretty(story.body)} what="the event" wraps />
          )}
        </Card>
      </div>
    </>
  );
}

/** After *Show me*: what a newcomer may try next. */
function WhatNext() {
  return (
    <Note intent="success" title="This is the story of a real event.">
      A click on its mark opens the request and the answer. Next, let{" "}
      <To to={pathTo(["inboxes", "show-me"])}>its test inbox</To> answer 500, send it again, and see
      the retry counted down; or <To to="/portal/topics?new=topic">create a topic</To> of your own.
    </Note>
  );
}

/** An event goes with its last delivery; its story stays. */
function NotKept({ story }: { readonly story: Story }) {
  const ends = story.deliveryStories.flatMap(({ endedAt }) => endedAt ?? []).toSorted();
  const last = ends.at(-1);
  const isDeadLettered = story.deliveryStories.some(({ deadLetter }) => deadLetter !== null);
  return (
    <Text>
      The payload is not kept
      {last !== undefined && (
        <>
          {" "}
          since <When at={last} />, when the last delivery ended
        </>
      )}
      .{isDeadLettered && " It is in the dead letter, which has its link above."}
    </Text>
  );
}

const withWords: Readonly<Record<string, string>> = {
  bearer: "a bearer token",
  none: "no key: authentication is off",
  notice: "nothing: the broker itself published it",
  own: "nothing: the broker itself published it",
  unknown: "a key that was not recorded",
  resend: "Send again, by an operator",
  redrive: "a redrive of its dead letter",
};

function acceptedWords(given: string): string {
  return withWords[given] ?? given;
}

function Unmatched({ story }: { readonly story: Story }) {
  const styles = useStyles();
  return (
    <Card title="Did not match">
      <Rows
        label="Subscriptions that it did not match"
        rows={story.unmatched}
        keyOf={({ subscription }) => subscription}
        columns={[
          {
            title: "Subscription",
            width: "30%",
            // Within a domain it may be of the domain or of one of its topics.
            show: ({ subscription: name }) =>
              story.domainTopic !== null ? (
                <Long>{name}</Long>
              ) : (
                <To to={subscriptionPath({ topic: story.topic, domainTopic: null, name })}>
                  <Long>{name}</Long>
                </To>
              ),
          },
          {
            title: "Why",
            show: ({ clause, because }) => (
              <span className={styles.reason}>
                {/* What is not active has no clause that could fail. */}
                {clause !== "provisioningState" && (
                  <>
                    <code>{clause}</code>:{" "}
                  </>
                )}
                {because}
              </span>
            ),
          },
        ]}
      />
    </Card>
  );
}
