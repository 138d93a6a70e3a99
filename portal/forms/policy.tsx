// The retry policy of a subscription, with its schedule drawn as it is chosen, and what happens to
// events that cannot be delivered.

import { useEffect, useRef } from "react";
import type { DeadLetterStoreView, Page, TopicView } from "../../src/core/api/views.ts";
import type { ChosenProfile } from "../../src/core/delivery/profile.ts";
import { apiPath, useAsked } from "../api.ts";
import { makeStyles, Text, tokens } from "../fluent.ts";
import { bound, ChoiceField, FieldRow, TextField } from "../parts/form.tsx";
import { Note } from "../parts/page.tsx";
import { Fold } from "../parts/steps.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { useSimulation } from "../simulation.ts";
import { sayLength, sayMany } from "../words.ts";
import { type Draft, type FieldsProps, isWebHook, numberOr } from "./draft.ts";

const useStyles = makeStyles({
  words: { color: tokens.colorNeutralForeground2 },
  // As high before it is drawn as after: what is below must not move under the pointer.
  schedule: { marginTop: tokens.spacingVerticalS, minHeight: "120px" },
});

export function RetryPolicy({ draft, change, topic }: FieldsProps & { readonly topic: TopicView }) {
  const own = bound(draft, change);
  const { maxAttempts, ttlMinutes } = draft;
  return (
    <Fold title="Retry policy" summary={policyWords(maxAttempts.trim(), ttlMinutes.trim())}>
      <FieldRow>
        <TextField
          label="Maximum attempts"
          path="properties.retryPolicy.maxDeliveryAttempts"
          hint="1 to 30; empty: the profile's."
          {...own("maxAttempts")}
        />
        <TextField
          label="Time to live, in minutes"
          path="properties.retryPolicy.eventTimeToLiveInMinutes"
          hint="1 to 1440; empty: the profile's."
          {...own("ttlMinutes")}
        />
      </FieldRow>
      <Schedule draft={draft} profile={topic.profile} />
    </Fold>
  );
}

/** `30 attempts, 1 d`; what is not a number is shown as written. */
function policyWords(attempts: string, minutes: string): string {
  if (attempts === "" && minutes === "") return "as the profile says";
  const lengthMs = Number(minutes) * 60_000;
  return [
    attempts === ""
      ? "the profile's attempts"
      : `${attempts} ${attempts === "1" ? "attempt" : "attempts"}`,
    minutes === ""
      ? "the profile's time to live"
      : Number.isFinite(lengthMs) && lengthMs > 0
        ? sayLength(lengthMs)
        : `${minutes} minutes`,
  ].join(", ");
}

/** The attempts of an event if its endpoint always answered 503. */
export function Schedule({
  draft,
  profile,
}: {
  readonly draft: Pick<Draft, "maxAttempts" | "ttlMinutes" | "deadLetterId" | "endpointType">;
  readonly profile: string;
}) {
  const styles = useStyles();
  const { maxAttempts, ttlMinutes, deadLetterId, endpointType } = draft;
  const attemptsMax = numberOr(maxAttempts);
  const minutes = numberOr(ttlMinutes);
  const { played, refused, isWaiting } = useSimulation({
    profile: profile as ChosenProfile,
    destination: isWebHook({ endpointType }) ? "webhook" : "resource",
    outage: [{ fromMs: 0, untilMs: null, does: 503 }],
    deadLetter: deadLetterId.trim() !== "",
    // What is not a number is sent as written, so that the broker can say what is wrong.
    ...(attemptsMax !== null && { maxDeliveryAttempts: attemptsMax as number }),
    ...(minutes !== null && { eventTimeToLiveInMinutes: minutes as number }),
  });
  if (refused !== null || played === null) {
    return (
      <div className={styles.schedule}>
        <Text className={styles.words}>
          {refused === null
            ? "The schedule is being drawn …"
            : "With these numbers there is no schedule to draw."}
        </Text>
      </div>
    );
  }
  const { attempts, attemptsMade, end } = played;
  return (
    <div className={styles.schedule} aria-busy={isWaiting}>
      <Text className={styles.words}>
        {`Against an endpoint that always answers 503, ${sayMany(attemptsMade, "attempt")} would be ` +
          `made within ${sayLength(end.atMs)}; then the event is ${end.kind === "dropped" ? "dropped" : "dead-lettered"} ` +
          `(${end.reason ?? end.kind}).`}
      </Text>
      <Timeline
        label="Attempts under this policy"
        untilMs={end.atMs}
        marks={[
          ...attempts.map(({ number, atMs }) => ({
            atMs,
            kind: "bad" as const,
            words: `attempt ${number} after ${sayLength(atMs)}`,
          })),
          {
            atMs: end.atMs,
            kind: end.kind === "dropped" ? ("lost" as const) : ("end" as const),
            words: `${end.kind}: ${end.reason ?? ""}`,
          },
        ]}
      />
    </div>
  );
}

const usualContainer = "dead-letters";

const other = "other";

export function DeadLetters({ draft, change, isNew }: FieldsProps & { readonly isNew: boolean }) {
  const own = bound(draft, change);
  const stores = useAsked<Page<DeadLetterStoreView>>(apiPath(["dead-letter-stores"])).value?.value;
  const { deadLetterId, deadLetterContainer } = draft;
  const chosen = stores?.find(({ armId }) => isSameId(armId, deadLetterId));
  const isOther = deadLetterId !== "" && stores !== undefined && chosen === undefined;
  // One that was configured is meant; the broker's own folder is always there.
  const folders = stores?.filter(({ kind }) => kind === "folder");
  const offered = folders?.find(({ name }) => name !== "local") ?? folders?.[0];
  const isOffered = useRef(false);
  useEffect(() => {
    // Once: who chooses none does not get it again.
    if (!isNew || offered === undefined || isOffered.current) return;
    isOffered.current = true;
    change({ deadLetterId: offered.armId, deadLetterContainer: containerOf(offered) });
  }, [isNew, offered, change]);
  const choose = (value: string) => {
    const store = stores?.find(({ armId }) => armId === value);
    if (store !== undefined) {
      change({ deadLetterId: store.armId, deadLetterContainer: containerOf(store) });
    } else if (value === other) change({ deadLetterId: "/subscriptions/" });
    else change({ deadLetterId: "", deadLetterContainer: "" });
  };
  const summary =
    deadLetterId === ""
      ? "none: undeliverable events are dropped"
      : `kept in ${chosen?.name ?? "another account"} / ${deadLetterContainer || usualContainer}`;
  return (
    <Fold title="Dead letters" summary={summary} isOpen={isNew}>
      <ChoiceField
        label="Undeliverable events"
        path={isOther ? undefined : "properties.deadLetterDestination"}
        value={isOther ? other : (chosen?.armId ?? "")}
        choices={[
          ["", "are dropped"],
          ...(stores ?? []).map((store) => [store.armId, `go to ${wordsOf(store)}`] as const),
          [other, "go to another storage account, by its resource id"],
        ]}
        onChange={choose}
      />
      {isOther && (
        <TextField
          label="Storage account for dead letters (resource id)"
          path="properties.deadLetterDestination"
          {...own("deadLetterId")}
        />
      )}
      {deadLetterId === "" ? (
        <Note intent="warning">
          Without dead letters, an event is gone when its attempts are used up or its time is over.
        </Note>
      ) : (
        <TextField label="Container" {...own("deadLetterContainer")} placeholder={usualContainer} />
      )}
    </Fold>
  );
}

function isSameId(one: string, another: string): boolean {
  return one.toLowerCase() === another.toLowerCase();
}

function containerOf({ containers }: DeadLetterStoreView): string {
  return containers[0] ?? usualContainer;
}

function wordsOf({ name, kind, folder }: DeadLetterStoreView): string {
  return kind === "folder" ? `the folder ${folder ?? name}` : `the storage account ${name}`;
}
