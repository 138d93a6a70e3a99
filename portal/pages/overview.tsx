// The overview: the state of the broker now, unhealthy endpoints first, and over the last hour.

import type { ReactNode } from "react";
import type { History, LiveAttempt, Overview } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { useLive, useTick } from "../live.ts";
import { Chart } from "../parts/chart.tsx";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, PageHead, Wait } from "../parts/page.tsx";
import { Rows } from "../parts/table.tsx";
import { Age, HealthBadge, Long, When } from "../parts/texts.tsx";
import { eventPath, go, pathTo, subscriptionPath } from "../route.ts";
import { sayCount, sayRate, sayShort } from "../words.ts";

const useStyles = makeStyles({
  figures: {
    display: "grid",
    gridTemplateColumns: "repeat(auto-fit, minmax(150px, 1fr))",
    gap: tokens.spacingHorizontalM,
    marginBottom: tokens.spacingVerticalL,
  },
  figure: {
    backgroundColor: tokens.colorNeutralBackground1,
    borderRadius: tokens.borderRadiusLarge,
    boxShadow: tokens.shadow2,
    padding: `${tokens.spacingVerticalM} ${tokens.spacingHorizontalL}`,
  },
  number: {
    fontSize: tokens.fontSizeHero700,
    lineHeight: tokens.lineHeightHero700,
    fontWeight: tokens.fontWeightSemibold,
    fontVariantNumeric: "tabular-nums",
    whiteSpace: "nowrap",
  },
  label: { color: tokens.colorNeutralForeground2 },
  charts: {
    display: "grid",
    gridTemplateColumns: "repeat(auto-fit, minmax(min(280px, 100%), 1fr))",
    gap: tokens.spacingHorizontalXXL,
  },
  steps: { textAlign: "left", lineHeight: tokens.lineHeightBase400 },
});

export function OverviewPage() {
  const { overview } = useLive();
  if (overview === null) return <Wait />;
  return (
    <>
      <PageHead
        title="Overview"
        subtitle={
          <>
            Up for <Age at={overview.startedAt} /> with profile {overview.profile}, store{" "}
            {overview.store}
          </>
        }
      />
      {overview.subscriptions === 0 && <FirstSteps />}
      <Figures overview={overview} />
      {overview.sick.length > 0 && <Sick overview={overview} />}
      <Charts />
      <Latest />
    </>
  );
}

function FirstSteps() {
  const styles = useStyles();
  return (
    <Card>
      <Empty
        title="Welcome: three steps to the first event"
        actions={
          <Button appearance="primary" onClick={() => go("/portal/topics?new=topic")}>
            Create a topic
          </Button>
        }
      >
        <ol className={styles.steps}>
          <li>Create a topic: it has an address and keys for publishers.</li>
          <li>Subscribe your endpoint to it.</li>
          <li>Publish a test event from the topic's page and watch it arrive here.</li>
        </ol>
      </Empty>
    </Card>
  );
}

function Figure({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const styles = useStyles();
  return (
    <div className={styles.figure}>
      <div className={styles.number}>{children}</div>
      <div className={styles.label}>{label}</div>
    </div>
  );
}

function Figures({ overview }: { readonly overview: Overview }) {
  const styles = useStyles();
  const { rates, counts } = overview;
  return (
    <section className={styles.figures} aria-label="Now">
      <Figure label="published a second">{sayRate(rates.published)}</Figure>
      <Figure label="delivered a second">{sayRate(rates.delivered)}</Figure>
      <Figure label="failed attempts a second">{sayRate(rates.failed)}</Figure>
      <Figure label="waiting">
        <span title={sayCount(overview.waiting)}>{sayShort(overview.waiting)}</span>
      </Figure>
      <Figure label="age of the oldest">
        <Age at={overview.oldestAt} isShort />
      </Figure>
      <Figure label="dead-lettered since start">
        <span title={sayCount(counts.deadLettered)}>{sayShort(counts.deadLettered)}</span>
      </Figure>
    </section>
  );
}

function Sick({ overview }: { readonly overview: Overview }) {
  return (
    <Card title="Endpoints with problems" actions={<To to="/portal/endpoints">All endpoints</To>}>
      <Rows
        label="Endpoints with problems"
        rows={overview.sick}
        keyOf={({ endpoint }) => endpoint}
        columns={[
          {
            title: "Endpoint",
            show: ({ endpoint }) => (
              <To to={pathTo(["endpoints"], { endpoint })}>
                <Long>{endpoint}</Long>
              </To>
            ),
          },
          {
            title: "Health",
            width: "110px",
            show: ({ health }) => <HealthBadge health={health} />,
          },
          { title: "Why", isWideOnly: true, show: ({ health }) => <Long>{health.words}</Long> },
          {
            title: "Waiting",
            width: "80px",
            align: "right",
            show: ({ waiting }) => sayShort(waiting),
          },
        ]}
      />
    </Card>
  );
}

function Charts() {
  const styles = useStyles();
  const tick = useTick(["overview"], 10_000);
  const asked = useAsked<History>(apiPath(["history"], { minutes: 60 }), tick);
  return (
    <Card title="The last hour">
      <Answer asked={asked} what="its history">
        {({ points }) => {
          if (points.length === 0) {
            return <Empty title="No data yet">There is a new point every ten seconds.</Empty>;
          }
          const at = points.map((point) => point.at);
          return (
            <div className={styles.charts}>
              <Chart
                title="Events"
                at={at}
                series={[
                  {
                    name: "published",
                    color: tokens.colorBrandForeground1,
                    values: points.map(({ published }) => published),
                  },
                  {
                    name: "delivered",
                    color: tokens.colorPaletteGreenForeground1,
                    dash: "6 3",
                    values: points.map(({ delivered }) => delivered),
                  },
                ]}
              />
              <Chart
                title="Trouble"
                at={at}
                series={[
                  {
                    name: "failed",
                    color: tokens.colorPaletteDarkOrangeForeground1,
                    values: points.map(({ failed }) => failed),
                  },
                  {
                    name: "dead-lettered",
                    color: tokens.colorPaletteRedForeground1,
                    dash: "6 3",
                    values: points.map(({ deadLettered }) => deadLettered),
                  },
                  {
                    name: "dropped",
                    color: tokens.colorPaletteBerryForeground1,
                    dash: "2 3",
                    values: points.map(({ dropped }) => dropped),
                  },
                ]}
              />
              <Chart
                title="Waiting"
                at={at}
                series={[
                  {
                    name: "waiting",
                    color: tokens.colorPalettePurpleForeground2,
                    values: points.map(({ waiting }) => waiting),
                  },
                ]}
              />
            </div>
          );
        }}
      </Answer>
    </Card>
  );
}

const shownMax = 12;

/** Live attempts and endings. */
function Latest() {
  const { attempts, missed } = useLive();
  return (
    <Card title="Live" actions={<To to="/portal/deliveries">All deliveries</To>}>
      {attempts.length === 0 ? (
        <Empty title="No attempt since this page was opened">
          Attempts appear here as they are made.
        </Empty>
      ) : (
        <Rows<LiveAttempt>
          label="Latest attempts"
          rows={attempts.slice(0, shownMax)}
          keyOf={({ event, subscription, number, stage }) =>
            `${event} ${subscription} ${stage} ${number}`
          }
          columns={[
            { title: "Time", width: "90px", show: ({ at }) => <When at={at} /> },
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
            { title: "Outcome", width: "110px", show: ({ outcome }) => <Long>{outcome}</Long> },
            { title: "In words", isWideOnly: true, show: ({ words }) => <Long>{words}</Long> },
          ]}
        />
      )}
      {missed > 0 && <p>{sayCount(missed)} more were too many to show.</p>}
    </Card>
  );
}
