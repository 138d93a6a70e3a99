// The form of a subscription: every setting of Event Grid and of Posthorn, with the retry schedule
// drawn as it is chosen, and the filter tried on an event.

import { useState } from "react";
import type { FilterVerdict, TopicView } from "../../src/core/api/views.ts";
import { idWords } from "../../src/core/azure/resource-id.ts";
import { resourceForms } from "../../src/core/azure/resources.ts";
import type { ChosenProfile } from "../../src/core/delivery/profile.ts";
import { deliverySchemasOf } from "../../src/core/schema/convert.ts";
import { apiPath, ask, type Refused } from "../api.ts";
import { Button, makeStyles, Text, tokens } from "../fluent.ts";
import {
  AreaField,
  ChoiceField,
  FieldGroup,
  FieldRow,
  Form,
  SwitchField,
  TextField,
  useOrder,
} from "../parts/form.tsx";
import { Refusal } from "../parts/page.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { Verdicts } from "../parts/verdicts.tsx";
import { useSimulation } from "../simulation.ts";
import { exampleEvent } from "../snippets.ts";
import { sayLength, sayMany } from "../words.ts";
import { type Draft, filterOf, isWebHook, numberOr } from "./draft.ts";
import { ClauseFields, HeaderFields } from "./lists.tsx";

const useStyles = makeStyles({
  words: { color: tokens.colorNeutralForeground2 },
  // As high before it is drawn as after: what is below must not move under the pointer.
  schedule: { marginTop: tokens.spacingVerticalS, minHeight: "120px" },
  wrong: { color: tokens.colorPaletteRedForeground1 },
  verdict: { display: "flex", flexDirection: "column", gap: tokens.spacingVerticalS },
});

const to = "properties.destination.properties";

const endpointTypes = [
  ["WebHook", "Webhook"],
  ...Object.values(resourceForms).map(({ endpointType }) => [endpointType, endpointType] as const),
] as const;

interface FieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
}

export function SubscriptionForm({
  topic,
  draft,
  change,
  refused,
  submitWords,
  keptUrl = null,
  onSubmit,
  onCancel,
  children,
}: FieldsProps & {
  readonly topic: TopicView;
  readonly refused: Refused | null;
  readonly submitWords: string;
  /** What is kept when no URL is entered. */
  readonly keptUrl?: string | null;
  readonly onSubmit: () => void;
  readonly onCancel?: () => void;
  readonly children?: React.ReactNode;
}) {
  const fields = { draft, change };
  return (
    <Form refused={refused} submitWords={submitWords} onSubmit={onSubmit} onCancel={onCancel}>
      {children}
      <Destination {...fields} topic={topic} keptUrl={keptUrl} />
      <Retries {...fields} topic={topic} />
      <Filters {...fields} topic={topic} />
      <Rest {...fields} />
    </Form>
  );
}

function Destination({
  draft,
  change,
  topic,
  keptUrl,
}: FieldsProps & { readonly topic: TopicView; readonly keptUrl: string | null }) {
  const schemas = deliverySchemasOf[topic.inputSchema as keyof typeof deliverySchemasOf] ?? [];
  return (
    <FieldGroup title="Where to">
      <FieldRow>
        <ChoiceField
          label="Kind of destination"
          path="properties.destination.endpointType"
          value={draft.endpointType}
          choices={endpointTypes}
          onChange={(endpointType) => change({ endpointType })}
        />
        <ChoiceField
          label="Delivered as"
          path="properties.eventDeliverySchema"
          value={draft.deliverySchema}
          choices={[["", "the topic's default"], ...schemas.map((name) => [name, name] as const)]}
          onChange={(deliverySchema) => change({ deliverySchema })}
        />
      </FieldRow>
      {isWebHook(draft) ? (
        <TextField
          label="URL"
          path={`${to}.endpointUrl`}
          isRequired={keptUrl === null}
          value={draft.endpointUrl}
          placeholder={keptUrl ?? "https://example.com/hook"}
          hint={
            keptUrl === null
              ? "It must pass a handshake before the first event."
              : "Leave empty to keep it. Its query is not shown, because it often is a secret."
          }
          onChange={(endpointUrl) => change({ endpointUrl })}
        />
      ) : (
        <ResourceFields draft={draft} change={change} />
      )}
      <FieldRow>
        <TextField
          label="Maximum events per request"
          path={`${to}.maxEventsPerBatch`}
          hint="1 to 5000; empty: one."
          value={draft.maxEvents}
          onChange={(maxEvents) => change({ maxEvents })}
        />
        <TextField
          label="Preferred size of a request, in KB"
          path={`${to}.preferredBatchSizeInKilobytes`}
          hint="1 to 1024"
          value={draft.batchKilobytes}
          onChange={(batchKilobytes) => change({ batchKilobytes })}
        />
      </FieldRow>
      <SwitchField
        label="When a batch is undeliverable, halve it to find the bad event"
        path="properties.posthorn.splitOnFailure"
        value={draft.splits}
        onChange={(splits) => change({ splits })}
      />
      <SwitchField
        label="Sign deliveries (Standard Webhooks)"
        path="properties.posthorn.signing"
        hint="The secret is created when you save, and shown on the page of the subscription."
        value={draft.signs}
        onChange={(signs) => change({ signs })}
      />
      <HeaderFields
        path={`${to}.deliveryAttributeMappings`}
        headers={draft.headers}
        onChange={(headers) => change({ headers })}
      />
    </FieldGroup>
  );
}

function ResourceFields({ draft, change }: FieldsProps) {
  const form = Object.values(resourceForms).find(
    ({ endpointType }) => endpointType === draft.endpointType,
  );
  return (
    <>
      <TextField
        label="Resource id"
        path={`${to}.resourceId`}
        isRequired
        value={draft.resourceId}
        hint={form === undefined ? undefined : idWords(form.pattern)}
        onChange={(resourceId) => change({ resourceId })}
      />
      {draft.endpointType === "StorageQueue" && (
        <FieldRow>
          <TextField
            label="Queue"
            path={`${to}.queueName`}
            value={draft.queueName}
            onChange={(queueName) => change({ queueName })}
          />
          <TextField
            label="Time to live in the queue, in seconds"
            path={`${to}.queueMessageTimeToLiveInSeconds`}
            value={draft.queueTtl}
            onChange={(queueTtl) => change({ queueTtl })}
          />
        </FieldRow>
      )}
    </>
  );
}

function Retries({ draft, change, topic }: FieldsProps & { readonly topic: TopicView }) {
  return (
    <FieldGroup title="Retry policy">
      <FieldRow>
        <TextField
          label="Maximum attempts"
          path="properties.retryPolicy.maxDeliveryAttempts"
          hint="1 to 30; empty: the profile's."
          value={draft.maxAttempts}
          onChange={(maxAttempts) => change({ maxAttempts })}
        />
        <TextField
          label="Time to live, in minutes"
          path="properties.retryPolicy.eventTimeToLiveInMinutes"
          hint="1 to 1440; empty: the profile's."
          value={draft.ttlMinutes}
          onChange={(ttlMinutes) => change({ ttlMinutes })}
        />
      </FieldRow>
      <Schedule draft={draft} profile={topic.profile} />
      <FieldRow>
        <TextField
          label="Storage account for dead letters (resource id)"
          path="properties.deadLetterDestination"
          hint="Empty: undeliverable events are dropped."
          value={draft.deadLetterId}
          onChange={(deadLetterId) => change({ deadLetterId })}
        />
        <TextField
          label="Container"
          value={draft.deadLetterContainer}
          onChange={(deadLetterContainer) => change({ deadLetterContainer })}
        />
      </FieldRow>
    </FieldGroup>
  );
}

/** The attempts of an event if its endpoint always answered 503. */
export function Schedule({
  draft,
  profile,
}: {
  readonly draft: Pick<Draft, "maxAttempts" | "ttlMinutes" | "deadLetterId" | "endpointType">;
  readonly profile: string;
}) {
  const styles = useStyles();
  const { maxAttempts, ttlMinutes, deadLetterId, endpointType } = draft;
  const attemptsMax = numberOr(maxAttempts);
  const minutes = numberOr(ttlMinutes);
  const { played, refused, isWaiting } = useSimulation({
    profile: profile as ChosenProfile,
    destination: isWebHook({ endpointType }) ? "webhook" : "resource",
    outage: [{ fromMs: 0, untilMs: null, does: 503 }],
    deadLetter: deadLetterId.trim() !== "",
    // What is not a number is sent as written, so that the broker can say what is wrong.
    ...(attemptsMax !== null && { maxDeliveryAttempts: attemptsMax as number }),
    ...(minutes !== null && { eventTimeToLiveInMinutes: minutes as number }),
  });
  if (refused !== null || played === null) {
    return (
      <div className={styles.schedule}>
        <Text className={refused === null ? styles.words : styles.wrong}>
          {refused?.message ?? "The schedule is being drawn …"}
        </Text>
      </div>
    );
  }
  const { attempts, attemptsMade, end } = played;
  return (
    <div className={styles.schedule} aria-busy={isWaiting}>
      <Text className={styles.words}>
        {`Against an endpoint that always answers 503, ${sayMany(attemptsMade, "attempt")} would be ` +
          `made within ${sayLength(end.atMs)}; then the event is ${end.kind === "dropped" ? "dropped" : "dead-lettered"} ` +
          `(${end.reason ?? end.kind}).`}
      </Text>
      <Timeline
        label="Attempts under this policy"
        untilMs={end.atMs}
        marks={[
          ...attempts.map(({ number, atMs }) => ({
            atMs,
            kind: "bad" as const,
            words: `attempt ${number} after ${sayLength(atMs)}`,
          })),
          {
            atMs: end.atMs,
            kind: end.kind === "dropped" ? ("lost" as const) : ("end" as const),
            words: `${end.kind}: ${end.reason ?? ""}`,
          },
        ]}
      />
    </div>
  );
}

function Filters({ draft, change, topic }: FieldsProps & { readonly topic: TopicView }) {
  return (
    <FieldGroup title="Which events">
      <AreaField
        label="Event types"
        path="properties.filter.includedEventTypes"
        hint="One per line. Empty: all."
        rows={2}
        value={draft.eventTypes}
        onChange={(eventTypes) => change({ eventTypes })}
      />
      <FieldRow>
        <TextField
          label="Subject begins with"
          path="properties.filter.subjectBeginsWith"
          value={draft.begins}
          onChange={(begins) => change({ begins })}
        />
        <TextField
          label="Subject ends with"
          path="properties.filter.subjectEndsWith"
          value={draft.ends}
          onChange={(ends) => change({ ends })}
        />
      </FieldRow>
      <FieldRow>
        <SwitchField
          label="Subject is case-sensitive"
          value={draft.isCaseSensitive}
          onChange={(isCaseSensitive) => change({ isCaseSensitive })}
        />
        <SwitchField
          label="Match values in arrays"
          value={draft.onArrays}
          onChange={(onArrays) => change({ onArrays })}
        />
      </FieldRow>
      <ClauseFields
        path="properties.filter.advancedFilters"
        clauses={draft.clauses}
        onChange={(clauses) => change({ clauses })}
      />
      <DryRun topic={topic} filter={() => filterOf(draft)} />
    </FieldGroup>
  );
}

/** The result of the filter for a pasted event. */
export function DryRun({
  topic,
  filter,
  subscription,
}: {
  readonly topic: TopicView;
  /** The filter in the form. Default: the active one. */
  readonly filter?: () => object;
  readonly subscription?: { readonly name: string; readonly domainTopic: string | null };
}) {
  const styles = useStyles();
  const { refused, run } = useOrder();
  const [text, setText] = useState(() =>
    JSON.stringify(exampleEvent(topic, { id: "1", now: "2030-01-01T00:00:00Z" }), null, 2),
  );
  const [verdicts, setVerdicts] = useState<readonly FilterVerdict[] | null>(null);
  const explain = () =>
    void run(async () => {
      setVerdicts(null);
      const order = {
        event: JSON.parse(text),
        ...(filter !== undefined && { filter: filter() }),
        ...(subscription !== undefined && { subscription: subscription.name }),
        ...((subscription?.domainTopic ?? null) !== null && {
          domainTopic: subscription?.domainTopic,
        }),
      };
      const path = apiPath(["topics", topic.name, "explain"]);
      setVerdicts(await ask<FilterVerdict[]>("POST", path, order));
    });
  return (
    <div className={styles.verdict}>
      <AreaField label="Try it on an event" rows={6} isCode value={text} onChange={setText} />
      <div>
        <Button onClick={explain}>Would it match?</Button>
      </div>
      <div aria-live="polite">
        {refused !== null && <Refusal refused={refused} />}
        {verdicts !== null && <Verdicts verdicts={verdicts} />}
      </div>
    </div>
  );
}

function Rest({ draft, change }: FieldsProps) {
  return (
    <FieldGroup title="Other settings">
      <FieldRow>
        <AreaField
          label="Labels"
          path="properties.labels"
          hint="One per line."
          rows={2}
          value={draft.labels}
          onChange={(labels) => change({ labels })}
        />
        <TextField
          label="Expires at"
          path="properties.expirationTimeUtc"
          hint="UTC, such as 2030-01-01T00:00:00Z; empty: never."
          value={draft.expires}
          onChange={(expires) => change({ expires })}
        />
      </FieldRow>
    </FieldGroup>
  );
}
