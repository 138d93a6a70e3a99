// Sending dead letters again: how many of which error and of which time, counted as it is chosen,
// and then on their way. Where to and how fast are folded away.

import { useEffect, useState } from "react";
import type { RedriveOrder } from "../../src/core/api/orders.ts";
import type { RedriveView } from "../../src/core/api/views.ts";
import { apiPath, ask, asRefused, type Refused } from "../api.ts";
import { makeStyles, tokens } from "../fluent.ts";
import { numberOr } from "../forms/draft.ts";
import { useSay } from "../frame/toasts.tsx";
import { brokerNow } from "../live.ts";
import { FormDialog } from "../parts/dialogs.tsx";
import { ChoiceField, FieldRow, SwitchField, TextField, useOrder } from "../parts/form.tsx";
import { Note } from "../parts/page.tsx";
import { Fold } from "../parts/steps.tsx";
import { sayMany } from "../words.ts";

const useStyles = makeStyles({
  what: {
    fontSize: tokens.fontSizeBase400,
    fontWeight: tokens.fontWeightSemibold,
    margin: 0,
    overflowWrap: "anywhere",
  },
  list: { margin: 0, paddingLeft: tokens.spacingHorizontalL, overflowWrap: "anywhere" },
});

type Way = "own" | "other" | "url";

const hourMs = 3_600_000;

const spans = [
  ["1", "last hour"],
  ["24", "last 24 hours"],
  ["168", "last 7 days"],
  ["", "all of them"],
] as const;

export function RedriveDialog({
  order,
  what,
  hours: hoursGiven = "",
  onClose,
  onStarted,
}: {
  readonly order: Pick<RedriveOrder, "ids" | "query">;
  /** Which, in words: `BadRequest, legacy-erp`; null: those that were chosen. */
  readonly what: string | null;
  readonly hours?: string;
  readonly onClose: () => void;
  readonly onStarted: (redrive: RedriveView) => void;
}) {
  const styles = useStyles();
  const say = useSay();
  const { refused, run } = useOrder();
  const [hours, setHours] = useState(hoursGiven);
  const [way, setWay] = useState<Way>("own");
  const [topic, setTopic] = useState("");
  const [subscription, setSubscription] = useState("");
  const [url, setUrl] = useState("");
  const [perSecond, setPerSecond] = useState("10");
  const [force, setForce] = useState(false);
  const whole = {
    ...order,
    ...(order.query !== undefined && { query: withSpan(order.query, hours) }),
    ...(way === "other" && { to: { topic: topic.trim(), subscription: subscription.trim() } }),
    ...(way === "url" && { to: { url: url.trim() } }),
    ...(numberOr(perSecond) !== null && { perSecond: numberOr(perSecond) }),
    ...(force && { force }),
  };
  const tried = useDryRun(whole);
  const start = () =>
    void run(async () => {
      const started = await ask<RedriveView>("POST", apiPath(["redrives"]), whole);
      // How many there are is not known yet: they are still being read.
      say.note("The dead letters are being sent again");
      onStarted(started);
    });
  const count = tried.view?.total ?? null;
  const spanWords = spans.find(([each]) => each === hours)?.[1] ?? "";
  const parts = [
    count === null ? "Counting …" : sayMany(count, "letter"),
    ...(what === null || what === "" ? [] : [what]),
    ...(order.query === undefined ? [] : [spanWords]),
  ];
  return (
    <FormDialog
      title="Redrive dead letters"
      isOpen
      onClose={onClose}
      refused={refused}
      submitWords={count === null ? "Redrive them" : `Redrive ${sayMany(count, "letter")}`}
      onSubmit={start}
    >
      <p className={styles.what} aria-live="polite">
        {parts.join(", ")}
      </p>
      {order.query !== undefined && (
        <ChoiceField label="Of which time" value={hours} choices={spans} onChange={setHours} />
      )}
      <Fold title="Where to, and how fast" summary={wayWords(way, perSecond)}>
        <ChoiceField
          label="Where to"
          path="to"
          value={way}
          choices={[
            ["own", "their own subscription"],
            ["other", "another subscription"],
            ["url", "a URL"],
          ]}
          onChange={(value) => setWay(value as Way)}
        />
        {way === "other" && (
          <FieldRow>
            <TextField label="Topic" value={topic} onChange={setTopic} />
            <TextField label="Subscription" value={subscription} onChange={setSubscription} />
          </FieldRow>
        )}
        {way === "url" && <TextField label="URL" path="to.url" value={url} onChange={setUrl} />}
        <TextField
          label="Dead letters a second"
          path="perSecond"
          value={perSecond}
          onChange={setPerSecond}
        />
        <SwitchField
          label="Also those that have been sent again three times"
          value={force}
          onChange={setForce}
        />
      </Fold>
      {tried.view !== null && <Tried view={tried.view} />}
      {tried.refused !== null && <Note intent="warning">{tried.refused.message}</Note>}
    </FormDialog>
  );
}

function wayWords(way: Way, perSecond: string): string {
  const to = { own: "their own subscription", other: "another subscription", url: "a URL" }[way];
  return `to ${to}, ${perSecond} a second`;
}

function withSpan(query: NonNullable<RedriveOrder["query"]>, hours: string) {
  if (hours === "") return query;
  return { ...query, from: new Date(brokerNow() - Number(hours) * hourMs).toISOString() };
}

/** After the last change. */
const restMs = 250;

interface DryRun {
  readonly view: RedriveView | null;
  readonly refused: Refused | null;
}

/** What would be sent, asked for again after every change but that of time itself. */
function useDryRun(order: object): DryRun {
  const [held, setHeld] = useState<DryRun>({ view: null, refused: null });
  const key = JSON.stringify(order, (name, value) =>
    name === "from" ? value?.slice(0, 16) : value,
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is the order.
  useEffect(() => {
    const left = new AbortController();
    setHeld({ view: null, refused: null });
    const timer = setTimeout(() => {
      ask<RedriveView>("POST", apiPath(["redrives"]), { ...order, dryRun: true }, left.signal)
        .then((view) => setHeld({ view, refused: null }))
        .catch((error: unknown) => {
          if (!left.signal.aborted) setHeld({ view: null, refused: asRefused(error) });
        });
    }, restMs);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [key]);
  return held;
}

function Tried({ view }: { readonly view: RedriveView }) {
  const styles = useStyles();
  if (view.skipped === 0 && view.sample.length === 0 && view.remarks.length === 0) return null;
  return (
    <Note
      title={`To ${view.to}${view.skipped > 0 ? `; ${sayMany(view.skipped, "letter")} would be skipped` : ""}.`}
    >
      <ul className={styles.list}>
        {view.sample.slice(0, 3).map(({ id, eventId, type, subscription: to }) => (
          <li key={id}>
            {eventId} ({type}) for {to.toLowerCase()}
          </li>
        ))}
        {view.remarks.slice(0, 3).map((words) => (
          <li key={words}>{words}</li>
        ))}
      </ul>
    </Note>
  );
}
