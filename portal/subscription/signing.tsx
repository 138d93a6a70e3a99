// The secrets that deliveries are signed with: shown on demand, and rotated.

import { useState } from "react";
import type { SigningSecrets } from "../../src/core/api/views.ts";
import { ask, subscriptionApi } from "../api.ts";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { EyeRegular } from "../icons/drawings.tsx";
import { FormDialog } from "../parts/dialogs.tsx";
import { ChoiceField, useOrder } from "../parts/form.tsx";
import { Card, Empty, Refusal } from "../parts/page.tsx";
import { CopyButton, Mono, When } from "../parts/texts.tsx";
import type { SubscriptionName } from "../route.ts";

const useStyles = makeStyles({
  secret: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    gap: tokens.spacingHorizontalS,
    overflowWrap: "anywhere",
  },
  buttons: {
    display: "flex",
    flexWrap: "wrap",
    gap: tokens.spacingHorizontalS,
    marginTop: tokens.spacingVerticalM,
  },
});

const overlaps = [
  ["86400000", "for a day"],
  ["3600000", "for an hour"],
  ["604800000", "for a week"],
  ["0", "not at all"],
] as const;

export function SigningCard({ named }: { readonly named: SubscriptionName }) {
  const styles = useStyles();
  const say = useSay();
  const { refused, run } = useOrder();
  const [secrets, setSecrets] = useState<SigningSecrets | null>(null);
  const [isRotating, setRotating] = useState(false);
  const [overlapMs, setOverlapMs] = useState<string>("86400000");
  const path = subscriptionApi(named, "signing");
  const order = (body: object, words: string) =>
    void run(async () => {
      setSecrets(await ask<SigningSecrets>("POST", path, body));
      setRotating(false);
      say.done(words);
    });
  const isSigned = secrets !== null && secrets.secrets.length > 0;
  return (
    <Card title="Signed deliveries">
      {refused !== null && !isRotating && <Refusal refused={refused} />}
      {secrets === null ? (
        <Empty
          title="Receivers can check that a delivery comes from this broker"
          actions={
            <Button
              icon={<EyeRegular />}
              onClick={() =>
                void run(async () => setSecrets(await ask<SigningSecrets>("GET", path)))
              }
            >
              Show the secrets
            </Button>
          }
        >
          Each request has a Standard Webhooks signature, made with a secret that only the receiver
          and this broker know.
        </Empty>
      ) : (
        <>
          {!isSigned && <Empty title="Deliveries are not signed" />}
          {secrets.secrets.map(({ secret, expiresAt }) => (
            <div key={secret} className={styles.secret}>
              <Mono>{secret}</Mono>
              <CopyButton text={secret} what="the secret" />
              {expiresAt !== null && (
                <span>
                  in force until <When at={expiresAt} />
                </span>
              )}
            </div>
          ))}
          <div className={styles.buttons}>
            <Button onClick={() => setRotating(true)}>
              {isSigned ? "Rotate the secret" : "Sign deliveries"}
            </Button>
            {isSigned && (
              <Button onClick={() => order({ off: true }, "Deliveries are no longer signed")}>
                Stop signing
              </Button>
            )}
          </div>
        </>
      )}
      <FormDialog
        title="A new secret"
        isOpen={isRotating}
        onClose={() => setRotating(false)}
        refused={refused}
        submitWords="Create it"
        onSubmit={() => order({ overlapMs: Number(overlapMs) }, "The secret has been rotated")}
      >
        <ChoiceField
          label="The old secret stays active"
          path="overlapMs"
          value={overlapMs}
          choices={overlaps}
          onChange={setOverlapMs}
        />
      </FormDialog>
    </Card>
  );
}
