// Publishing a test event: an editor that starts with a valid event for the topic, checks it by the
// broker's own rules as you type, and shows the result.

import { useMemo, useState } from "react";
import type { FilterVerdict, Story, TopicView } from "../../src/core/api/views.ts";
import type { InputSchema } from "../../src/core/event.ts";
import { publishLimits } from "../../src/core/schema/limits.ts";
import { readEvents } from "../../src/core/schema/read.ts";
import { apiPath, ask, Refused, send, useAsked } from "../api.ts";
import { listKeys } from "../arm.ts";
import { Button, makeStyles, Text, tokens } from "../fluent.ts";
import { useLive, useNow, useTick } from "../live.ts";
import { AreaField, Form, useOrder } from "../parts/form.tsx";
import { To } from "../parts/link.tsx";
import { Card, Empty, Note } from "../parts/page.tsx";
import { Rows } from "../parts/table.tsx";
import { Long, LongWords, StateBadge } from "../parts/texts.tsx";
import { Verdicts } from "../parts/verdicts.tsx";
import { eventPath, pathTo } from "../route.ts";
import { exampleEvent, publishUrl } from "../snippets.ts";
import { saySchema } from "../words.ts";

const useStyles = makeStyles({
  verdict: { color: tokens.colorNeutralForeground2 },
  wrong: { color: tokens.colorPaletteRedForeground1 },
});

interface Sent {
  readonly id: string;
}

export function Publish({
  topic,
  copy,
}: {
  readonly topic: TopicView;
  /** Starts with the content of this event. */
  readonly copy: string | null;
}) {
  const styles = useStyles();
  const now = useNow(60_000);
  const overview = useLive("overview");
  const order = useOrder();
  const [own, setText] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  const isTimeKnown = overview !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: time alone makes no new example.
  const fresh = useMemo(() => example(topic, now), [topic.name, isTimeKnown, round]);
  const { value: story } = useAsked<Story>(copy === null ? null : apiPath(["events", copy]));
  const copied = useMemo(() => copyOf(story?.body ?? null), [story?.body]);
  const suggested = copied ?? fresh;
  const text = own ?? suggested;
  const beginAnew = () => {
    setText(null);
    setRound((before) => before + 1);
  };
  const [sent, setSent] = useState<readonly Sent[]>([]);
  const [verdicts, setVerdicts] = useState<readonly FilterVerdict[] | null>(null);
  const wrong = useMemo(() => whyWrong(topic, text, now), [topic, text, now]);
  const publish = () =>
    void order.run(async () => {
      await post(topic, text);
      const ids = idsIn(text);
      setSent((before) => [...ids.map((id) => ({ id })), ...before].slice(0, 20));
      setVerdicts(null);
    });
  const dryRun = () =>
    void order.run(async () => {
      const event = firstOf(text);
      const path = apiPath(["topics", topic.name, "explain"]);
      setVerdicts(await ask<FilterVerdict[]>("POST", path, { event }));
    });
  return (
    <>
      <Card title="Test event">
        <Form
          refused={order.refused}
          submitWords="Publish"
          onSubmit={publish}
          others={
            <>
              <Button onClick={dryRun}>Who would get it?</Button>
              <Button onClick={beginAnew}>Start over</Button>
            </>
          }
        >
          <AreaField
            label={`An event, or a list of them (${saySchema(topic.inputSchema)})`}
            rows={14}
            isCode
            value={text}
            onChange={setText}
          />
          <Text className={wrong === null ? styles.verdict : styles.wrong} aria-live="polite">
            {wrong ?? "The topic accepts this event."}
          </Text>
        </Form>
      </Card>
      {verdicts !== null && (
        <Card title="Who would get it">
          {verdicts.length === 0 ? (
            <Empty title="No subscriptions yet" />
          ) : (
            <Verdicts verdicts={verdicts} />
          )}
        </Card>
      )}
      {sent.length > 0 && <Came topic={topic} sent={sent} />}
    </>
  );
}

/** Of many events published together, those that are followed. */
const followedMax = 5;

function Came({ topic, sent }: { readonly topic: TopicView; readonly sent: readonly Sent[] }) {
  const latest = sent[0]?.id ?? "";
  return (
    <Card title="Result">
      <Note intent="success" title="Accepted.">
        <To to={pathTo(["deliveries"], { id: latest })}>The story of {latest}</To>
        {topic.subscriptions === 0 && " The topic has no subscriptions, so it is not delivered."}
      </Note>
      {sent.slice(0, followedMax).map(({ id }) => (
        <Deliveries key={id} id={id} />
      ))}
    </Card>
  );
}

/** What becomes of an event at each subscription, as it happens. */
function Deliveries({ id }: { readonly id: string }) {
  const tick = useTick(["published", "attempt", "ended"], 500);
  // Not there at once: stories are written beside the publish.
  const { value: story } = useAsked<Story>(apiPath(["events", id]), tick);
  if (story === undefined || story.deliveryStories.length === 0) return null;
  return (
    <Rows
      label={`Deliveries of ${id}`}
      rows={story.deliveryStories}
      keyOf={({ subscription }) => subscription}
      columns={[
        {
          title: "Subscription",
          show: ({ subscription }) => (
            <To to={eventPath(story.event)}>
              <Long>{subscription}</Long>
            </To>
          ),
        },
        { title: "State", width: "130px", show: ({ state }) => <StateBadge state={state} /> },
        {
          title: "Last attempt",
          width: "130px",
          show: ({ attempts }) => attempts.at(-1)?.outcome ?? "none yet",
        },
        {
          title: "In words",
          isWideOnly: true,
          show: ({ attempts, held }) => (
            <LongWords>{attempts.at(-1)?.words ?? held ?? ""}</LongWords>
          ),
        },
      ]}
    />
  );
}

function example(topic: TopicView, now: number): string {
  const at = { id: newId(), now: new Date(now).toISOString() };
  return JSON.stringify(exampleEvent(topic, at), null, 2);
}

/** With an id of its own, which is what makes it another event. */
function copyOf(body: string | null): string | null {
  if (body === null) return null;
  const event = JSON.parse(body) as object;
  return JSON.stringify({ ...event, id: newId() }, null, 2);
}

function newId(): string {
  return crypto.randomUUID?.() ?? `test-${Math.floor(Math.random() * 1e12)}`;
}

/** Null, or the broker's message: it is the broker's own parser. */
function whyWrong(topic: TopicView, text: string, publishedAt: number): string | null {
  // Only the broker knows which fields a custom schema maps.
  if (topic.inputSchema === "CustomEventSchema") return whyNoJson(text);
  try {
    readEvents(topic.inputSchema as InputSchema, text, {
      topic: topic.name,
      topicArmId: topic.armId,
      isDomain: topic.kind === "domain",
      mapping: null,
      publishedAt,
      trace: null,
      hops: 0,
      systemId: () => "",
      limits: publishLimits,
    });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function whyNoJson(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return String((error as Error).message);
  }
}

function listOf(text: string): readonly unknown[] {
  const given: unknown = JSON.parse(text);
  return Array.isArray(given) ? given : [given];
}

function firstOf(text: string): unknown {
  try {
    return listOf(text)[0];
  } catch (error) {
    throw new Refused(400, "InputJsonInvalid", (error as Error).message);
  }
}

function idsIn(text: string): string[] {
  return listOf(text).flatMap((event) => {
    const { id } = event as { id?: unknown };
    return typeof id === "string" ? [id] : [];
  });
}

/** With the topic's own key, like any publisher. */
async function post(topic: TopicView, text: string): Promise<void> {
  const { key1 } = await listKeys(topic.armId);
  const isList = /^\s*\[/.test(text);
  const isCloud = topic.inputSchema === "CloudEventSchemaV1_0";
  const type = isCloud
    ? `application/cloudevents${isList ? "-batch" : ""}+json`
    : "application/json";
  const { pathname, search } = new URL(publishUrl(topic));
  await send(pathname + search, {
    method: "POST",
    headers: { "content-type": type, "aeg-sas-key": key1 },
    body: isCloud || isList ? text : `[${text}]`,
  });
}
