// Changes a subscription. The old settings stay active until its endpoint has agreed to the new
// ones.

import { useMemo } from "react";
import type { SubscriptionView, TopicView } from "../../src/core/api/views.ts";
import { type ArmSubscription, askArm } from "../arm.ts";
import { Diff, subscriptionNames } from "../forms/diff.tsx";
import { destinationIn, draftOf, propertiesOf } from "../forms/draft.ts";
import { StoredCard, useDraft } from "../forms/edit.tsx";
import { SubscriptionForm } from "../forms/subscription.tsx";
import { useSay } from "../frame/toasts.tsx";

export function EditSubscription({
  topic,
  ...given
}: {
  readonly subscription: SubscriptionView;
  readonly topic: TopicView;
  readonly onSaved: () => void;
}) {
  return (
    <StoredCard<ArmSubscription> {...given}>
      {(stored, onSaved) => <Edit topic={topic} stored={stored} onSaved={onSaved} />}
    </StoredCard>
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
  const kept = useMemo(() => draftOf(stored), [stored]);
  const { draft, change, changes, form } = useDraft(kept, subscriptionNames, async (given) => {
    await askArm("PUT", stored.id, { properties: propertiesOf(given, stored) });
    say.done("Saved", "The new settings become active when the endpoint has agreed to them.");
    onSaved();
  });
  return (
    <SubscriptionForm
      {...{ topic, draft, change, ...form }}
      keptUrl={destinationIn(stored).properties.endpointBaseUrl ?? null}
    >
      <Diff changes={changes} />
    </SubscriptionForm>
  );
}
