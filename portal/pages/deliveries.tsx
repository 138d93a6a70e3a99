// Events and their deliveries: searched, the latest first.

import { type FormEvent, useRef, useState } from "react";
import type { DeliveryState, EventSummary, SearchPage } from "../../src/core/api/views.ts";
import { type Asked, apiPath, ask, useRead } from "../api.ts";
import type { PageProps } from "../app.tsx";
import {
  Button,
  Dropdown,
  Field,
  Input,
  makeStyles,
  mergeClasses,
  Option,
  tokens,
} from "../fluent.ts";
import { SearchRegular } from "../icons/drawings.tsx";
import { useTick } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { Rows } from "../parts/table.tsx";
import { Long, StateBadge, When } from "../parts/texts.tsx";
import { eventPath, go, pathTo, topicPath } from "../route.ts";
import { sayState } from "../words.ts";

const fields = [
  ["id", "Id"],
  ["subject", "Subject"],
  ["type", "Type"],
  ["topic", "Topic"],
  ["subscription", "Subscription"],
  ["from", "From"],
  ["to", "To"],
] as const;

const hints: Readonly<Record<string, string>> = {
  from: "2030-01-01T00:00:00Z",
  to: "2030-01-01T00:00:00Z",
};

const states: readonly DeliveryState[] = [
  "waiting",
  "delivered",
  "deadLettering",
  "deadLettered",
  "dropped",
];

const pageSize = 50;

const useStyles = makeStyles({
  search: {
    display: "grid",
    gridTemplateColumns: "repeat(auto-fill, minmax(min(170px, 100%), 1fr))",
    gap: tokens.spacingHorizontalM,
    alignItems: "end",
  },
  dropdown: { minWidth: "0px" },
  input: { width: "100%", minWidth: "0px" },
  onRequest: { "@media (max-width: 640px)": { display: "none" } },
  phoneOnly: { display: "none", "@media (max-width: 640px)": { display: "inline-flex" } },
  buttons: { display: "flex", gap: tokens.spacingHorizontalS },
  pages: {
    display: "flex",
    gap: tokens.spacingHorizontalS,
    justifyContent: "flex-end",
    marginTop: tokens.spacingVerticalM,
  },
  states: { display: "inline-flex", flexWrap: "wrap", gap: tokens.spacingHorizontalXS },
});

export function DeliveriesPage({ query }: PageProps) {
  const given = Object.fromEntries([...query].filter(([name]) => name !== "after"));
  const after = query.get("after");
  // Older pages do not change while they are read.
  const tick = useTick(after === null ? ["published", "attempt", "ended"] : [], 1_500);
  const asked = useSearch(given, after, tick);
  const isSearch = Object.keys(given).length > 0;
  return (
    <>
      <PageHead
        title="Deliveries"
        subtitle="Every event and its deliveries. Open one for its whole story."
      />
      <Card>
        <Search key={query.toString()} given={given} />
      </Card>
      <Card>
        <Answer asked={asked} what="its events">
          {({ value, next, searchedTo, isSearching }) => (
            <>
              {value.length > 0 && <EventRows events={value} />}
              {value.length === 0 && !isSearching && (
                <None isSearch={isSearch} searchedTo={searchedTo} />
              )}
              {isSearching && <Searching searchedTo={searchedTo} />}
              <Turning
                {...{ given, after, next: isSearching ? null : next }}
                isEmpty={value.length === 0}
              />
            </>
          )}
        </Answer>
      </Card>
    </>
  );
}

interface Found extends SearchPage<EventSummary> {
  readonly isSearching: boolean;
}

/** The broker looks through so many events at a time. Beyond this somebody has to want more. */
const stepsMax = 20;

/** A page of events; where the broker stops on its way back, it is asked to go on. */
function useSearch(
  given: Readonly<Record<string, string>>,
  after: string | null,
  tick: number,
): Asked<Found> {
  const pathOf = (from: string | null, limit: number) =>
    apiPath(["events"], { ...given, after: from, limit });
  const key = pathOf(after, pageSize);
  const shown = useRef("");
  return useRead<Found>(key, tick, async (hold, signal) => {
    let [value, from]: [readonly EventSummary[], string | null] = [[], after];
    for (let step = 1; ; step++) {
      const path = pathOf(from, pageSize - value.length);
      const page = await ask<SearchPage<EventSummary>>("GET", path, undefined, signal);
      value = [...value, ...page.value];
      from = page.next;
      const isSearching = from !== null && value.length < pageSize && step < stepsMax;
      // What is shown already is not replaced by less of it.
      if (!isSearching || shown.current !== key) hold({ ...page, value, isSearching });
      if (isSearching) continue;
      shown.current = key;
      return;
    }
  });
}

function Searching({ searchedTo }: { readonly searchedTo: string | null }) {
  return (
    <div role="status" aria-busy="true">
      Searching further back
      {searchedTo !== null && (
        <>
          ; searched back to <When at={searchedTo} />
        </>
      )}
      …
    </div>
  );
}

function None({
  isSearch,
  searchedTo,
}: {
  readonly isSearch: boolean;
  readonly searchedTo: string | null;
}) {
  if (searchedTo !== null) {
    return (
      <Empty title="Nothing found so far">
        Searched back to <When at={searchedTo} />. Older events may match: go on, or give a range of
        time.
      </Empty>
    );
  }
  if (isSearch) {
    return (
      <Empty
        title="No event matches"
        actions={<Button onClick={() => go("/portal/deliveries")}>Show all</Button>}
      >
        Stories of delivered events are kept for as long as the settings say. Names and subjects
        must match exactly as written.
      </Empty>
    );
  }
  return (
    <Empty
      title="No event has been published yet"
      actions={
        <Button appearance="primary" onClick={() => go("/portal/topics")}>
          To the topics
        </Button>
      }
    >
      Publish a test event from the page of a topic, and its story begins here.
    </Empty>
  );
}

function Search({ given }: { readonly given: Readonly<Record<string, string>> }) {
  const styles = useStyles();
  const [wanted, setWanted] = useState(given);
  const [isMore, setMore] = useState(Object.keys(given).some((name) => name !== "id"));
  const state = wanted.state ?? "";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    go(pathTo(["deliveries"], wanted));
  };
  return (
    <search>
      <form onSubmit={submit} className={styles.search}>
        {fields.map(([name, label]) => (
          <Field
            key={name}
            label={label}
            className={mergeClasses(name !== "id" && !isMore && styles.onRequest)}
          >
            <Input
              className={styles.input}
              value={wanted[name] ?? ""}
              placeholder={hints[name]}
              onChange={(_, { value }) => setWanted((before) => ({ ...before, [name]: value }))}
            />
          </Field>
        ))}
        <Field label="State">
          <Dropdown
            className={styles.dropdown}
            value={state === "" ? "any" : sayState(state)}
            selectedOptions={[state]}
            onOptionSelect={(_, { optionValue }) =>
              setWanted((before) => ({ ...before, state: optionValue ?? "" }))
            }
          >
            {["", ...states].map((each) => (
              <Option key={each} value={each}>
                {each === "" ? "any" : sayState(each)}
              </Option>
            ))}
          </Dropdown>
        </Field>
        <div className={styles.buttons}>
          <Button type="submit" appearance="primary" icon={<SearchRegular />}>
            Search
          </Button>
          {!isMore && (
            <Button className={styles.phoneOnly} onClick={() => setMore(true)}>
              More fields
            </Button>
          )}
          {Object.keys(given).length > 0 && (
            <Button onClick={() => go("/portal/deliveries")}>Clear</Button>
          )}
        </div>
      </form>
    </search>
  );
}

function Turning({
  given,
  after,
  next,
  isEmpty,
}: {
  readonly given: Readonly<Record<string, string>>;
  readonly after: string | null;
  readonly next: string | null;
  readonly isEmpty: boolean;
}) {
  const styles = useStyles();
  if (after === null && next === null) return null;
  return (
    <div className={styles.pages}>
      {after !== null && (
        <Button onClick={() => go(pathTo(["deliveries"], given))}>Back to the latest</Button>
      )}
      {next !== null && (
        <Button onClick={() => go(pathTo(["deliveries"], { ...given, after: next }))}>
          {isEmpty ? "Search further back" : "Older"}
        </Button>
      )}
    </div>
  );
}

function EventRows({ events }: { readonly events: readonly EventSummary[] }) {
  return (
    <Rows
      label="Events"
      rows={events}
      keyOf={({ event }) => event}
      columns={[
        { title: "Accepted", width: "130px", show: ({ acceptedAt }) => <When at={acceptedAt} /> },
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
        { title: "State", width: "230px", show: (event) => <States event={event} /> },
      ]}
    />
  );
}

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
