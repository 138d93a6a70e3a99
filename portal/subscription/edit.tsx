// Changes a subscription. The old settings stay active until its endpoint has agreed to the new
// ones.

import { useCallback, useMemo, useState } from "react";
import type { SubscriptionView, TopicView } from "../../src/core/api/views.ts";
import { useAsked } from "../api.ts";
import { type ArmSubscription, armPath, askArm } from "../arm.ts";
import { makeStyles } from "../fluent.ts";
import { changesBetween, Diff } from "../forms/diff.tsx";
import { type Draft, destinationIn, draftOf, propertiesOf } from "../forms/draft.ts";
import { SubscriptionForm } from "../forms/subscription.tsx";
import { useSay } from "../frame/toasts.tsx";
import { useOrder } from "../parts/form.tsx";
import { Answer, Card } from "../parts/page.tsx";
import { useUnsaved } from "../parts/steps.tsx";

const useStyles = makeStyles({ form: { maxWidth: "960px" } });

export function EditSubscription({
  subscription,
  topic,
  onSaved,
}: {
  readonly subscription: SubscriptionView;
  readonly topic: TopicView;
  readonly onSaved: () => void;
}) {
  const styles = useStyles();
  const asked = useAsked<ArmSubscription>(armPath(subscription.armId));
  return (
    <Card className={styles.form}>
      <Answer asked={asked} what="the settings of a subscription">
        {(value) => (
          <Edit
            key={JSON.stringify(value.properties)}
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
  const kept = useMemo(() => draftOf(stored), [stored]);
  const [draft, setDraft] = useState<Draft>(kept);
  const change = useCallback(
    (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes })),
    [],
  );
  const changes = changesBetween(kept, draft);
  useUnsaved(changes.length > 0, "Your changes to this subscription are not saved.");
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
      change={change}
      keptUrl={destinationIn(stored).properties.endpointBaseUrl ?? null}
      refused={refused}
      submitWords="Save"
      onSubmit={save}
      onCancel={changes.length > 0 ? () => setDraft(kept) : undefined}
      cancelWords="Reset"
    >
      <Diff changes={changes} />
    </SubscriptionForm>
  );
}
