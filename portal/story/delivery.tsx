// One delivery of an event: its state, the countdown to the next attempt, each attempt with its
// decision, and what can be done about it.

import type { DeliveryStory, Story } from "../../src/core/api/views.ts";
import { ask, subscriptionApi } from "../api.ts";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { useNow } from "../live.ts";
import { useOrder } from "../parts/form.tsx";
import { To } from "../parts/link.tsx";
import { Card, Note, Refusal } from "../parts/page.tsx";
import { Facts, Mono, StateBadge, When, Words } from "../parts/texts.tsx";
import { pathTo, type SubscriptionName, subscriptionPath } from "../route.ts";
import { sayAge, sayMany } from "../words.ts";
import { SendAgain } from "./actions.tsx";
import { Attempts } from "./attempts.tsx";

const useStyles = makeStyles({
  held: { marginTop: tokens.spacingVerticalM },
  countdown: {
    fontSize: tokens.fontSizeBase500,
    lineHeight: tokens.lineHeightBase500,
    fontVariantNumeric: "tabular-nums",
    margin: `${tokens.spacingVerticalS} 0`,
  },
  actions: { display: "flex", gap: tokens.spacingHorizontalS, alignItems: "center" },
});

export function namedIn({ topic, domainTopic, subscription }: DeliveryStory): SubscriptionName {
  return { topic, domainTopic, name: subscription };
}

export function DeliveryCard({
  story,
  delivery,
  open,
  choose,
  again,
}: {
  readonly story: Story;
  readonly delivery: DeliveryStory;
  /** The attempt that is open. */
  readonly open: string | null;
  readonly choose: (attempt: string | null) => void;
  readonly again: () => void;
}) {
  const styles = useStyles();
  const { subscription, state } = delivery;
  const named = namedIn(delivery);
  return (
    <Card
      title={`To ${subscription}`}
      actions={
        <div className={styles.actions}>
          <TryNow story={story} delivery={delivery} again={again} />
          <SendAgain story={story} subscription={subscription} />
        </div>
      }
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
          <Note intent="warning" title="Why it waits:">
            <Words>{delivery.held}</Words>
          </Note>
        </div>
      )}
      <Countdown delivery={delivery} />
      <Attempts delivery={delivery} open={open} choose={choose} />
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
  const say = useSay();
  const { refused, run } = useOrder();
  if (delivery.state !== "waiting" && delivery.state !== "deadLettering") return null;
  const hasten = () =>
    void run(async () => {
      const path = subscriptionApi(namedIn(delivery), "hasten");
      const { hastened } = await ask<{ hastened: number }>("POST", path, { event: story.event });
      say.done(hastened === 0 ? "It is being sent already" : "It is sent now");
      again();
    });
  return (
    <>
      {refused !== null && <Refusal refused={refused} />}
      <Button appearance="primary" size="small" onClick={hasten}>
        Try now
      </Button>
    </>
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
