// Subscribing an endpoint to a topic.

import { useState } from "react";
import type { Page, TopicView } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { type ArmSubscription, askArm, subscriptionId } from "../arm.ts";
import { Button } from "../fluent.ts";
import { type Draft, plainDraft, propertiesOf } from "../forms/draft.ts";
import { SubscriptionForm } from "../forms/subscription.tsx";
import { useSay } from "../frame/toasts.tsx";
import { refreshOverview } from "../live.ts";
import { ChoiceField, FieldRow, TextField, useOrder } from "../parts/form.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { go, subscriptionPath } from "../route.ts";

export function NewSubscriptionPage({ query }: PageProps) {
  const asked = useAsked<Page<TopicView>>(apiPath(["topics"]));
  return (
    <>
      <PageHead
        title="New subscription"
        subtitle="Choose which events of a topic go to which endpoint."
      />
      <Card>
        <Answer asked={asked} what="its topics">
          {({ value }) =>
            value.length === 0 ? (
              <Empty
                title="There is no topic to subscribe to yet"
                actions={
                  <Button appearance="primary" onClick={() => go("/portal/topics?new=topic")}>
                    Create a topic
                  </Button>
                }
              />
            ) : (
              <NewSubscription topics={value} wanted={query.get("topic")} />
            )
          }
        </Answer>
      </Card>
    </>
  );
}

function NewSubscription({
  topics,
  wanted,
}: {
  readonly topics: readonly TopicView[];
  readonly wanted: string | null;
}) {
  const say = useSay();
  const { refused, run } = useOrder();
  const [topicName, setTopicName] = useState(wanted ?? topics[0]?.name ?? "");
  const [domainTopic, setDomainTopic] = useState("");
  const [name, setName] = useState("");
  const [draft, setDraft] = useState<Draft>(plainDraft);
  const topic = topics.find((each) => each.name === topicName) ?? (topics[0] as TopicView);
  const create = () =>
    void run(async () => {
      const named = {
        topic: topic.name,
        domainTopic: domainTopic.trim() || null,
        name: name.trim() || " ",
      };
      const id = subscriptionId(topic.armId, named);
      const { properties } = await askArm<ArmSubscription>("PUT", id, {
        properties: propertiesOf(draft),
      });
      await refreshOverview();
      if (properties.provisioningState === "Succeeded") {
        say.done(`The subscription ${named.name} has been created`);
      } else {
        const more = "Nothing is sent before it agrees. Its answer is shown here.";
        say.note(`The endpoint of ${named.name} is being asked`, more);
      }
      go(subscriptionPath(named));
    });
  return (
    <SubscriptionForm
      topic={topic}
      draft={draft}
      change={(changes) => setDraft((before) => ({ ...before, ...changes }))}
      refused={refused}
      submitWords="Create"
      onSubmit={create}
      onCancel={() => history.back()}
    >
      <FieldRow>
        <TextField
          label="Name"
          path="eventSubscriptionName"
          isRequired
          value={name}
          placeholder="billing"
          onChange={setName}
        />
        <ChoiceField
          label="Topic"
          value={topic.name}
          choices={topics.map((each) => [each.name, each.name] as const)}
          onChange={setTopicName}
        />
        {topic.kind === "domain" && (
          <TextField
            label="Topic within the domain"
            path="domainTopicName"
            hint="Empty: events of all its topics."
            value={domainTopic}
            onChange={setDomainTopic}
          />
        )}
      </FieldRow>
    </SubscriptionForm>
  );
}
