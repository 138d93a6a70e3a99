// Changes a subscription. The old settings stay active until its endpoint has agreed to the new
// ones.

import { useState } from "react";
import type { SubscriptionView, TopicView } from "../../src/core/api/views.ts";
import { useAsked } from "../api.ts";
import { type ArmSubscription, armPath, askArm } from "../arm.ts";
import { type Draft, destinationIn, draftOf, propertiesOf } from "../forms/draft.ts";
import { SubscriptionForm } from "../forms/subscription.tsx";
import { useSay } from "../frame/toasts.tsx";
import { useOrder } from "../parts/form.tsx";
import { Answer, Card } from "../parts/page.tsx";

export function EditSubscription({
  subscription,
  topic,
  onSaved,
}: {
  readonly subscription: SubscriptionView;
  readonly topic: TopicView;
  readonly onSaved: () => void;
}) {
  const asked = useAsked<ArmSubscription>(armPath(subscription.armId));
  return (
    <Card>
      <Answer asked={asked} what="the settings of a subscription">
        {(value) => (
          <Edit
            topic={topic}
            stored={value}
            onSaved={() => {
              asked.again();
              onSaved();
            }}
          />
        )}
      </Answer>
    </Card>
  );
}

function Edit({
  topic,
  stored,
  onSaved,
}: {
  readonly topic: TopicView;
  readonly stored: ArmSubscription;
  readonly onSaved: () => void;
}) {
  const say = useSay();
  const { refused, run } = useOrder();
  const [draft, setDraft] = useState<Draft>(() => draftOf(stored));
  const save = () =>
    void run(async () => {
      await askArm("PUT", stored.id, { properties: propertiesOf(draft, stored) });
      say.done("Saved", "The new settings become active when the endpoint has agreed to them.");
      onSaved();
    });
  return (
    <SubscriptionForm
      topic={topic}
      draft={draft}
      change={(changes) => setDraft((before) => ({ ...before, ...changes }))}
      keptUrl={destinationIn(stored).properties.endpointBaseUrl ?? null}
      refused={refused}
      submitWords="Save"
      onSubmit={save}
    />
  );
}
