// Changes what is stored: it is drafted in a form with what would change beside it, and asked for
// again once it is saved.

import { Fragment, type ReactNode, useCallback, useState } from "react";
import type { SubscriptionView } from "../../src/core/api/views.ts";
import { useAsked } from "../api.ts";
import { armPath } from "../arm.ts";
import { makeStyles } from "../fluent.ts";
import { useOrder } from "../parts/form.tsx";
import { Answer, Card } from "../parts/page.tsx";
import { useUnsaved } from "../parts/steps.tsx";
import { changesBetween, type Names } from "./diff.tsx";

const useStyles = makeStyles({ form: { maxWidth: "960px" } });

/** The card of the form, which begins anew when something else is stored. */
export function StoredCard<Stored extends { readonly properties: object }>({
  subscription,
  onSaved,
  children,
}: {
  readonly subscription: SubscriptionView;
  readonly onSaved: () => void;
  readonly children: (stored: Stored, onSaved: () => void) => ReactNode;
}) {
  const styles = useStyles();
  const asked = useAsked<Stored>(armPath(subscription.armId));
  const saved = () => {
    asked.again();
    onSaved();
  };
  return (
    <Card className={styles.form}>
      <Answer asked={asked} what="the settings of a subscription">
        {(stored) => (
          <Fragment key={JSON.stringify(stored.properties)}>{children(stored, saved)}</Fragment>
        )}
      </Answer>
    </Card>
  );
}

/** A draft of what is kept, what differs between them, and what a form needs. */
export function useDraft<Draft extends object>(
  kept: Draft,
  names: Names<Draft>,
  save: (draft: Draft) => Promise<void>,
) {
  const { refused, run } = useOrder();
  const [draft, setDraft] = useState(kept);
  const change = useCallback(
    (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes })),
    [],
  );
  const changes = changesBetween(kept, draft, names);
  useUnsaved(changes.length > 0, "Your changes are not saved.");
  const form = {
    ...{ refused, submitWords: "Save", onSubmit: () => void run(() => save(draft)) },
    ...{ onCancel: changes.length > 0 ? () => setDraft(kept) : undefined, cancelWords: "Reset" },
  };
  return { draft, change, changes, form };
}
