// The actions of a subscription: pause, resume, drain, try now, skip, delete.

import { useState } from "react";
import type { SubscriptionView } from "../../src/core/api/views.ts";
import { ask, subscriptionApi } from "../api.ts";
import { askArm } from "../arm.ts";
import { Button, Menu, MenuItem, MenuList, MenuPopover, MenuTrigger } from "../fluent.ts";
import { numberOr } from "../forms/draft.ts";
import { useSay } from "../frame/toasts.tsx";
import { MoreVerticalRegular, PauseRegular, PlayRegular } from "../icons/drawings.tsx";
import { refreshOverview } from "../live.ts";
import { Confirm, FormDialog } from "../parts/dialogs.tsx";
import { TextField, useOrder } from "../parts/form.tsx";
import { go } from "../route.ts";
import { sayMany } from "../words.ts";

type Dialog = "drain" | "skip" | "delete" | null;

export function FlowControls({
  subscription,
  onDone,
}: {
  readonly subscription: SubscriptionView;
  readonly onDone: () => void;
}) {
  const say = useSay();
  const [dialog, setDialog] = useState<Dialog>(null);
  const order = async <T,>(verb: string, words: (answer: T) => string, body: object = {}) => {
    try {
      const answer = await ask<T>("POST", subscriptionApi(subscription, verb), body);
      say.done(words(answer));
      onDone();
    } catch (error) {
      say.refused(`It could not be done: ${verb}`, error);
    }
  };
  const isRunning = subscription.flow.kind === "running";
  const close = () => setDialog(null);
  return (
    <>
      {isRunning ? (
        <Button
          icon={<PauseRegular />}
          onClick={() => void order("pause", () => "Paused: events wait from now on")}
        >
          Pause
        </Button>
      ) : (
        <Button
          appearance="primary"
          icon={<PlayRegular />}
          onClick={() => void order("resume", () => "Resumed")}
        >
          Resume
        </Button>
      )}
      {subscription.queue === null && (
        <Button
          disabled={subscription.waiting === 0}
          onClick={() =>
            void order<{ hastened: number }>("hasten", ({ hastened }) =>
              hastened === 0
                ? "Nothing waits"
                : `${sayMany(hastened, "delivery is", "deliveries are")} sent now`,
            )
          }
        >
          Try now
        </Button>
      )}
      <Menu>
        <MenuTrigger disableButtonEnhancement>
          <Button icon={<MoreVerticalRegular />} aria-label="More" />
        </MenuTrigger>
        <MenuPopover>
          <MenuList>
            {subscription.queue === null && (
              <MenuItem onClick={() => setDialog("drain")}>Drain slowly…</MenuItem>
            )}
            <MenuItem onClick={() => setDialog("skip")}>Skip waiting events…</MenuItem>
            <MenuItem onClick={() => setDialog("delete")}>Delete…</MenuItem>
          </MenuList>
        </MenuPopover>
      </Menu>
      {dialog === "drain" && <Drain subscription={subscription} onDone={onDone} onClose={close} />}
      <Confirm
        title="Skip waiting events?"
        isOpen={dialog === "skip"}
        words="Skip them"
        onClose={close}
        onYes={async () => {
          const path = subscriptionApi(subscription, "skip");
          const { skipped } = await ask<{ skipped: number }>("POST", path, {});
          say.done(`${sayMany(skipped, "delivery", "deliveries")} skipped`);
          onDone();
        }}
      >
        <p>
          {sayMany(subscription.waiting, "delivery that waits is", "deliveries that wait are")}{" "}
          dropped at once, and not dead-lettered.
        </p>
      </Confirm>
      <Confirm
        title={`Delete ${subscription.name}?`}
        isOpen={dialog === "delete"}
        words="Delete it"
        onClose={close}
        onYes={async () => {
          await askArm("DELETE", subscription.armId);
          await refreshOverview();
          say.done(`The subscription ${subscription.name} has been deleted`);
          go("/portal/subscriptions");
        }}
      >
        <p>
          {sayMany(subscription.waiting, "delivery that waits is", "deliveries that wait are")}{" "}
          deleted with it. This cannot be undone.
        </p>
      </Confirm>
    </>
  );
}

function Drain({
  subscription,
  onDone,
  onClose,
}: {
  readonly subscription: SubscriptionView;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const say = useSay();
  const { refused, run } = useOrder();
  const [perSecond, setPerSecond] = useState("10");
  const drain = () =>
    void run(async () => {
      const path = subscriptionApi(subscription, "drain");
      await ask("POST", path, { perSecond: numberOr(perSecond) });
      say.done(`Draining with ${perSecond} a second`);
      onDone();
      onClose();
    });
  return (
    <FormDialog
      title="Drain slowly"
      isOpen
      onClose={onClose}
      refused={refused}
      submitWords="Drain"
      onSubmit={drain}
    >
      <TextField
        label="Events a second"
        path="perSecond"
        hint="No more than this many are sent until nothing is due, or until it is resumed."
        value={perSecond}
        onChange={setPerSecond}
      />
    </FormDialog>
  );
}
