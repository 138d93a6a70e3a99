// All subscriptions of the broker, those with problems first.

import { useMemo, useState } from "react";
import type { SubscriptionView } from "../../src/core/api/views.ts";
import { useSparks } from "../figures/figures.ts";
import { useRange } from "../figures/range.ts";
import { FigureStrip } from "../figures/strip.tsx";
import { Button, Input, makeStyles, tokens } from "../fluent.ts";
import { AddRegular, SearchRegular } from "../icons/drawings.tsx";
import { useChanging } from "../lists.ts";
import { useTick } from "../live.ts";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { SubscriptionRows } from "../parts/subscriptions.tsx";
import { ProblemCards } from "../problems/cards.tsx";
import type { ProblemKind } from "../problems/problems.ts";
import { go } from "../route.ts";

const useStyles = makeStyles({ search: { marginBottom: tokens.spacingVerticalM } });

const none: readonly SubscriptionView[] = [];

/** The same array where nothing is wanted. */
function like(all: readonly SubscriptionView[], wanted: string): readonly SubscriptionView[] {
  const word = wanted.trim().toLowerCase();
  if (word === "") return all;
  return all.filter(({ name, topic, destination }) =>
    `${name} ${topic} ${destination.endpoint}`.toLowerCase().includes(word),
  );
}

/** Of subscriptions and of what they go to. */
const ownProblems: readonly ProblemKind[] = [
  "unhealthy",
  "failing",
  "paused",
  "handshake",
  "dropping",
  "deadLetters",
];

export function SubscriptionsPage() {
  const styles = useStyles();
  const tick = useTick(["catalog", "overview", "endpoint"], 2_000);
  const asked = useChanging<SubscriptionView>(["subscriptions"], ({ armId }) => armId, tick);
  const sparks = useSparks("subscription", useRange());
  const [wanted, setWanted] = useState("");
  const found = useMemo(() => like(asked.value ?? none, wanted), [asked.value, wanted]);
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
              <>
                {value.length > 8 && (
                  <Input
                    className={styles.search}
                    data-search
                    aria-label="Search by name, topic or endpoint"
                    placeholder="Name, topic or endpoint"
                    contentBefore={<SearchRegular />}
                    value={wanted}
                    onChange={(_, given) => setWanted(given.value)}
                  />
                )}
                <SubscriptionRows subscriptions={found} showsTopic sparks={sparks} />
              </>
            )
          }
        </Answer>
      </Card>
    </>
  );
}
