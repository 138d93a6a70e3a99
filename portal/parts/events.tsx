// Events as rows: when each was accepted, and what became of it.

import type { EventSummary, SearchPage } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import { makeStyles, tokens } from "../fluent.ts";
import { eventPath, topicPath } from "../route.ts";
import { To } from "./link.tsx";
import { Empty } from "./page.tsx";
import { type Column, Rows } from "./table.tsx";
import { Long, StateBadge, When } from "./texts.tsx";

const useStyles = makeStyles({
  states: { display: "inline-flex", flexWrap: "wrap", gap: tokens.spacingHorizontalXS },
  before: { color: tokens.colorNeutralForeground2, marginTop: 0 },
  quiet: { color: tokens.colorNeutralForeground2 },
});

export const eventColumns: readonly Column<EventSummary>[] = [
  { title: "Accepted", width: "100px", show: ({ acceptedAt }) => <When at={acceptedAt} /> },
  {
    title: "Event",
    show: ({ event, id }) => (
      <To to={eventPath(event)}>
        <Long>{id}</Long>
      </To>
    ),
  },
  { title: "Type", isWideOnly: true, show: ({ type }) => <Long>{type}</Long> },
  { title: "Subject", isExtra: true, show: ({ subject }) => <Long>{subject}</Long> },
  {
    title: "Topic",
    isWideOnly: true,
    show: ({ topic }) => (
      <To to={topicPath(topic)}>
        <Long>{topic}</Long>
      </To>
    ),
  },
  { title: "State", width: "220px", show: (event) => <States event={event} /> },
  {
    title: "Still waits",
    width: "125px",
    isWideOnly: true,
    show: (event) => <Waits event={event} />,
  },
];

/** How many deliveries are in each state; the story shows their subscriptions. */
function States({ event }: { readonly event: EventSummary }) {
  const styles = useStyles();
  const counts = Map.groupBy(event.deliveries, ({ state }) => state);
  if (counts.size === 0) return <span>matched nothing</span>;
  return (
    <span className={styles.states}>
      {[...counts].map(([state, own]) => (
        <StateBadge key={state} state={state} count={own.length} />
      ))}
    </span>
  );
}

/** Who has not got it yet. */
function Waits({ event }: { readonly event: EventSummary }) {
  const styles = useStyles();
  const names = event.deliveries
    .filter(({ state }) => state === "waiting" || state === "deadLettering")
    .map(({ subscription }) => subscription);
  if (names.length === 0) return <span className={styles.quiet}>–</span>;
  return <Long>{names.join(", ")}</Long>;
}

/** In place of live attempts, until there is one: what there was before. */
export function LatestEvents({ shownMax }: { readonly shownMax: number }) {
  const styles = useStyles();
  const path = apiPath(["events"], { limit: String(shownMax) });
  const { value } = useAsked<SearchPage<EventSummary>>(path);
  const events = value?.value ?? [];
  if (events.length === 0) {
    return (
      <Empty title="No attempt since this page was opened">
        Attempts appear here as they are made.
      </Empty>
    );
  }
  return (
    <>
      <p className={styles.before}>
        No attempt since this page was opened. The latest events before that:
      </p>
      <Rows
        label="Latest events"
        columns={eventColumns}
        rows={events}
        keyOf={({ event }) => event}
      />
    </>
  );
}
