// Sending dead letters again: first a dry run, then the redrive.

import { useState } from "react";
import type { RedriveOrder } from "../../src/core/api/orders.ts";
import type { RedriveView } from "../../src/core/api/views.ts";
import { apiPath, ask } from "../api.ts";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { numberOr } from "../forms/draft.ts";
import { useSay } from "../frame/toasts.tsx";
import {
  ChoiceField,
  FieldRow,
  FormDialog,
  SwitchField,
  TextField,
  useOrder,
} from "../parts/form.tsx";
import { Note } from "../parts/page.tsx";
import { sayMany } from "../words.ts";

const useStyles = makeStyles({
  list: { margin: 0, paddingLeft: tokens.spacingHorizontalL, overflowWrap: "anywhere" },
});

type Way = "own" | "other" | "url";

export function RedriveDialog({
  order,
  onClose,
  onStarted,
}: {
  readonly order: Pick<RedriveOrder, "ids" | "query">;
  readonly onClose: () => void;
  readonly onStarted: (redrive: RedriveView) => void;
}) {
  const styles = useStyles();
  const say = useSay();
  const { refused, run } = useOrder();
  const [way, setWay] = useState<Way>("own");
  const [topic, setTopic] = useState("");
  const [subscription, setSubscription] = useState("");
  const [url, setUrl] = useState("");
  const [perSecond, setPerSecond] = useState("10");
  const [force, setForce] = useState(false);
  const [tried, setTried] = useState<RedriveView | null>(null);
  const whole = (dryRun: boolean) => ({
    ...order,
    ...(way === "other" && { to: { topic: topic.trim(), subscription: subscription.trim() } }),
    ...(way === "url" && { to: { url: url.trim() } }),
    ...(numberOr(perSecond) !== null && { perSecond: numberOr(perSecond) }),
    ...(force && { force }),
    dryRun,
  });
  const path = apiPath(["redrives"]);
  const dryRun = () =>
    void run(async () => setTried(await ask<RedriveView>("POST", path, whole(true))));
  const start = () =>
    void run(async () => {
      const started = await ask<RedriveView>("POST", path, whole(false));
      // How many there are is not known yet: they are still being read.
      say.note("The dead letters are being sent again");
      onStarted(started);
    });
  return (
    <FormDialog
      title="Send dead letters again"
      isOpen
      onClose={onClose}
      refused={refused}
      submitWords="Send them"
      onSubmit={start}
    >
      <ChoiceField
        label="Where to"
        path="to"
        value={way}
        choices={[
          ["own", "their own subscription"],
          ["other", "another subscription"],
          ["url", "a URL"],
        ]}
        onChange={(value) => setWay(value as Way)}
      />
      {way === "other" && (
        <FieldRow>
          <TextField label="Topic" value={topic} onChange={setTopic} />
          <TextField label="Subscription" value={subscription} onChange={setSubscription} />
        </FieldRow>
      )}
      {way === "url" && <TextField label="URL" path="to.url" value={url} onChange={setUrl} />}
      <TextField
        label="Dead letters a second"
        path="perSecond"
        value={perSecond}
        onChange={setPerSecond}
      />
      <SwitchField
        label="Also those that have been sent again three times"
        value={force}
        onChange={setForce}
      />
      <div>
        <Button onClick={dryRun}>Dry run</Button>
      </div>
      <div aria-live="polite">
        {tried !== null && (
          <Note title={`${sayMany(tried.total, "letter")} would be sent to ${tried.to}.`}>
            {tried.skipped > 0 && ` ${sayMany(tried.skipped, "letter")} would be skipped.`}
            <ul className={styles.list}>
              {tried.sample.slice(0, 5).map(({ id, eventId, type, subscription: to }) => (
                <li key={id}>
                  {eventId} ({type}) for {to}
                </li>
              ))}
              {tried.remarks.slice(0, 5).map((words) => (
                <li key={words}>{words}</li>
              ))}
            </ul>
          </Note>
        )}
      </div>
    </FormDialog>
  );
}
