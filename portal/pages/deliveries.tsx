// Events and their deliveries: one box to search them, a range of time, and the latest first.

import { type FormEvent, useRef, useState } from "react";
import type { EventSummary, SearchPage } from "../../src/core/api/views.ts";
import { type Asked, apiPath, ask, useRead } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { RangePicker } from "../figures/picker.tsx";
import { boundsOf, type Range, rangeIn } from "../figures/range.ts";
import { FigureStrip } from "../figures/strip.tsx";
import { Button, Input, makeStyles, tokens } from "../fluent.ts";
import { PlayRegular, SearchRegular } from "../icons/drawings.tsx";
import { useTick } from "../live.ts";
import { eventColumns } from "../parts/events.tsx";
import { HeldRows, PauseButton } from "../parts/held.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { Tail } from "../parts/tail.tsx";
import { When } from "../parts/texts.tsx";
import { go, pathTo } from "../route.ts";
import { hasWord, scopeIn, withWord, wordsIn } from "../search.ts";

const pageSize = 50;
const searchHint = "type:Shop.Paid  state:failing  or a part of an id, subject or name";

const useStyles = makeStyles({
  search: { display: "flex", flexWrap: "wrap", gap: tokens.spacingHorizontalS },
  box: { flexGrow: 1, flexBasis: "320px", minWidth: 0 },
  chips: {
    display: "flex",
    flexWrap: "wrap",
    gap: tokens.spacingHorizontalXS,
    marginTop: tokens.spacingVerticalS,
  },
  chip: { minWidth: "auto" },
  grow: { flexGrow: 1 },
  pages: {
    display: "flex",
    gap: tokens.spacingHorizontalS,
    justifyContent: "flex-end",
    marginTop: tokens.spacingVerticalM,
  },
});

export function DeliveriesPage({ query }: PageProps) {
  const text = wordsIn(query);
  const after = query.get("after");
  const range = rangeIn(query);
  const isTail = query.has("tail");
  const [isPaused, setPaused] = useState(false);
  // Older pages do not change while they are read.
  const tick = useTick(after === null ? ["published", "attempt", "ended"] : [], 1_500);
  const asked = useSearch(isTail ? null : { text, range, after }, tick);
  return (
    <>
      <PageHead
        title="Deliveries"
        subtitle="Every event and its deliveries. Open one for its whole story."
        actions={
          <Button
            icon={isTail ? <SearchRegular /> : <PlayRegular />}
            onClick={() => go(pathTo(["deliveries"], isTail ? {} : { tail: "on" }))}
          >
            {isTail ? "Search" : "Live tail"}
          </Button>
        }
      />
      {isTail ? (
        <>
          <FigureStrip />
          <Tail shownMax={100} />
        </>
      ) : (
        <>
          <Card>
            <Search key={text} text={text} />
          </Card>
          <FigureStrip scope={scopeIn(text)} hasPicker={false} />
          <Card
            title="Events"
            actions={after === null && <PauseButton isPaused={isPaused} onChange={setPaused} />}
          >
            <Answer asked={asked} what="its events">
              {({ value, next, searchedTo, isSearching }) => (
                <>
                  {value.length > 0 && (
                    <HeldRows
                      key={`${text} ${after} ${range.from} ${range.minutes}`}
                      label="Events"
                      columns={eventColumns}
                      rows={value}
                      keyOf={({ event }) => event}
                      isPaused={isPaused}
                      isCut
                    />
                  )}
                  {value.length === 0 && !isSearching && (
                    <None isSearch={text !== "" || range.isGiven} searchedTo={searchedTo} />
                  )}
                  {isSearching && <Searching searchedTo={searchedTo} />}
                  <Turning
                    {...{ query, after, next: isSearching ? null : next }}
                    isEmpty={value.length === 0}
                  />
                </>
              )}
            </Answer>
          </Card>
        </>
      )}
    </>
  );
}

interface Found extends SearchPage<EventSummary> {
  readonly isSearching: boolean;
}

interface Wanted {
  readonly text: string;
  readonly range: Range;
  readonly after: string | null;
}

/** The broker looks through so many events at a time. Beyond this somebody has to want more. */
const stepsMax = 20;

/** A page of events; where the broker stops on its way back, it is asked to go on. */
function useSearch(wanted: Wanted | null, tick: number): Asked<Found> {
  const key = wanted === null ? null : JSON.stringify(wanted);
  const shown = useRef("");
  return useRead<Found>(key, tick, async (hold, signal) => {
    if (wanted === null || key === null) return;
    const { text, range, after } = wanted;
    const bounds = boundsOf(range);
    let [value, from]: [readonly EventSummary[], string | null] = [[], after];
    for (let step = 1; ; step++) {
      const limit = pageSize - value.length;
      const path = apiPath(["events"], { q: text, ...bounds, after: from, limit });
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
      <Empty title="No event matches" actions={<Button onClick={() => leave()}>Show all</Button>}>
        Stories of delivered events are kept for as long as the settings say. A longer range of time
        or fewer words may find it.
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

/** Without words and without a range, which otherwise goes along. */
function leave(): void {
  go("/portal/deliveries", { carries: false });
}

const quick = [
  ["any state", null],
  ["waiting", "waiting"],
  ["failing", "failing"],
  ["delivered", "delivered"],
  ["dead-lettered", "deadLettered"],
  ["dropped", "dropped"],
] as const;

function Search({ text }: { readonly text: string }) {
  const styles = useStyles();
  const [wanted, setWanted] = useState(text);
  const search = (words: string) => go(pathTo(["deliveries"], { q: words.trim(), ...rangeNow() }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    search(wanted);
  };
  return (
    <search>
      <form onSubmit={submit} className={styles.search}>
        <Input
          data-search
          className={styles.box}
          contentBefore={<SearchRegular />}
          aria-label="Search events"
          aria-keyshortcuts="/"
          placeholder={searchHint}
          autoComplete="off"
          spellCheck={false}
          value={wanted}
          onChange={(_, { value }) => setWanted(value)}
        />
        <RangePicker anyWords="Any time" />
        <Button type="submit" appearance="primary">
          Search
        </Button>
      </form>
      <div className={styles.chips}>
        {quick.map(([words, state]) => {
          const isOn = state === null ? !/\bstate:/i.test(text) : hasWord(text, "state", state);
          return (
            <Button
              key={words}
              className={styles.chip}
              size="small"
              shape="circular"
              appearance={isOn ? "primary" : "secondary"}
              aria-pressed={isOn}
              onClick={() => search(withWord(wanted, "state", isOn ? null : state))}
            >
              {words}
            </Button>
          );
        })}
        <span className={styles.grow} />
        {text !== "" && (
          <Button className={styles.chip} size="small" appearance="subtle" onClick={leave}>
            Clear
          </Button>
        )}
      </div>
    </search>
  );
}

/** A search stays within the range that is shown. */
function rangeNow(): Readonly<Record<string, string | null>> {
  const query = new URLSearchParams(location.search);
  return { range: query.get("range"), from: query.get("from"), to: query.get("to") };
}

function Turning({
  query,
  after,
  next,
  isEmpty,
}: {
  readonly query: URLSearchParams;
  readonly after: string | null;
  readonly next: string | null;
  readonly isEmpty: boolean;
}) {
  const styles = useStyles();
  if (after === null && next === null) return null;
  const to = (place: string | null) =>
    go(pathTo(["deliveries"], { ...Object.fromEntries(query), after: place }));
  return (
    <div className={styles.pages}>
      {after !== null && <Button onClick={() => to(null)}>Back to the latest</Button>}
      {next !== null && (
        <Button onClick={() => to(next)}>{isEmpty ? "Search further back" : "Older"}</Button>
      )}
    </div>
  );
}
