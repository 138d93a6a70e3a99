// One delivery of an event: its attempts and waits drawn, the countdown to the next one, each
// decision explained, and "try now".

import type { AttemptView, DeliveryStory, Story } from "../../src/core/api/views.ts";
import { ask, subscriptionApi } from "../api.ts";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { useNow } from "../live.ts";
import { useOrder } from "../parts/form.tsx";
import { To } from "../parts/link.tsx";
import { Card, Note, Refusal } from "../parts/page.tsx";
import { Code, Facts, Mono, StateBadge, When } from "../parts/texts.tsx";
import { type Mark, Timeline } from "../parts/timeline.tsx";
import { pathTo, subscriptionPath } from "../route.ts";
import { sayAge, sayLength, sayMany } from "../words.ts";

const useStyles = makeStyles({
  list: { listStyleType: "none", margin: `${tokens.spacingVerticalM} 0 0`, padding: 0 },
  held: { marginTop: tokens.spacingVerticalM },
  attempt: {
    borderTop: `1px solid ${tokens.colorNeutralStroke2}`,
    padding: `${tokens.spacingVerticalS} 0`,
    overflowWrap: "anywhere",
  },
  head: {
    display: "flex",
    flexWrap: "wrap",
    columnGap: tokens.spacingHorizontalM,
    alignItems: "baseline",
  },
  number: { fontWeight: tokens.fontWeightSemibold },
  good: { color: tokens.colorPaletteGreenForeground1, fontWeight: tokens.fontWeightSemibold },
  bad: { color: tokens.colorPaletteRedForeground1, fontWeight: tokens.fontWeightSemibold },
  quiet: { color: tokens.colorNeutralForeground2 },
  countdown: {
    fontSize: tokens.fontSizeBase500,
    lineHeight: tokens.lineHeightBase500,
    fontVariantNumeric: "tabular-nums",
    margin: `${tokens.spacingVerticalS} 0`,
  },
  actions: { display: "flex", gap: tokens.spacingHorizontalS, alignItems: "center" },
});

export function DeliveryCard({
  story,
  delivery,
  again,
}: {
  readonly story: Story;
  readonly delivery: DeliveryStory;
  readonly again: () => void;
}) {
  const styles = useStyles();
  const { subscription, state } = delivery;
  const named = {
    topic: delivery.topic,
    domainTopic: delivery.domainTopic,
    name: subscription,
  };
  return (
    <Card
      title={`To ${subscription}`}
      actions={<TryNow story={story} delivery={delivery} again={again} />}
    >
      <Facts
        facts={[
          ["State", <StateBadge key="state" state={state} />],
          [
            "Subscription",
            <To key="to" to={subscriptionPath(named)}>
              {subscription}
            </To>,
          ],
          ["Goes to", <Mono key="endpoint">{delivery.endpoint}</Mono>],
          ...endFacts(delivery),
        ]}
      />
      {delivery.held !== null && (
        <div className={styles.held}>
          <Note intent="warning">{delivery.held}</Note>
        </div>
      )}
      <Countdown delivery={delivery} />
      <Drawn story={story} delivery={delivery} />
      <Attempts delivery={delivery} />
    </Card>
  );
}

function endFacts({ reason, endedAt, deadLetter, expiresAt, attemptsLeft, state }: DeliveryStory) {
  const isOpen = state === "waiting";
  return [
    ...(reason === null ? [] : [["Reason", reason] as const]),
    ...(endedAt === null ? [] : [["Ended", <When key="ended" at={endedAt} />] as const]),
    ...(deadLetter === null
      ? []
      : [
          [
            "Dead letter",
            <span key="blob">
              <Mono>{`${deadLetter.account}/${deadLetter.container}/${deadLetter.blob}`}</Mono>{" "}
              <To
                to={pathTo(["dead-letters"], {
                  account: deadLetter.account,
                  container: deadLetter.container,
                })}
              >
                browse
              </To>
            </span>,
          ] as const,
        ]),
    ...(isOpen && expiresAt !== null
      ? [["Expires", <When key="expires" at={expiresAt} />] as const]
      : []),
    ...(isOpen && attemptsLeft !== null
      ? [["Left", sayMany(attemptsLeft, "attempt")] as const]
      : []),
  ];
}

function TryNow({
  story,
  delivery,
  again,
}: {
  readonly story: Story;
  readonly delivery: DeliveryStory;
  readonly again: () => void;
}) {
  const styles = useStyles();
  const say = useSay();
  const { refused, run } = useOrder();
  if (delivery.state !== "waiting" && delivery.state !== "deadLettering") return null;
  const { topic, domainTopic, subscription } = delivery;
  const hasten = () =>
    void run(async () => {
      const path = subscriptionApi({ topic, domainTopic, name: subscription }, "hasten");
      const { hastened } = await ask<{ hastened: number }>("POST", path, { event: story.event });
      say.done(hastened === 0 ? "It is being sent already" : "It is sent now");
      again();
    });
  return (
    <div className={styles.actions}>
      {refused !== null && <Refusal refused={refused} />}
      <Button appearance="primary" onClick={hasten}>
        Try now
      </Button>
    </div>
  );
}

function Countdown({ delivery }: { readonly delivery: DeliveryStory }) {
  const styles = useStyles();
  const now = useNow(250);
  const { nextDueAt, state, held } = delivery;
  if (nextDueAt === null || (state !== "waiting" && state !== "deadLettering")) return null;
  const leftMs = Date.parse(nextDueAt) - now;
  // What is due and delayed is explained by the text above.
  if (leftMs <= 0 && held !== null) return null;
  const what = state === "waiting" ? "Next attempt" : "The dead letter is written";
  return (
    <div className={styles.countdown} role="timer">
      {leftMs > 0 ? (
        <>
          {what} in {sayAge(leftMs + 999)}, at <When at={nextDueAt} />
        </>
      ) : (
        `${what} now`
      )}
    </div>
  );
}

function isGood({ decision }: AttemptView): boolean {
  return decision === "delivered";
}

function Drawn({ story, delivery }: { readonly story: Story; readonly delivery: DeliveryStory }) {
  const now = useNow(1_000);
  const since = Date.parse(story.acceptedAt);
  const isOpen = delivery.state === "waiting" || delivery.state === "deadLettering";
  const marks: Mark[] = delivery.attempts.map((attempt) => ({
    atMs: Date.parse(attempt.at) - since,
    kind: isGood(attempt) ? (attempt.stage === "deliver" ? "good" : "end") : "bad",
    words: `attempt ${attempt.number}: ${attempt.outcome}`,
  }));
  if (isOpen && delivery.nextDueAt !== null) {
    const atMs = Date.parse(delivery.nextDueAt) - since;
    marks.push({ atMs, kind: "next", words: "next attempt" });
  }
  if (delivery.state === "dropped" && delivery.endedAt !== null) {
    const atMs = Date.parse(delivery.endedAt) - since;
    marks.push({ atMs, kind: "lost", words: `dropped: ${delivery.reason ?? ""}` });
  }
  // A single dot shows less than the text below.
  if (marks.length < 2) return null;
  const lastMs = Math.max(...marks.map(({ atMs }) => atMs));
  return (
    <Timeline
      label={`Attempts to deliver to ${delivery.subscription}`}
      marks={marks}
      nowMs={isOpen ? now - since : null}
      untilMs={isOpen ? Math.max(lastMs, now - since) : lastMs}
    />
  );
}

const shownMax = 40;

function Attempts({ delivery }: { readonly delivery: DeliveryStory }) {
  const styles = useStyles();
  const entries = [
    ...delivery.attempts.map((attempt) => ({ at: attempt.at, attempt })),
    ...delivery.remarks.map(({ at, words }) => ({ at, words })),
  ].toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
  return (
    <ol className={styles.list} aria-label="Attempts, the latest first">
      {entries.slice(0, shownMax).map((entry, index) =>
        "attempt" in entry ? (
          <Attempt key={`${entry.attempt.stage} ${entry.attempt.number}`} attempt={entry.attempt} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: two remarks may be of one instant.
          <li key={`${entry.at} ${index}`} className={styles.attempt}>
            <span className={styles.quiet}>
              <When at={entry.at} />
            </span>{" "}
            {entry.words}
          </li>
        ),
      )}
      {entries.length > shownMax && (
        <li className={styles.attempt}>and {entries.length - shownMax} more before these</li>
      )}
    </ol>
  );
}

function Attempt({ attempt }: { readonly attempt: AttemptView }) {
  const styles = useStyles();
  const { number, stage, outcome, status, durationMs, words, excerpt, detail, batch } = attempt;
  return (
    <li className={styles.attempt}>
      <div className={styles.head}>
        <span className={styles.number}>
          {stage === "deliver" ? `Attempt ${number}` : `Dead letter, attempt ${number}`}
        </span>
        <span className={styles.quiet}>
          <When at={attempt.at} />
        </span>
        <span className={isGood(attempt) ? styles.good : styles.bad}>
          {status === null ? outcome : `${status} ${outcome}`}
        </span>
        <span className={styles.quiet}>
          after {sayLength(durationMs)}
          {batch > 1 && `, with ${batch - 1} others`}
          {attempt.isLate && ", late"}; the endpoint was {attempt.health}
        </span>
      </div>
      <div>{words}</div>
      {detail !== null && <div className={styles.quiet}>{detail}</div>}
      {excerpt !== null && excerpt !== "" && <Code text={excerpt} what="the answer" wraps />}
    </li>
  );
}
