// Endpoints: the health of each, since when and why, the rules, and closing, opening, resetting.

import { useMemo, useState } from "react";
import type { EndpointView, FigureSeries } from "../../src/core/api/views.ts";
import { apiPath, ask } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { sparkKey, useSparks } from "../figures/figures.ts";
import { useRange } from "../figures/range.ts";
import { sparkColumns } from "../figures/sparkline.tsx";
import { FigureStrip } from "../figures/strip.tsx";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { useChanging } from "../lists.ts";
import { useNow, useTick } from "../live.ts";
import { FormDialog } from "../parts/dialogs.tsx";
import { TextField, useOrder } from "../parts/form.tsx";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { Sought } from "../parts/sought.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import {
  Address,
  Facts,
  HealthBadge,
  Long,
  LongWords,
  Mono,
  sayHealth,
  When,
  Words,
} from "../parts/texts.tsx";
import { ProblemCards } from "../problems/cards.tsx";
import { pathTo, subscriptionPath } from "../route.ts";
import { sayAge, sayCount, sayShort } from "../words.ts";

const useStyles = makeStyles({
  actions: { display: "flex", flexWrap: "wrap", gap: tokens.spacingHorizontalS },
  rules: { color: tokens.colorNeutralForeground2, maxWidth: "90ch" },
  subscriptions: { display: "flex", flexWrap: "wrap", columnGap: tokens.spacingHorizontalM },
});

const rank = { unhealthy: 0, closed: 1, probing: 2, recovering: 3, healthy: 4 } as const;

function unhealthyFirst(one: EndpointView, other: EndpointView): number {
  return rank[one.health.kind] - rank[other.health.kind] || other.waiting - one.waiting;
}

export function EndpointsPage({ query }: PageProps) {
  const tick = useTick(["endpoint", "overview", "catalog"], 2_000);
  const asked = useChanging<EndpointView>(["endpoints"], ({ endpoint }) => endpoint, tick);
  const wanted = query.get("endpoint");
  return (
    <>
      <PageHead
        title="Endpoints"
        subtitle="An endpoint that keeps failing gets nothing for a while, and is then probed with one event."
      />
      <ProblemCards
        kinds={["unhealthy", "failing", "closed"]}
        {...(wanted !== null && { concerns: ({ endpoint }) => endpoint === wanted })}
      />
      <FigureStrip scope={wanted === null ? null : { kind: "endpoint", name: wanted }} />
      <Answer asked={asked} what="the health of endpoints">
        {(value) => {
          const chosen = value.find(({ endpoint }) => endpoint === wanted);
          return (
            <>
              {chosen !== undefined && <Chosen endpoint={chosen} again={asked.again} />}
              {chosen === undefined && wanted !== null && (
                <Card title={wanted}>
                  <Empty title="There is no such endpoint">
                    No subscription sends there any more.
                  </Empty>
                </Card>
              )}
              <Card title="All endpoints">
                {value.length === 0 ? (
                  <Empty title="No endpoint yet">
                    Endpoints appear here with the first subscription.
                  </Empty>
                ) : (
                  <Sought rows={value} by="address" textOf={addressOf}>
                    {(found) => <EndpointRows endpoints={found} />}
                  </Sought>
                )}
              </Card>
            </>
          );
        }}
      </Answer>
    </>
  );
}

function addressOf({ endpoint }: EndpointView): string {
  return endpoint;
}

function EndpointRows({ endpoints }: { readonly endpoints: readonly EndpointView[] }) {
  const sparks = useSparks("endpoint", useRange());
  const columns = useMemo(() => columnsWith(sparks), [sparks]);
  const rows = useMemo(() => endpoints.toSorted(unhealthyFirst), [endpoints]);
  return (
    <Rows label="Endpoints" rows={rows} keyOf={({ endpoint }) => endpoint} columns={columns} />
  );
}

function columnsWith(
  sparks: ReadonlyMap<string, FigureSeries> | null,
): readonly Column<EndpointView>[] {
  const own = ({ endpoint }: EndpointView) =>
    sparks?.get(sparkKey({ topic: null, domainTopic: null, name: endpoint }));
  return [
    {
      title: "Endpoint",
      show: ({ endpoint }) => (
        <To to={pathTo(["endpoints"], { endpoint })}>
          <Address>{endpoint}</Address>
        </To>
      ),
    },
    { title: "Health", width: "110px", show: ({ health }) => <HealthBadge health={health} /> },
    { title: "It says", isWideOnly: true, show: (each) => <Said endpoint={each} /> },
    ...sparkColumns(own),
    {
      title: "In flight",
      width: "75px",
      align: "right",
      isExtra: true,
      show: ({ sendsUnderWay }) => sayShort(sendsUnderWay),
    },
    {
      title: "Waiting",
      width: "75px",
      align: "right",
      show: ({ waiting }) => sayShort(waiting),
    },
  ];
}

/** What it answers while it fails; otherwise how it is, unless the badge has said all. */
function Said({ endpoint: { said, health } }: { readonly endpoint: EndpointView }) {
  if (said === null)
    return health.words === health.kind ? "–" : <LongWords>{health.words}</LongWords>;
  return <Long>{[said.status, said.answer].filter((each) => each !== null).join(" ")}</Long>;
}

function Chosen({
  endpoint: view,
  again,
}: {
  readonly endpoint: EndpointView;
  readonly again: () => void;
}) {
  const styles = useStyles();
  const now = useNow();
  const { endpoint, health, subscriptions, history, rules } = view;
  return (
    <Card title={endpoint} actions={<Steering view={view} again={again} />}>
      <Facts
        facts={[
          [
            "Health",
            <span key="health">
              <HealthBadge health={health} />{" "}
              {health.words !== health.kind && <Words>{sayHealth(health)}</Words>}
            </span>,
          ],
          ...(health.until === null
            ? []
            : [["Next probe in", sayAge(Date.parse(health.until) - now)] as const]),
          ...(view.said === null
            ? []
            : [
                [
                  "It says",
                  <span key="said">
                    {view.said.status} <Mono>{view.said.answer ?? ""}</Mono> since{" "}
                    <When at={view.said.since} />
                  </span>,
                ] as const,
              ]),
          ["Failures in a row", sayCount(health.failures)],
          ["Requests in flight", sayCount(view.sendsUnderWay)],
          ["Waiting", sayCount(view.waiting)],
          [
            "Subscriptions",
            <span key="subscriptions" className={styles.subscriptions}>
              {subscriptions.map((named) => (
                <To
                  key={`${named.topic} ${named.domainTopic} ${named.name}`}
                  to={subscriptionPath(named)}
                >
                  {named.name}
                </To>
              ))}
            </span>,
          ],
          [
            "Rules",
            <span key="rules" className={styles.rules}>
              {rules}
            </span>,
          ],
        ]}
      />
      <h3>History</h3>
      {history.length === 0 ? (
        <p>Nothing has changed since the broker started.</p>
      ) : (
        <Rows
          label="History of its health"
          rows={history}
          keyOf={({ at, from, to }, index) => `${at} ${from} ${to} ${index}`}
          columns={[
            { title: "Time", width: "130px", show: ({ at }) => <When at={at} /> },
            { title: "From", width: "100px", show: ({ from }) => from },
            { title: "To", width: "100px", show: ({ to }) => to },
            { title: "Because", show: ({ because }) => <LongWords>{because}</LongWords> },
          ]}
        />
      )}
    </Card>
  );
}

function Steering({ view, again }: { readonly view: EndpointView; readonly again: () => void }) {
  const styles = useStyles();
  const say = useSay();
  const [isClosing, setClosing] = useState(false);
  const order = async (verb: "open" | "reset", words: string) => {
    try {
      await ask("POST", apiPath(["endpoints", verb]), { endpoint: view.endpoint });
      say.done(words);
      again();
    } catch (error) {
      say.refused(`It could not be done: ${verb}`, error);
    }
  };
  return (
    <div className={styles.actions}>
      {view.health.kind === "closed" ? (
        <Button
          appearance="primary"
          onClick={() => void order("open", "Events are sent to it again")}
        >
          Open
        </Button>
      ) : (
        <Button onClick={() => setClosing(true)}>Close</Button>
      )}
      <Button onClick={() => void order("reset", "Its health is reset")}>Reset</Button>
      {isClosing && <Close view={view} onDone={again} onClose={() => setClosing(false)} />}
    </div>
  );
}

function Close({
  view,
  onDone,
  onClose,
}: {
  readonly view: EndpointView;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const say = useSay();
  const { refused, run } = useOrder();
  const [because, setBecause] = useState("");
  const close = () =>
    void run(async () => {
      const { endpoint } = view;
      const words = because.trim() === "" ? {} : { because: because.trim() };
      await ask("POST", apiPath(["endpoints", "close"]), { endpoint, ...words });
      say.done("Nothing is sent to it until it is opened");
      onDone();
      onClose();
    });
  return (
    <FormDialog
      title="Close the endpoint"
      isOpen
      onClose={onClose}
      refused={refused}
      submitWords="Close it"
      onSubmit={close}
    >
      <div>
        Nothing is sent to <Mono>{view.endpoint}</Mono> until it is opened. Waiting events may
        expire meanwhile.
      </div>
      <TextField label="Because" path="because" value={because} onChange={setBecause} />
    </FormDialog>
  );
}
