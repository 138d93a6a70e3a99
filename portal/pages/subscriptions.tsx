// All subscriptions of the broker, those with problems first.

import { useState } from "react";
import type { Page, SubscriptionView } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import { Button, Input, makeStyles, tokens } from "../fluent.ts";
import { AddRegular, SearchRegular } from "../icons/drawings.tsx";
import { useTick } from "../live.ts";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { SubscriptionRows } from "../parts/subscriptions.tsx";
import { go } from "../route.ts";

const useStyles = makeStyles({ search: { marginBottom: tokens.spacingVerticalM } });

function matches({ name, topic, destination }: SubscriptionView, wanted: string): boolean {
  const text = `${name} ${topic} ${destination.endpoint}`.toLowerCase();
  return text.includes(wanted.trim().toLowerCase());
}

export function SubscriptionsPage() {
  const styles = useStyles();
  const tick = useTick(["catalog", "attempt", "endpoint"], 2_000);
  const asked = useAsked<Page<SubscriptionView>>(apiPath(["subscriptions"]), tick);
  const [wanted, setWanted] = useState("");
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
      <Card>
        <Answer asked={asked} what="its subscriptions">
          {({ value }) =>
            value.length === 0 ? (
              <Empty title="No subscription yet" actions={create}>
                A subscription names your endpoint and says which events of a topic go there.
              </Empty>
            ) : (
              <>
                {value.length > 8 && (
                  <Input
                    className={styles.search}
                    aria-label="Search by name, topic or endpoint"
                    placeholder="Name, topic or endpoint"
                    contentBefore={<SearchRegular />}
                    value={wanted}
                    onChange={(_, given) => setWanted(given.value)}
                  />
                )}
                <SubscriptionRows
                  subscriptions={value.filter((each) => matches(each, wanted))}
                  showsTopic
                />
              </>
            )
          }
        </Answer>
      </Card>
    </>
  );
}
