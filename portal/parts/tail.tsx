// The live tail: attempts as they are made, filtered and paused at will.

import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import type { LiveAttempt } from "../../src/core/api/views.ts";
import { Input, makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { SearchRegular } from "../icons/drawings.tsx";
import { filterLive, useLive } from "../live.ts";
import { eventPath, subscriptionPath } from "../route.ts";
import { sayCount, sayTook } from "../words.ts";
import { HeldRows, PauseButton } from "./held.tsx";
import { To } from "./link.tsx";
import { Card, Empty } from "./page.tsx";
import type { Column } from "./table.tsx";
import { Long, LongWords, When } from "./texts.tsx";

const useStyles = makeStyles({
  tools: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    gap: tokens.spacingHorizontalS,
  },
  filter: { width: "220px", maxWidth: "100%" },
  good: { color: tokens.colorPaletteGreenForeground1 },
  bad: { color: tokens.colorPaletteRedForeground1 },
  missed: { color: tokens.colorNeutralForeground2, marginBottom: 0 },
});

/** Not needed for the first look at a page. */
const Before = lazy(async () => ({ default: (await import("./events.tsx")).LatestEvents }));

export function Tail({
  shownMax,
  more,
}: {
  readonly shownMax: number;
  readonly more?: React.ReactNode;
}) {
  const styles = useStyles();
  const attempts = useLive("attempts");
  const missed = useLive("missed");
  const [wanted, setWanted] = useState("");
  const [isPaused, setPaused] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => filterLive(wanted.trim()), restMs);
    return () => clearTimeout(timer);
  }, [wanted]);
  useEffect(() => () => filterLive(""), []);
  const rows = useMemo(
    () => attempts.filter((each) => isLike(each, wanted)).slice(0, shownMax),
    [attempts, wanted, shownMax],
  );
  return (
    <Card
      title="Live"
      actions={
        <div className={styles.tools}>
          <Input
            className={styles.filter}
            size="small"
            aria-label="Filter the live tail"
            placeholder="type:…, topic:… or a word"
            contentBefore={<SearchRegular />}
            value={wanted}
            onChange={(_, { value }) => setWanted(value)}
          />
          <PauseButton isPaused={isPaused} onChange={setPaused} />
          {more}
        </div>
      }
    >
      {attempts.length === 0 ? (
        <Suspense>
          <Before shownMax={shownMax} />
        </Suspense>
      ) : rows.length === 0 ? (
        <Empty title="No attempt is like that">
          {`None of the latest ${sayCount(attempts.length)} has “${wanted.trim()}” in it.`}
        </Empty>
      ) : (
        <HeldRows
          key={wanted}
          label="Latest attempts"
          columns={columns}
          rows={rows}
          keyOf={keyOf}
          isPaused={isPaused}
        />
      )}
      {missed > 0 && (
        <p className={styles.missed}>{sayCount(missed)} more were too many to show.</p>
      )}
    </Card>
  );
}

/** For what came before the broker knew the words; what is not named here is left to it. */
function isLike(attempt: LiveAttempt, wanted: string): boolean {
  const { eventId: id, topic, subscription, subject, type } = attempt;
  const named: Readonly<Record<string, string>> = { id, topic, subscription, subject, type };
  const all = Object.values(named).join(" ").toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => {
      const [, name = "", value = ""] = /^(\w+):(.*)$/.exec(word) ?? [];
      if (name === "") return all.includes(word);
      return named[name]?.toLowerCase().includes(value.replaceAll('"', "")) ?? true;
    });
}

/** After the last key. */
const restMs = 400;

function keyOf({ event, subscription, number, stage }: LiveAttempt): string {
  return `${event} ${subscription} ${stage} ${number}`;
}

/** The latest end is on top: by their beginnings slow attempts would be out of order. */
function endOf({ at, durationMs }: LiveAttempt): string {
  return new Date(Date.parse(at) + durationMs).toISOString();
}

function Outcome({ attempt }: { readonly attempt: LiveAttempt }) {
  const styles = useStyles();
  const { outcome, status, decision } = attempt;
  return (
    <span className={mergeClasses(decision === "delivered" ? styles.good : styles.bad)}>
      {status === null ? outcome : `${status} ${outcome}`}
    </span>
  );
}

const columns: readonly Column<LiveAttempt>[] = [
  { title: "Time", width: "90px", show: (attempt) => <When at={endOf(attempt)} /> },
  {
    title: "Event",
    show: ({ event, eventId }) => (
      <To to={eventPath(event)}>
        <Long>{eventId}</Long>
      </To>
    ),
  },
  {
    title: "Subscription",
    isWideOnly: true,
    show: ({ subscription: name, ...named }) => (
      <To to={subscriptionPath({ ...named, name })}>
        <Long>{name}</Long>
      </To>
    ),
  },
  { title: "Attempt", width: "70px", align: "right", show: ({ number }) => number },
  { title: "Outcome", width: "120px", show: (attempt) => <Outcome attempt={attempt} /> },
  {
    title: "Took",
    width: "80px",
    align: "right",
    isExtra: true,
    show: ({ durationMs }) => sayTook(durationMs),
  },
  {
    title: "In words",
    isWideOnly: true,
    // Of a success the outcome has said all.
    show: ({ words, decision }) =>
      decision === "delivered" ? "–" : <LongWords>{words}</LongWords>,
  },
];
