// Dead letters: grouped by reason and subscription, browsed, read, and sent again.

import { useEffect, useMemo, useState } from "react";
import type {
  DeadLetterGroup,
  DeadLetterView,
  Page,
  RedriveView,
  SubscriptionView,
} from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { RedriveList, useRedriveEnd } from "../deadletters/progress.tsx";
import { Reading } from "../deadletters/reading.tsx";
import { RedriveDialog } from "../deadletters/redrive.tsx";
import { boundsOf, rangeIn } from "../figures/range.ts";
import { FigureStrip } from "../figures/strip.tsx";
import { Button, Checkbox, makeStyles, tokens } from "../fluent.ts";
import { useLive, useTick } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, Note, PageHead } from "../parts/page.tsx";
import { Rows } from "../parts/table.tsx";
import { Address, Humps, Long, When } from "../parts/texts.tsx";
import { go, pathTo, subscriptionPath } from "../route.ts";
import { sayCount, sayMany } from "../words.ts";

const useStyles = makeStyles({
  bar: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    gap: tokens.spacingHorizontalS,
  },
  check: { margin: "-6px 0" },
  pages: {
    display: "flex",
    gap: tokens.spacingHorizontalS,
    justifyContent: "flex-end",
    marginTop: tokens.spacingVerticalM,
  },
});

const filterNames = [
  "account",
  "container",
  "topic",
  "subscription",
  "reason",
  "outcome",
  "type",
] as const;

export type LetterFilter = Readonly<
  Partial<Record<(typeof filterNames)[number] | "from" | "to", string>>
>;

const pageSize = 50;

/** Counting reads every blob: where there are many, it is asked for rarely. */
const fewMax = 1_000;
const fewEveryMs = 5_000;
const manyEveryMs = 60_000;

export function DeadLettersPage({ query }: PageProps) {
  const [isMany, setMany] = useState(false);
  const tick = useTick(["ended", "redrive"], isMany ? manyEveryMs : fewEveryMs);
  const { from, to } = boundsOf(rangeIn(query));
  const filter: LetterFilter = Object.fromEntries(
    [...filterNames.map((name) => [name, query.get(name)]), ["from", from], ["to", to]].filter(
      ([, value]) => value !== null,
    ),
  );
  const after = query.get("after");
  const groups = useAsked<DeadLetterGroup[]>(apiPath(["dead-letters", "groups"], filter), tick);
  const letters = useAsked<Page<DeadLetterView>>(
    apiPath(["dead-letters"], { ...filter, after, limit: pageSize }),
    tick,
  );
  const redrives = useAsked<Page<RedriveView>>(apiPath(["redrives"]), useTick(["redrive"], 2_000));
  const count = groups.value?.reduce((sum, group) => sum + group.count, 0) ?? 0;
  useEffect(() => setMany(count > fewMax), [count]);
  const follow = useRedriveEnd(redrives.value?.value ?? []);
  const isFiltered = Object.keys(filter).length > 0;
  const onTheWay = useLive("overview")?.waitingDeadLetters ?? 0;
  return (
    <>
      <PageHead
        title="Dead letters"
        subtitle="Undeliverable events, as stored in their containers. Fix the cause, then send them again."
      />
      {(redrives.value?.value.length ?? 0) > 0 && (
        <RedriveList redrives={redrives.value?.value ?? []} />
      )}
      <FigureStrip />
      <Card title="By reason and subscription">
        {onTheWay > 0 && (
          <Note>
            {sayMany(onTheWay, "event is", "events are")} on the way here: dead letters are gathered
            for some minutes before they are written.
          </Note>
        )}
        <Answer asked={groups} what="its dead letters">
          {(value) =>
            value.length === 0 ? (
              <Nothing isFiltered={isFiltered} />
            ) : (
              <Groups groups={value} follow={follow} />
            )
          }
        </Answer>
      </Card>
      {(letters.value?.value.length ?? 0) > 0 && (
        <Letters {...{ asked: letters, filter, after, follow }} reading={query.get("letter")} />
      )}
    </>
  );
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Empty
      title="No dead letter matches"
      actions={
        <Button onClick={() => go("/portal/dead-letters", { carries: false })}>Show all</Button>
      }
    />
  ) : (
    <Empty title="No dead letters">
      Events that could not be delivered are written to the dead-letter destination of their
      subscription, and appear here. A subscription without one drops them: its settings say so.
    </Empty>
  );
}

/** Blobs have names in capitals; a subscription that is still there has its own. */
function useOwnNames(): (shown: string, topic: string | null) => SubscriptionView | null {
  const { value } = useAsked<Page<SubscriptionView>>(apiPath(["subscriptions"]));
  return useMemo(() => {
    const known = Map.groupBy(value?.value ?? [], ({ name }) => name.toUpperCase());
    return (shown, topic) => {
      const own = known.get(shown.toUpperCase()) ?? [];
      return own.find((each) => each.topic === topic) ?? own[0] ?? null;
    };
  }, [value]);
}

/** The letters of a group: other topics may have a subscription of the same name. */
function queryOf({ reason, outcome, subscription, topic }: DeadLetterGroup) {
  return { reason, outcome, subscription, ...(topic !== null && { topic }) };
}

function Groups({
  groups,
  follow,
}: {
  readonly groups: readonly DeadLetterGroup[];
  readonly follow: (redrive: string) => void;
}) {
  const ownName = useOwnNames();
  const [redriven, setRedriven] = useState<DeadLetterGroup | null>(null);
  const nameOf = ({ subscription, topic }: DeadLetterGroup) =>
    ownName(subscription, topic)?.name ?? subscription.toLowerCase();
  const rows = groups.toSorted(
    (one, other) =>
      Date.parse(other.newestAt) - Date.parse(one.newestAt) || other.count - one.count,
  );
  return (
    <>
      <Rows
        label="Dead letters by reason and endpoint"
        rows={rows}
        keyOf={({ reason, outcome, subscription, topic, endpoint }) =>
          `${reason} ${outcome} ${subscription} ${topic} ${endpoint}`
        }
        columns={[
          {
            title: "Reason",
            show: (group) => (
              <To to={pathTo(["dead-letters"], queryOf(group))}>
                <Humps>{group.reason}</Humps>
              </To>
            ),
          },
          {
            title: "Last outcome",
            width: "130px",
            isWideOnly: true,
            show: ({ outcome }) => <Humps>{outcome}</Humps>,
          },
          {
            title: "Subscription",
            show: (group) => {
              const own = ownName(group.subscription, group.topic);
              return own === null ? (
                <Long>{nameOf(group)}</Long>
              ) : (
                <To to={subscriptionPath(own)}>
                  <Long>{own.name}</Long>
                </To>
              );
            },
          },
          {
            title: "Endpoint",
            isExtra: true,
            show: ({ endpoint }) => <Address>{endpoint ?? "gone"}</Address>,
          },
          {
            title: "Newest",
            width: "130px",
            isWideOnly: true,
            show: ({ newestAt }) => <When at={newestAt} />,
          },
          { title: "Count", width: "70px", align: "right", show: ({ count }) => sayCount(count) },
          {
            title: "Redrive",
            width: "100px",
            align: "right",
            show: (group) => (
              <Button
                size="small"
                aria-label={`Redrive ${group.outcome} of ${nameOf(group)}`}
                onClick={() => setRedriven(group)}
              >
                Redrive…
              </Button>
            ),
          },
        ]}
      />
      {redriven !== null && (
        <RedriveDialog
          order={{ query: queryOf(redriven) }}
          what={`${redriven.outcome}, ${nameOf(redriven)}`}
          hours="1"
          onClose={() => setRedriven(null)}
          onStarted={({ id }) => {
            follow(id);
            setRedriven(null);
          }}
        />
      )}
    </>
  );
}

/** `BadRequest, legacy-erp`; the time is said beside it. */
function wordsOf({ from: _from, to: _to, ...named }: LetterFilter): string {
  return Object.values(named).join(", ");
}

/** They are found hour by hour, and within an hour in the order of their files. */
function newestFirst(one: DeadLetterView, other: DeadLetterView): number {
  const timeOf = ({ writtenAt, lastAttemptAt }: DeadLetterView) => `${writtenAt} ${lastAttemptAt}`;
  return timeOf(other).localeCompare(timeOf(one));
}

function Letters({
  asked,
  filter,
  after,
  reading,
  follow,
}: {
  readonly asked: ReturnType<typeof useAsked<Page<DeadLetterView>>>;
  readonly filter: LetterFilter;
  readonly after: string | null;
  readonly reading: string | null;
  readonly follow: (redrive: string) => void;
}) {
  const styles = useStyles();
  const ownName = useOwnNames();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isRedriving, setRedriving] = useState(false);
  const choose = (id: string, isChosen: boolean) =>
    setChosen((before) => {
      const next = new Set(before);
      if (isChosen) next.add(id);
      else next.delete(id);
      return next;
    });
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Card
      title="Letters"
      actions={
        <div className={styles.bar}>
          {isFiltered && (
            <Button onClick={() => go("/portal/dead-letters", { carries: false })}>Show all</Button>
          )}
          <Button appearance="primary" onClick={() => setRedriving(true)}>
            {chosen.size > 0
              ? `Redrive ${sayMany(chosen.size, "letter")}…`
              : isFiltered
                ? "Redrive these…"
                : "Redrive all…"}
          </Button>
        </div>
      }
    >
      <Answer asked={asked} what="its dead letters">
        {({ value, next }) => (
          <>
            <Rows
              label="Dead letters"
              rows={value.toSorted(newestFirst)}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Chosen",
                  width: "60px",
                  show: ({ id, eventId }) => (
                    <Checkbox
                      className={styles.check}
                      aria-label={`Choose ${eventId}`}
                      checked={chosen.has(id)}
                      onChange={(_, { checked }) => choose(id, checked === true)}
                    />
                  ),
                },
                {
                  title: "Event",
                  show: ({ id, eventId }) => (
                    <To to={pathTo(["dead-letters"], { ...filter, after, letter: id })}>
                      <Long>{eventId}</Long>
                    </To>
                  ),
                },
                {
                  title: "Subscription",
                  isWideOnly: true,
                  show: ({ subscription, topic }) => (
                    <Long>{ownName(subscription, topic)?.name ?? subscription.toLowerCase()}</Long>
                  ),
                },
                {
                  title: "Reason",
                  width: "22%",
                  isWideOnly: true,
                  show: ({ reason }) => <Humps>{reason}</Humps>,
                },
                {
                  title: "Outcome",
                  width: "130px",
                  show: ({ outcome }) => <Humps>{outcome}</Humps>,
                },
                {
                  title: "Written",
                  width: "130px",
                  isWideOnly: true,
                  show: ({ writtenAt }) => <When at={writtenAt} />,
                },
                {
                  title: "Sent again",
                  width: "90px",
                  align: "right",
                  isWideOnly: true,
                  show: ({ redriven }) => redriven,
                },
              ]}
            />
            {(next !== null || after !== null) && (
              <div className={styles.pages}>
                {after !== null && (
                  <Button onClick={() => go(pathTo(["dead-letters"], filter))}>
                    Back to the newest
                  </Button>
                )}
                {next !== null && (
                  <Button onClick={() => go(pathTo(["dead-letters"], { ...filter, after: next }))}>
                    Older
                  </Button>
                )}
              </div>
            )}
          </>
        )}
      </Answer>
      {reading !== null && (
        <Reading
          id={reading}
          onClose={() => go(pathTo(["dead-letters"], { ...filter, after }), { replace: true })}
        />
      )}
      {isRedriving && (
        <RedriveDialog
          order={chosen.size > 0 ? { ids: [...chosen] } : { query: filter }}
          what={chosen.size > 0 ? null : wordsOf(filter)}
          onClose={() => setRedriving(false)}
          onStarted={({ id }) => {
            follow(id);
            setChosen(new Set());
            setRedriving(false);
          }}
        />
      )}
    </Card>
  );
}
