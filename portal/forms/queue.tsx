// Event subscriptions of namespace topics: a new queue, and what can be changed of one that is
// there. What the fields do not show (filters on data, dead letters, a push's destination) is kept.

import { useMemo, useState } from "react";
import type { Page, SubscriptionView, TopicView } from "../../src/core/api/views.ts";
import { apiPath, ask, Refused } from "../api.ts";
import { type ArmHandover, type ArmQueue, askArm, namespaceId } from "../arm.ts";
import { useSay } from "../frame/toasts.tsx";
import { refreshOverview } from "../live.ts";
import { FormDialog } from "../parts/dialogs.tsx";
import { AreaField, bound, FieldRow, Form, TextField, useOrder } from "../parts/form.tsx";
import { go, subscriptionPath } from "../route.ts";
import { Diff, type Names } from "./diff.tsx";
import { linesOf, numberOr } from "./draft.ts";
import { StoredCard, useDraft } from "./edit.tsx";

interface QueueDraft {
  readonly lockSeconds: string;
  readonly maxCount: string;
  readonly timeToLive: string;
  readonly eventTypes: string;
}

const plainQueue: QueueDraft = { lockSeconds: "", maxCount: "", timeToLive: "", eventTypes: "" };

type Mode = "queue" | "push";

function handoverOf({ lockSeconds, maxCount, timeToLive }: QueueDraft, mode: Mode): ArmHandover {
  return {
    ...(mode === "queue" && { receiveLockDurationInSeconds: numberOr(lockSeconds) }),
    maxDeliveryCount: numberOr(maxCount),
    eventTimeToLive: isoLength(timeToLive),
  };
}

const short = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)(?:min|m))?(?:(\d+)s)?$/i;
const iso = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/i;

/** `12h` and `1 d 6 h` as well; what is no length of time is left to the broker's own words. */
function isoLength(given: string): string | null {
  const text = given.replaceAll(" ", "");
  if (text === "") return null;
  const found = short.exec(text);
  if (found === null) return given;
  const [days, ...parts] = found.slice(1);
  const time = parts.map((part, place) => (part === undefined ? "" : part + "HMS"[place])).join("");
  return `P${days === undefined ? "" : `${days}D`}${time === "" ? "" : `T${time}`}`;
}

/** `1 d 6 h`; what is not of days, hours, minutes and seconds stays as it is. */
function shortLength(given: string): string {
  const parts = iso.exec(given)?.slice(1);
  if (parts === undefined) return given;
  const units = ["d", "h", "min", "s"];
  return parts
    .flatMap((part, place) => (part === undefined ? [] : `${part} ${units[place]}`))
    .join(" ");
}

function propertiesOf(draft: QueueDraft, mode: Mode, stored: ArmQueue | null): object {
  const types = linesOf(draft.eventTypes);
  return {
    deliveryConfiguration: {
      deliveryMode: mode === "queue" ? "Queue" : "Push",
      [mode]: handoverOf(draft, mode),
    },
    filtersConfiguration: {
      ...stored?.properties.filtersConfiguration,
      includedEventTypes: types.length === 0 ? null : types,
    },
  };
}

function QueueFields({
  draft,
  change,
  mode,
}: {
  readonly draft: QueueDraft;
  readonly change: (changes: Partial<QueueDraft>) => void;
  readonly mode: Mode;
}) {
  const own = bound(draft, change);
  const path = `properties.deliveryConfiguration.${mode}`;
  return (
    <>
      <FieldRow>
        {mode === "queue" && (
          <TextField
            label="Lock duration, in seconds"
            path={`${path}.receiveLockDurationInSeconds`}
            hint="60 to 300; empty: 60."
            {...own("lockSeconds")}
          />
        )}
        <TextField
          label="Maximum delivery count"
          path={`${path}.maxDeliveryCount`}
          hint="1 to 10; empty: 10."
          {...own("maxCount")}
        />
        <TextField
          label="Time to live"
          path={`${path}.eventTimeToLive`}
          hint="Such as 12h or 1d; empty: as long as the topic keeps events."
          {...own("timeToLive")}
        />
      </FieldRow>
      <AreaField
        label="Event types"
        path="properties.filtersConfiguration.includedEventTypes"
        hint="One per line. Empty: all."
        rows={2}
        {...own("eventTypes")}
      />
    </>
  );
}

/** A namespace and a topic are made if there are none of their names. */
export function NewQueue({
  topic,
  onClose,
}: {
  /** Of this topic; null: of one that is named in the form. */
  readonly topic: TopicView | null;
  readonly onClose: () => void;
}) {
  const { refused, run } = useOrder();
  const [namespaceName, topicName] = topic?.name.split("/") ?? ["", ""];
  const [space, setSpace] = useState(namespaceName ?? "");
  const [within, setWithin] = useState(topicName ?? "");
  const [name, setName] = useState("");
  const [draft, setDraft] = useState(plainQueue);
  const create = () =>
    void run(async () => {
      const id = topic?.armId ?? (await topicIn(space.trim(), within.trim()));
      await askArm("PUT", `${id}/eventSubscriptions/${name.trim() || " "}`, {
        properties: propertiesOf(draft, "queue", null),
      });
      await refreshOverview();
      const named = { domainTopic: null, name: name.trim() };
      go(subscriptionPath({ topic: `${space.trim()}/${within.trim()}`, ...named }, "receive"));
    });
  return (
    <FormDialog
      title="New queue"
      isOpen
      onClose={onClose}
      refused={refused}
      submitWords="Create"
      onSubmit={create}
    >
      {topic === null && (
        <FieldRow>
          <TextField
            label="Namespace"
            path="namespaceName"
            isRequired
            value={space}
            placeholder="shop"
            onChange={setSpace}
          />
          <TextField
            label="Topic"
            path="topicName"
            isRequired
            value={within}
            placeholder="orders"
            onChange={setWithin}
          />
        </FieldRow>
      )}
      <TextField
        label="Name"
        path="eventSubscriptionName"
        isRequired
        value={name}
        placeholder="billing"
        onChange={setName}
      />
      <QueueFields
        draft={draft}
        change={(changes) => setDraft((before) => ({ ...before, ...changes }))}
        mode="queue"
      />
    </FormDialog>
  );
}

async function topicIn(space: string, within: string): Promise<string> {
  const { value } = await ask<Page<TopicView>>("GET", apiPath(["topics"]));
  const known = value.find(({ name }) => name.toLowerCase() === `${space}/${within}`.toLowerCase());
  if (known !== undefined) return known.armId;
  const id = namespaceId(space || " ");
  const isThere = await askArm("GET", id).then(() => true, isMissing);
  if (!isThere) await askArm("PUT", id, { location: "local" });
  const topic = `${id}/topics/${within || " "}`;
  await askArm("PUT", topic, { properties: {} });
  return topic;
}

/** False: there is none. */
function isMissing(error: unknown): false {
  if (error instanceof Refused && error.status === 404) return false;
  throw error;
}

export function EditQueue(given: {
  readonly subscription: SubscriptionView;
  readonly onSaved: () => void;
}) {
  return (
    <StoredCard<ArmQueue> {...given}>
      {(stored, onSaved) => <Edit stored={stored} onSaved={onSaved} />}
    </StoredCard>
  );
}

const names: Names<QueueDraft> = {
  lockSeconds: "Lock duration, in seconds",
  maxCount: "Maximum delivery count",
  timeToLive: "Time to live",
  eventTypes: "Event types",
};

function Edit({ stored, onSaved }: { readonly stored: ArmQueue; readonly onSaved: () => void }) {
  const say = useSay();
  const mode = stored.properties.deliveryConfiguration.queue === undefined ? "push" : "queue";
  const kept = useMemo(() => draftOf(stored, mode), [stored, mode]);
  const { draft, change, changes, form } = useDraft(kept, names, async (given) => {
    await askArm("PATCH", stored.id, { properties: propertiesOf(given, mode, stored) });
    say.done("Saved");
    onSaved();
  });
  return (
    <Form {...form}>
      <QueueFields {...{ draft, change, mode }} />
      <Diff changes={changes} />
    </Form>
  );
}

function draftOf({ properties }: ArmQueue, mode: Mode): QueueDraft {
  const { deliveryConfiguration, filtersConfiguration } = properties;
  const handover = deliveryConfiguration[mode];
  return {
    lockSeconds: handover?.receiveLockDurationInSeconds?.toString() ?? "",
    maxCount: handover?.maxDeliveryCount?.toString() ?? "",
    timeToLive: shortLength(handover?.eventTimeToLive ?? ""),
    eventTypes: (filtersConfiguration?.includedEventTypes ?? []).join("\n"),
  };
}
