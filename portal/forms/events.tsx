// Which events a subscription gets: the filter, tried on the latest real events of the topic while
// it is typed, with the types that were seen to choose from; and on an event that is pasted.

import { useEffect, useState } from "react";
import type { FilterVerdict, Page, TopicView, TriedFilter } from "../../src/core/api/views.ts";
import { apiPath, ask, useAsked } from "../api.ts";
import { Button, makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { AddRegular } from "../icons/drawings.tsx";
import { AreaField, bound, FieldRow, SwitchField, TextField, useOrder } from "../parts/form.tsx";
import { To } from "../parts/link.tsx";
import { Refusal } from "../parts/page.tsx";
import { Fold } from "../parts/steps.tsx";
import { Verdicts } from "../parts/verdicts.tsx";
import { eventPath } from "../route.ts";
import { exampleEvent } from "../snippets.ts";
import { sayCount, sayMany } from "../words.ts";
import { type FieldsProps, filterOf, linesOf } from "./draft.ts";
import { ClauseFields } from "./lists.tsx";

const useStyles = makeStyles({
  verdict: { display: "flex", flexDirection: "column", gap: tokens.spacingVerticalS },
  types: { display: "flex", flexWrap: "wrap", gap: tokens.spacingHorizontalXS },
  type: { minWidth: "auto", maxWidth: "100%" },
  count: { color: tokens.colorNeutralForeground2, marginLeft: tokens.spacingHorizontalXS },
  tried: {
    backgroundColor: tokens.colorNeutralBackground3,
    borderRadius: tokens.borderRadiusMedium,
    padding: tokens.spacingHorizontalM,
  },
  said: { fontWeight: tokens.fontWeightSemibold },
  list: {
    listStyleType: "none",
    margin: `${tokens.spacingVerticalS} 0 0`,
    padding: 0,
    maxHeight: "220px",
    overflowY: "auto",
  },
  event: {
    display: "grid",
    gridTemplateColumns: "20px minmax(0, 1fr) minmax(0, 2fr)",
    columnGap: tokens.spacingHorizontalS,
    padding: "2px 0",
    fontSize: tokens.fontSizeBase200,
    "@media (max-width: 640px)": { gridTemplateColumns: "20px minmax(0, 1fr)" },
  },
  cut: { overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" },
  why: {
    color: tokens.colorNeutralForeground2,
    "@media (max-width: 640px)": { gridColumn: "2" },
  },
  yes: { color: tokens.colorPaletteGreenForeground1, fontWeight: tokens.fontWeightBold },
  no: { color: tokens.colorPaletteRedForeground1, fontWeight: tokens.fontWeightBold },
});

export function Filters({ draft, change, topic }: FieldsProps & { readonly topic: TopicView }) {
  const own = bound(draft, change);
  return (
    <>
      <AreaField
        label="Event types"
        path="properties.filter.includedEventTypes"
        hint="One per line. Empty: all."
        rows={2}
        {...own("eventTypes")}
      />
      <SeenTypes draft={draft} change={change} topic={topic} />
      <FieldRow>
        <TextField
          label="Subject begins with"
          path="properties.filter.subjectBeginsWith"
          {...own("begins")}
        />
        <TextField
          label="Subject ends with"
          path="properties.filter.subjectEndsWith"
          {...own("ends")}
        />
      </FieldRow>
      <FieldRow>
        <SwitchField label="Subject is case-sensitive" {...own("isCaseSensitive")} />
        <SwitchField label="Match values in arrays" {...own("onArrays")} />
      </FieldRow>
      <ClauseFields
        path="properties.filter.advancedFilters"
        clauses={draft.clauses}
        onChange={(clauses) => change({ clauses })}
      />
      <Tried topic={topic} filter={filterOf(draft)} />
      <Fold title="Try it on an event" summary="that you paste">
        <DryRun topic={topic} filter={() => filterOf(draft)} />
      </Fold>
    </>
  );
}

/** A click adds a type that the topic has had. */
function SeenTypes({ draft, change, topic }: FieldsProps & { readonly topic: TopicView }) {
  const styles = useStyles();
  const path = apiPath(["topics", topic.name, "event-types"]);
  const { value } = useAsked<Page<TriedFilter["types"][number]>>(path);
  const chosen = linesOf(draft.eventTypes);
  const rest = (value?.value ?? []).filter(({ type }) => !chosen.includes(type));
  if (rest.length === 0) return null;
  return (
    <section className={styles.types} aria-label="Types that were seen">
      {rest.slice(0, 12).map(({ type, count }) => (
        <Button
          key={type}
          className={styles.type}
          size="small"
          shape="circular"
          icon={<AddRegular />}
          onClick={() => change({ eventTypes: [...chosen, type].join("\n") })}
        >
          {type}
          <span className={styles.count}>{sayCount(count)}</span>
        </Button>
      ))}
    </section>
  );
}

/** After the last key. */
const restMs = 300;

function sayTried({ matched, looked }: TriedFilter): string {
  if (looked === 1) return `The only event so far ${matched === 1 ? "matches" : "does not match"}.`;
  const which = `${sayCount(matched)} of the last ${sayMany(looked, "event")}`;
  return `${which} ${matched === 1 ? "matches" : "match"}.`;
}

/** The filter on the latest events, as it is typed. A filter that is not finished is not tried. */
function Tried({ topic, filter }: { readonly topic: TopicView; readonly filter: object }) {
  const styles = useStyles();
  const [tried, setTried] = useState<TriedFilter | null>(null);
  const key = JSON.stringify(filter);
  useEffect(() => {
    const left = new AbortController();
    const timer = setTimeout(() => {
      const path = apiPath(["topics", topic.name, "try-filter"]);
      ask<TriedFilter>("POST", path, { filter: JSON.parse(key) }, left.signal)
        .then(setTried)
        .catch(() => {});
    }, restMs);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [topic.name, key]);
  if (tried === null || tried.looked === 0) return null;
  return (
    <div className={styles.tried} aria-live="polite">
      <span className={styles.said}>{sayTried(tried)}</span>
      <ul className={styles.list}>
        {tried.events.map(({ event, id, type, matches, clause, because }) => (
          <li key={event} className={styles.event}>
            <span className={mergeClasses(matches ? styles.yes : styles.no)}>
              {matches ? "✓" : "✗"}
            </span>
            <span className={styles.cut}>
              <To to={eventPath(event)}>{id}</To>
            </span>
            <span className={mergeClasses(styles.cut, styles.why)} title={because ?? type}>
              {matches ? type : `${clause ?? ""}: ${because ?? ""}`}
            </span>
          </li>
        ))}
      </ul>
    </div>
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
      <AreaField label="Try it on an event" rows={12} isCode value={text} onChange={setText} />
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
