// The overview: what is wrong first, then the broker now and over time, then its attempts live.

import { type ReactNode, useState } from "react";
import type { Overview } from "../../src/core/api/views.ts";
import { apiPath, ask, asRefused, type Refused } from "../api.ts";
import { FigureStrip } from "../figures/strip.tsx";
import { Button, makeStyles, mergeClasses, Spinner, tokens } from "../fluent.ts";
import {
  ChannelRegular,
  CheckmarkCircleFilled,
  PlayRegular,
  PulseRegular,
  SendRegular,
} from "../icons/drawings.tsx";
import { refreshOverview, useLive } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Card, PageHead, Refusal, Wait } from "../parts/page.tsx";
import { Tail } from "../parts/tail.tsx";
import { Age } from "../parts/texts.tsx";
import { ProblemCards } from "../problems/cards.tsx";
import { eventPath, go } from "../route.ts";
import { sayCount, sayRate, sayShort } from "../words.ts";

const useStyles = makeStyles({
  figures: {
    display: "grid",
    gridTemplateColumns: "repeat(6, minmax(0, 1fr))",
    rowGap: tokens.spacingVerticalM,
    padding: `${tokens.spacingVerticalM} 0`,
    "@media (max-width: 900px)": { gridTemplateColumns: "repeat(3, minmax(0, 1fr))" },
  },
  figure: {
    padding: `0 ${tokens.spacingHorizontalL}`,
    borderLeft: `1px solid ${tokens.colorNeutralStroke2}`,
    minWidth: 0,
    ":first-child": { borderLeftStyle: "none" },
    "@media (max-width: 900px)": { ":nth-child(4)": { borderLeftStyle: "none" } },
    "@media (max-width: 640px)": { padding: `0 ${tokens.spacingHorizontalS}` },
  },
  number: {
    fontSize: tokens.fontSizeHero700,
    lineHeight: tokens.lineHeightHero700,
    fontWeight: tokens.fontWeightSemibold,
    fontVariantNumeric: "tabular-nums",
    whiteSpace: "nowrap",
    "@media (max-width: 640px)": {
      fontSize: tokens.fontSizeBase600,
      lineHeight: tokens.lineHeightBase600,
    },
  },
  bad: { color: tokens.colorPaletteRedForeground1 },
  label: { color: tokens.colorNeutralForeground2, fontSize: tokens.fontSizeBase200 },
  fine: {
    display: "flex",
    alignItems: "center",
    gap: tokens.spacingHorizontalS,
    marginBottom: tokens.spacingVerticalM,
    color: tokens.colorNeutralForeground2,
  },
  tick: { fontSize: "18px", color: tokens.colorPaletteGreenForeground1 },
  welcome: {
    display: "grid",
    gridTemplateColumns: "minmax(0, 3fr) minmax(0, 2fr)",
    gap: tokens.spacingHorizontalXXL,
    padding: tokens.spacingHorizontalL,
    "@media (max-width: 800px)": { gridTemplateColumns: "minmax(0, 1fr)", padding: 0 },
  },
  greeting: {
    margin: 0,
    fontSize: tokens.fontSizeBase600,
    lineHeight: tokens.lineHeightBase600,
    fontWeight: tokens.fontWeightSemibold,
  },
  words: { color: tokens.colorNeutralForeground2, maxWidth: "56ch" },
  buttons: { display: "flex", flexWrap: "wrap", gap: tokens.spacingHorizontalM },
  steps: {
    display: "grid",
    rowGap: tokens.spacingVerticalL,
    margin: 0,
    padding: 0,
    listStyleType: "none",
    alignSelf: "center",
  },
  step: {
    display: "grid",
    gridTemplateColumns: "40px minmax(0, 1fr)",
    columnGap: tokens.spacingHorizontalM,
    alignItems: "center",
  },
  icon: {
    display: "grid",
    placeItems: "center",
    width: "40px",
    height: "40px",
    borderRadius: tokens.borderRadiusCircular,
    fontSize: "20px",
    color: tokens.colorBrandForeground1,
    backgroundColor: tokens.colorBrandBackground2,
  },
  about: { display: "block", color: tokens.colorNeutralForeground2 },
});

export function OverviewPage() {
  const overview = useLive("overview");
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
      {overview.subscriptions === 0 && <Welcome />}
      <ProblemCards
        none={overview.subscriptions > 0 && <NothingWrong isFailing={overview.rates.failed > 0} />}
      />
      {(overview.subscriptions > 0 || overview.counts.published > 0) && (
        <>
          <Now overview={overview} />
          <FigureStrip isNamed={false} />
          <Tail shownMax={12} more={<To to="/portal/deliveries">All deliveries</To>} />
        </>
      )}
    </>
  );
}

interface Shown {
  readonly event: string;
}

const steps = [
  ["A topic", "has an address and keys for publishers.", <ChannelRegular key="topic" />],
  [
    "A subscription",
    "says which of its events go to which endpoint.",
    <SendRegular key="subscription" />,
  ],
  [
    "A story",
    "tells of every event: each attempt, and what comes next.",
    <PulseRegular key="story" />,
  ],
] as const;

/** One button makes a topic, an inbox and an event, and leads to its story. */
function Welcome() {
  const styles = useStyles();
  const [isBusy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused | null>(null);
  const show = async () => {
    setBusy(true);
    setRefused(null);
    try {
      const { event } = await ask<Shown>("POST", apiPath(["show-me"]), {});
      void refreshOverview();
      go(eventPath(event));
    } catch (error) {
      setRefused(asRefused(error));
      setBusy(false);
    }
  };
  return (
    <Card>
      <div className={styles.welcome}>
        <div>
          <h2 className={styles.greeting}>Welcome to Posthorn</h2>
          <p className={styles.words}>
            See an event travel: this makes a topic and a test inbox inside the broker, publishes
            one event, and opens its story. Everything is real, and you can delete it afterwards.
          </p>
          <div className={styles.buttons}>
            <Button
              appearance="primary"
              size="large"
              icon={isBusy ? <Spinner size="tiny" /> : <PlayRegular />}
              onClick={() => void show()}
            >
              Show me
            </Button>
            <Button size="large" onClick={() => go("/portal/topics?new=topic")}>
              Create a topic
            </Button>
          </div>
          {refused !== null && <Refusal refused={refused} />}
        </div>
        <ol className={styles.steps}>
          {steps.map(([title, words, icon]) => (
            <li key={title} className={styles.step}>
              <span className={styles.icon}>{icon}</span>
              <span>
                <strong>{title}</strong>
                <span className={styles.about}>{words}</span>
              </span>
            </li>
          ))}
        </ol>
      </div>
    </Card>
  );
}

/** Single failures are no problem yet, but nobody would believe that there are none. */
function NothingWrong({ isFailing }: { readonly isFailing: boolean }) {
  const styles = useStyles();
  return (
    <div className={styles.fine} role="status">
      <CheckmarkCircleFilled className={styles.tick} />{" "}
      {isFailing ? "Nothing is wrong but single failures, which are retried." : "Nothing is wrong."}
    </div>
  );
}

function Figure({
  label,
  isBad = false,
  children,
}: {
  readonly label: string;
  readonly isBad?: boolean;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  return (
    <div className={styles.figure}>
      <div className={mergeClasses(styles.number, isBad && styles.bad)}>{children}</div>
      <div className={styles.label}>{label}</div>
    </div>
  );
}

function Now({ overview }: { readonly overview: Overview }) {
  const styles = useStyles();
  const { rates, counts } = overview;
  return (
    <Card isFlush label="Now">
      <div className={styles.figures}>
        <Figure label="published a second">{sayRate(rates.published)}</Figure>
        <Figure label="delivered a second">{sayRate(rates.delivered)}</Figure>
        <Figure label="failed attempts a second" isBad={rates.failed > 0}>
          {sayRate(rates.failed)}
        </Figure>
        <Figure label="waiting">
          <span title={sayCount(overview.waiting)}>{sayShort(overview.waiting)}</span>
        </Figure>
        <Figure label="age of the oldest">
          <Age at={overview.oldestAt} isShort />
        </Figure>
        <Figure label="dead-lettered since start">
          <span title={sayCount(counts.deadLettered)}>{sayShort(counts.deadLettered)}</span>
        </Figure>
      </div>
    </Card>
  );
}
