// The form of a subscription, in steps: where to, which events, and all that most leave as it is,
// folded with a line that says how it is.

import type { ReactNode } from "react";
import type { TopicView } from "../../src/core/api/views.ts";
import { deliverySchemasOf } from "../../src/core/schema/convert.ts";
import type { Refused } from "../api.ts";
import {
  AreaField,
  bound,
  ChoiceField,
  FieldRow,
  Form,
  SwitchField,
  TextField,
} from "../parts/form.tsx";
import { Fold, Step } from "../parts/steps.tsx";
import { sayMany, saySchema } from "../words.ts";
import { Destination } from "./destination.tsx";
import type { FieldsProps } from "./draft.ts";
import { Filters } from "./events.tsx";
import { HeaderFields } from "./lists.tsx";
import { DeadLetters, RetryPolicy } from "./policy.tsx";

const to = "properties.destination.properties";

export function SubscriptionForm({
  topic,
  draft,
  change,
  refused,
  submitWords,
  keptUrl = null,
  onSubmit,
  onCancel,
  cancelWords,
  basics,
  children,
}: FieldsProps & {
  readonly topic: TopicView;
  readonly refused: Refused | null;
  readonly submitWords: string;
  /** What is kept when no URL is entered. */
  readonly keptUrl?: string | null;
  readonly onSubmit: () => void;
  readonly onCancel?: () => void;
  readonly cancelWords?: string;
  /** Only of a new one: its name. */
  readonly basics?: ReactNode;
  /** Above the buttons. */
  readonly children?: ReactNode;
}) {
  const fields = { draft, change };
  const isNew = basics !== undefined;
  const first = isNew ? 2 : 1;
  return (
    <Form {...{ refused, submitWords, onSubmit, onCancel, cancelWords }}>
      {isNew && (
        <Step number={1} title="Name">
          {basics}
        </Step>
      )}
      <Step number={first} title="Endpoint">
        <Destination {...fields} keptUrl={keptUrl} />
      </Step>
      <Step number={first + 1} title="Filters: which events">
        <Filters {...fields} topic={topic} />
      </Step>
      <Step number={first + 2} title="Delivery">
        <RetryPolicy {...fields} topic={topic} />
        <DeadLetters {...fields} isNew={isNew} />
        <Batching {...fields} />
        <Headers {...fields} />
        <AdditionalFeatures {...fields} topic={topic} />
      </Step>
      {children}
    </Form>
  );
}

function Batching({ draft, change }: FieldsProps) {
  const own = bound(draft, change);
  const { maxEvents, batchKilobytes } = draft;
  const size = batchKilobytes === "" ? "" : `, about ${batchKilobytes} KB`;
  const count = maxEvents.trim() === "" ? "one event" : `up to ${maxEvents} events`;
  return (
    <Fold title="Batching" summary={`${count} a request${size}`}>
      <FieldRow>
        <TextField
          label="Maximum events per request"
          path={`${to}.maxEventsPerBatch`}
          hint="1 to 5000; empty: one."
          {...own("maxEvents")}
        />
        <TextField
          label="Preferred size of a request, in KB"
          path={`${to}.preferredBatchSizeInKilobytes`}
          hint="1 to 1024"
          {...own("batchKilobytes")}
        />
      </FieldRow>
      <SwitchField
        label="When a batch is undeliverable, halve it to find the bad event"
        path="properties.posthorn.splitOnFailure"
        {...own("splits")}
      />
    </Fold>
  );
}

function Headers({ draft, change }: FieldsProps) {
  const { headers } = draft;
  const summary =
    headers.length === 0 ? "no headers of your own" : headers.map(({ name }) => name).join(", ");
  return (
    <Fold title="Delivery properties" summary={summary}>
      <HeaderFields
        path={`${to}.deliveryAttributeMappings`}
        headers={headers}
        onChange={(given) => change({ headers: given })}
      />
    </Fold>
  );
}

function AdditionalFeatures({ draft, change, topic }: FieldsProps & { readonly topic: TopicView }) {
  const own = bound(draft, change);
  const schemas = deliverySchemasOf[topic.inputSchema as keyof typeof deliverySchemasOf] ?? [];
  const labels = draft.labels.split("\n").filter((each) => each.trim() !== "").length;
  const summary = [
    draft.deliverySchema === "" ? "the topic's schema" : saySchema(draft.deliverySchema),
    draft.signs ? "signed" : "not signed",
    draft.expires.trim() === "" ? "never expires" : `expires ${draft.expires}`,
    ...(labels === 0 ? [] : [sayMany(labels, "label")]),
  ].join(", ");
  return (
    <Fold title="Additional features" summary={summary}>
      <ChoiceField
        label="Delivered as"
        path="properties.eventDeliverySchema"
        {...own("deliverySchema")}
        choices={[
          ["", "the topic's default"],
          ...schemas.map((name) => [name, saySchema(name)] as const),
        ]}
      />
      <SwitchField
        label="Sign deliveries (Standard Webhooks)"
        path="properties.posthorn.signing"
        hint="The secret is created when you save, and shown on the page of the subscription."
        {...own("signs")}
      />
      <FieldRow>
        <AreaField
          label="Labels"
          path="properties.labels"
          hint="One per line."
          rows={2}
          {...own("labels")}
        />
        <TextField
          label="Expires at"
          path="properties.expirationTimeUtc"
          hint="UTC, such as 2030-01-01T00:00:00Z; empty: never."
          {...own("expires")}
        />
      </FieldRow>
    </Fold>
  );
}
