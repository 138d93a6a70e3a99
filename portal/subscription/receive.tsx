// Receiving from a pull queue by hand, as a client would: each event is really locked and counted,
// and what is neither acknowledged nor released is handed out again when its lock ends.

import { useState } from "react";
import type {
  Page,
  ReceivedView,
  SettledView,
  SubscriptionView,
} from "../../src/core/api/views.ts";
import { releaseDelays } from "../../src/core/pull/pull-rules.ts";
import { ask, subscriptionApi } from "../api.ts";
import {
  Button,
  Menu,
  MenuItem,
  MenuList,
  MenuPopover,
  MenuTrigger,
  makeStyles,
  tokens,
} from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { useNow } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Age, Code, Facts } from "../parts/texts.tsx";
import { eventPath } from "../route.ts";
import { sayAge, sayCount, sayLength, sayMany } from "../words.ts";

const useStyles = makeStyles({
  actions: { display: "flex", flexWrap: "wrap", gap: tokens.spacingHorizontalS },
  list: { listStyleType: "none", margin: 0, padding: 0 },
  entry: {
    borderTop: `1px solid ${tokens.colorNeutralStroke2}`,
    padding: `${tokens.spacingVerticalM} 0`,
  },
  head: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    columnGap: tokens.spacingHorizontalM,
    rowGap: tokens.spacingVerticalXS,
    marginBottom: tokens.spacingVerticalS,
  },
  grow: { flexGrow: 1 },
  quiet: { color: tokens.colorNeutralForeground2 },
  ended: { color: tokens.colorPaletteDarkOrangeForeground1 },
});

type Order = "acknowledge" | "release" | "reject" | "renewLock";

const done: Readonly<Record<Order, string>> = {
  acknowledge: "acknowledged",
  release: "released",
  reject: "rejected",
  renewLock: "renewed",
};

const amounts = [1, 10, 100] as const;

export function ReceiveCards({
  subscription,
  onDone,
}: {
  readonly subscription: SubscriptionView;
  readonly onDone: () => void;
}) {
  const styles = useStyles();
  const say = useSay();
  const [held, setHeld] = useState<readonly ReceivedView[]>([]);
  const { queue } = subscription;
  const receive = async (max: number) => {
    try {
      const path = subscriptionApi(subscription, "receive");
      const { value } = await ask<Page<ReceivedView>>("POST", path, { max });
      setHeld((before) => [...value, ...before]);
      say.done(
        value.length === 0 ? "Nothing is available" : `${sayMany(value.length, "event")} received`,
      );
      onDone();
    } catch (error) {
      say.refused("Nothing was received", error);
    }
  };
  const settle = async (order: Order, lockTokens: readonly string[], delaySeconds?: number) => {
    try {
      const { value } = await ask<Page<SettledView>>(
        "POST",
        subscriptionApi(subscription, "locks"),
        {
          ...{ order, lockTokens },
          ...(delaySeconds !== undefined && { delaySeconds }),
        },
      );
      const results = new Map(value.map((each) => [each.lockToken, each]));
      setHeld((before) => before.flatMap((each) => after(each, order, results)));
      const lost = value.filter(({ result }) => result !== "succeeded").length;
      say.done(
        `${sayMany(value.length - lost, "event")} ${done[order]}` +
          (lost === 0 ? "" : `; of ${sayCount(lost)} the lock had ended`),
      );
      onDone();
    } catch (error) {
      say.refused("It could not be done", error);
    }
  };
  return (
    <>
      <Card title="The queue">
        <Facts
          facts={[
            ["Available", sayCount(queue?.available ?? 0)],
            ["Locked", sayCount(queue?.locked ?? 0)],
            ["Oldest", <Age key="oldest" at={subscription.oldestAt} none="nothing waits" />],
            ["Receivers that wait", sayCount(queue?.receivers ?? 0)],
            ["A lock lasts", sayLength(queue?.lockMs ?? 0)],
          ]}
        />
      </Card>
      <Card
        title="In your hands"
        actions={
          <div className={styles.actions}>
            {amounts.map((amount) => (
              <Button
                key={amount}
                size="small"
                appearance={amount === 1 ? "primary" : "secondary"}
                onClick={() => void receive(amount)}
              >
                {amount === 1 ? "Receive one" : `Receive ${amount}`}
              </Button>
            ))}
            {held.length > 1 && (
              <Button
                size="small"
                onClick={() =>
                  void settle(
                    "acknowledge",
                    held.map(({ lockToken }) => lockToken),
                  )
                }
              >
                Acknowledge all
              </Button>
            )}
          </div>
        }
      >
        {held.length === 0 ? (
          <Empty title="Nothing is received">
            What you receive here is locked, so that no client gets it meanwhile, and counts as one
            of its deliveries. Leave this page, and it is available again when its lock ends.
          </Empty>
        ) : (
          <ul className={styles.list} aria-label="Received events">
            {held.map((each) => (
              <Received
                key={each.lockToken}
                received={each}
                settle={(order, delay) => void settle(order, [each.lockToken], delay)}
                forget={() =>
                  setHeld((before) =>
                    before.filter(({ lockToken }) => lockToken !== each.lockToken),
                  )
                }
              />
            ))}
          </ul>
        )}
      </Card>
    </>
  );
}

/** What is still in hand after an order. */
function after(
  received: ReceivedView,
  order: Order,
  results: ReadonlyMap<string, SettledView>,
): readonly ReceivedView[] {
  const settled = results.get(received.lockToken);
  if (settled === undefined) return [received];
  if (order !== "renewLock" || settled.result !== "succeeded") return [];
  return [{ ...received, lockedUntil: settled.lockedUntil ?? received.lockedUntil }];
}

function Received({
  received,
  settle,
  forget,
}: {
  readonly received: ReceivedView;
  readonly settle: (order: Order, delaySeconds?: number) => void;
  readonly forget: () => void;
}) {
  const styles = useStyles();
  const now = useNow();
  const leftMs = Date.parse(received.lockedUntil) - now;
  const { id } = received.event as { readonly id?: string };
  return (
    <li className={styles.entry}>
      <div className={styles.head}>
        <To to={eventPath(received.systemId)}>{id ?? received.systemId}</To>
        <span className={styles.quiet}>delivery {received.deliveryCount}</span>
        {leftMs > 0 ? (
          <span className={styles.quiet}>locked for {sayAge(leftMs)}</span>
        ) : (
          <span className={styles.ended}>its lock has ended: it is available again</span>
        )}
        <span className={styles.grow} />
        {leftMs > 0 ? (
          <div className={styles.actions}>
            <Button size="small" appearance="primary" onClick={() => settle("acknowledge")}>
              Acknowledge
            </Button>
            <Menu>
              <MenuTrigger disableButtonEnhancement>
                <Button size="small">Release…</Button>
              </MenuTrigger>
              <MenuPopover>
                <MenuList>
                  {releaseDelays.map((seconds) => (
                    <MenuItem key={seconds} onClick={() => settle("release", seconds)}>
                      {seconds === 0 ? "At once" : `After ${sayLength(seconds * 1_000)}`}
                    </MenuItem>
                  ))}
                </MenuList>
              </MenuPopover>
            </Menu>
            <Button size="small" onClick={() => settle("renewLock")}>
              Renew
            </Button>
            <Button size="small" onClick={() => settle("reject")}>
              Reject
            </Button>
          </div>
        ) : (
          <Button size="small" onClick={forget}>
            Put aside
          </Button>
        )}
      </div>
      <Code text={JSON.stringify(received.event, null, 2)} what="the event" wraps />
    </li>
  );
}
