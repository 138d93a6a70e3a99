// All subscriptions of the broker, those with problems first.

import type { SubscriptionView } from "../../src/core/api/views.ts";
import { useSparks } from "../figures/figures.ts";
import { useRange } from "../figures/range.ts";
import { FigureStrip } from "../figures/strip.tsx";
import { Button } from "../fluent.ts";
import { AddRegular } from "../icons/drawings.tsx";
import { useChanging } from "../lists.ts";
import { useTick } from "../live.ts";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { Sought } from "../parts/sought.tsx";
import { SubscriptionRows, wordsOf } from "../parts/subscriptions.tsx";
import { ProblemCards } from "../problems/cards.tsx";
import type { ProblemKind } from "../problems/problems.ts";
import { go } from "../route.ts";

/** Of subscriptions and of what they go to. */
const ownProblems: readonly ProblemKind[] = [
  "unhealthy",
  "failing",
  "paused",
  "handshake",
  "dropping",
  "deadLetterStore",
  "deadLetters",
  "closed",
];

export function SubscriptionsPage() {
  const tick = useTick(["catalog", "overview", "endpoint"], 2_000);
  const asked = useChanging<SubscriptionView>(["subscriptions"], ({ armId }) => armId, tick);
  const sparks = useSparks("subscription", useRange());
  const create = (
    <Button
      appearance="primary"
      icon={<AddRegular />}
      onClick={() => go("/portal/subscriptions/new")}
    >
      Create
    </Button>
  );
  return (
    <>
      <PageHead
        title="Subscriptions"
        subtitle="Which events of a topic go to which endpoint, and how often they are tried."
        actions={create}
      />
      <ProblemCards kinds={ownProblems} />
      <FigureStrip />
      <Card>
        <Answer asked={asked} what="its subscriptions">
          {(value) =>
            value.length === 0 ? (
              <Empty title="No subscription yet" actions={create}>
                A subscription names your endpoint and says which events of a topic go there.
              </Empty>
            ) : (
              <Sought rows={value} by="name, topic or endpoint" textOf={wordsOf}>
                {(found) => <SubscriptionRows subscriptions={found} showsTopic sparks={sparks} />}
              </Sought>
            )
          }
        </Answer>
      </Card>
    </>
  );
}
