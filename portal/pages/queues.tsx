// Pull queues: event subscriptions of namespaces that clients fetch from. How much is available,
// how much is locked, who waits, and how old the oldest is.

import { useMemo, useState } from "react";
import type { SubscriptionView } from "../../src/core/api/views.ts";
import { FigureStrip } from "../figures/strip.tsx";
import { Button } from "../fluent.ts";
import { NewQueue } from "../forms/queue.tsx";
import { AddRegular } from "../icons/drawings.tsx";
import { useChanging } from "../lists.ts";
import { useTick } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { FlowBadge } from "../parts/subscriptions.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import { Age, Code, Long } from "../parts/texts.tsx";
import { go, subscriptionPath, topicPath } from "../route.ts";
import { sayLength, sayShort } from "../words.ts";

const commands = `posthorn namespace create -n shop
posthorn namespace topic create --namespace-name shop -n orders
posthorn namespace topic event-subscription create --namespace-name shop --topic-name orders -n billing`;

export function QueuesPage() {
  const [isNew, setNew] = useState(false);
  const tick = useTick(["catalog", "overview"], 2_000);
  const asked = useChanging<SubscriptionView>(["subscriptions"], ({ armId }) => armId, tick);
  const queues = useMemo(() => asked.value?.filter(({ queue }) => queue !== null), [asked.value]);
  const create = (
    <Button appearance="primary" icon={<AddRegular />} onClick={() => setNew(true)}>
      Create
    </Button>
  );
  return (
    <>
      <PageHead
        title="Pull queues"
        subtitle="Event subscriptions of namespaces: nothing is sent, clients receive and acknowledge."
        actions={create}
      />
      {queues !== undefined && queues.length > 0 && <FigureStrip />}
      <Card>
        <Answer asked={asked} what="its pull queues">
          {() =>
            queues === undefined || queues.length === 0 ? (
              <>
                <Empty title="No pull queue yet" actions={create}>
                  Clients behind a firewall, batch jobs and tests fetch events when they are ready.
                  A namespace has topics, and each of their event subscriptions is a queue. In a
                  terminal:
                </Empty>
                <Code text={commands} what="the commands" />
              </>
            ) : (
              <Rows
                label="Pull queues"
                rows={queues}
                keyOf={({ armId }) => armId}
                columns={columns}
              />
            )
          }
        </Answer>
      </Card>
      {isNew && <NewQueue topic={null} onClose={() => setNew(false)} />}
    </>
  );
}

const columns: readonly Column<SubscriptionView>[] = [
  {
    title: "Queue",
    show: (each) => (
      <To to={subscriptionPath(each, "receive")}>
        <Long>{each.name}</Long>
      </To>
    ),
  },
  {
    title: "Topic",
    show: ({ topic }) => (
      <To to={topicPath(topic)}>
        <Long>{topic}</Long>
      </To>
    ),
  },
  { title: "State", width: "100px", show: (each) => <FlowBadge subscription={each} /> },
  {
    title: "Available",
    width: "75px",
    align: "right",
    show: ({ queue }) => sayShort(queue?.available ?? 0),
  },
  {
    title: "Locked",
    width: "55px",
    align: "right",
    show: ({ queue }) => sayShort(queue?.locked ?? 0),
  },
  {
    title: "Oldest",
    width: "75px",
    align: "right",
    show: ({ oldestAt }) => <Age at={oldestAt} isShort />,
  },
  {
    title: "Receivers",
    width: "80px",
    align: "right",
    isWideOnly: true,
    show: ({ queue }) => sayShort(queue?.receivers ?? 0),
  },
  {
    title: "Lock",
    width: "60px",
    align: "right",
    isWideOnly: true,
    show: ({ queue }) => sayLength(queue?.lockMs ?? 0),
  },
  {
    title: "By hand",
    width: "100px",
    align: "right",
    isWideOnly: true,
    show: (each) => (
      <Button size="small" onClick={() => go(subscriptionPath(each, "receive"))}>
        Receive…
      </Button>
    ),
  },
];
