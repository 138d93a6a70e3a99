// What if: a profile, a policy and an outage, and what would happen to an event and to a backlog
// behind it. Nothing is sent: the broker simulates it, again after every change.

import { useState } from "react";
import { type SimulateOrder, simulateBacklogRange } from "../../src/core/api/orders.ts";
import type { Simulation } from "../../src/core/api/views.ts";
import { type ChosenProfile, profileNames, profiles } from "../../src/core/delivery/profile.ts";
import { Refused } from "../api.ts";
import { makeStyles, Text, tokens } from "../fluent.ts";
import { numberOr } from "../forms/draft.ts";
import { useLive } from "../live.ts";
import { Bars } from "../parts/bars.tsx";
import {
  bound,
  ChoiceField,
  FieldGroup,
  FieldRow,
  Fields,
  SwitchField,
  TextField,
} from "../parts/form.tsx";
import { Card, PageHead } from "../parts/page.tsx";
import { Rows } from "../parts/table.tsx";
import { Facts } from "../parts/texts.tsx";
import { type Mark, Timeline } from "../parts/timeline.tsx";
import { useSimulation } from "../simulation.ts";
import { sayCount, sayLength, sayMany } from "../words.ts";

const useStyles = makeStyles({
  layout: {
    display: "grid",
    gridTemplateColumns: "minmax(280px, 380px) minmax(0, 1fr)",
    gap: tokens.spacingHorizontalL,
    alignItems: "start",
    "@media (max-width: 1000px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  words: { whiteSpace: "normal", overflowWrap: "anywhere" },
  waiting: { opacity: 0.5 },
  lead: { fontSize: tokens.fontSizeBase400, lineHeight: tokens.lineHeightBase400 },
});

interface Draft {
  readonly profile: string;
  readonly destination: string;
  readonly attempts: string;
  readonly ttl: string;
  readonly outageMinutes: string;
  readonly does: string;
  readonly backlog: string;
  readonly deadLetter: boolean;
  readonly lettersMinutes: string;
  readonly answerSeconds: string;
  readonly batch: string;
  readonly rate: string;
}

const plainDraft: Draft = {
  profile: "azure",
  destination: "webhook",
  attempts: "",
  ttl: "",
  outageMinutes: "90",
  does: "503",
  backlog: "1000",
  deadLetter: true,
  lettersMinutes: "",
  answerSeconds: "",
  batch: "",
  rate: "",
};

const failures = [
  ["503", "answers 503"],
  ["500", "answers 500"],
  ["429", "answers 429"],
  ["404", "answers 404"],
  ["401", "answers 401"],
  ["400", "answers 400"],
  ["timeout", "does not answer in time"],
  ["refused", "refuses the connection"],
  ["dns", "is not found (DNS)"],
] as const;

const minuteMs = 60_000;

/** In milliseconds; null: empty. Invalid values are refused by the broker. */
function lengthIn(text: string, unitMs: number, field: string, what: string): number | null {
  const given = numberOr(text);
  if (given === null) return null;
  if (typeof given === "number" && given >= 0) return Math.round(given * unitMs);
  const unit = unitMs === minuteMs ? "minutes" : "seconds";
  throw new Refused(400, "InvalidSetting", `${what} must be a number of ${unit}, or empty`, field);
}

/** What is not a number is sent as written, so that the broker can say what is wrong. */
function given(name: string, text: string): object {
  const value = numberOr(text);
  return value === null ? {} : { [name]: value };
}

function orderOf(draft: Draft): SimulateOrder | Refused {
  const profile = draft.profile as ChosenProfile;
  const { deadLettering, batching } = profiles[profile];
  try {
    const until = lengthIn(draft.outageMinutes, minuteMs, "outage[0].untilMs", "The outage");
    const letters = lengthIn(
      ...([draft.lettersMinutes, minuteMs, "deadLetterOutage[0].untilMs"] as const),
      "The time",
    );
    const answer = lengthIn(draft.answerSeconds, 1_000, "answerMs", "The time");
    const deadLetter = draft.deadLetter && deadLettering;
    return {
      ...{ profile, destination: draft.destination as "webhook", deadLetter },
      outage:
        until === 0 ? [] : [{ fromMs: 0, untilMs: until, does: numberOr(draft.does) as number }],
      ...given("maxDeliveryAttempts", draft.attempts),
      ...given("eventTimeToLiveInMinutes", draft.ttl),
      // Behind an endpoint that never returns every event is undeliverable.
      ...(until !== null && given("backlog", draft.backlog)),
      ...(answer !== null && { answerMs: answer }),
      ...given("allowedRate", draft.rate),
      ...(batching &&
        draft.batch.trim() !== "" && { batch: given("maxEventsPerBatch", draft.batch) }),
      ...(deadLetter &&
        letters !== null &&
        letters > 0 && { deadLetterOutage: [{ fromMs: 0, untilMs: letters, does: 503 }] }),
    };
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
}

export function WhatIfPage() {
  const styles = useStyles();
  const overview = useLive("overview");
  const [draft, setDraft] = useState(() => ({
    ...plainDraft,
    profile: overview?.profile ?? plainDraft.profile,
  }));
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const own = bound(draft, change);
  const { played, refused, isWaiting } = useSimulation(orderOf(draft));
  const { deadLettering, batching } = profiles[draft.profile as ChosenProfile];
  return (
    <>
      <PageHead
        title="What-if"
        subtitle="An endpoint fails for a while. When is it tried, what is still delivered, and how much load does it get when it returns?"
      />
      <div className={styles.layout}>
        <Card title="Suppose">
          <Fields refused={refused}>
            <ChoiceField
              label="Profile"
              path="profile"
              {...own("profile")}
              choices={profileNames.map((name) => [name, name] as const)}
            />
            <ChoiceField
              label="Destination"
              {...own("destination")}
              choices={[
                ["webhook", "a webhook"],
                ["resource", "an Azure resource"],
              ]}
            />
            <FieldRow>
              <TextField
                label="Maximum attempts"
                path="maxDeliveryAttempts"
                hint="Empty: the profile's."
                {...own("attempts")}
              />
              <TextField
                label="Time to live, in minutes"
                path="eventTimeToLiveInMinutes"
                hint="Empty: the profile's."
                {...own("ttl")}
              />
            </FieldRow>
            <ChoiceField
              label="During the outage the endpoint"
              path="outage[0].does"
              {...own("does")}
              choices={failures}
            />
            <FieldRow>
              <TextField
                label="Outage, in minutes"
                path="outage[0].untilMs"
                hint="Empty: for ever."
                {...own("outageMinutes")}
              />
              <TextField
                label="Events during the outage"
                path="backlog"
                hint={`Published evenly; at most ${sayCount(simulateBacklogRange.max)}.`}
                {...own("backlog")}
              />
            </FieldRow>
            {deadLettering && (
              <SwitchField label="With a dead-letter destination" {...own("deadLetter")} />
            )}
            {deadLettering && draft.deadLetter && (
              <TextField
                label="Dead-letter store fails, in minutes"
                path="deadLetterOutage[0].untilMs"
                hint="Empty: never."
                {...own("lettersMinutes")}
              />
            )}
            <FieldGroup title="The endpoint otherwise">
              <FieldRow>
                <TextField
                  label="Answers after, in seconds"
                  path="answerMs"
                  hint="Empty: 0.05."
                  {...own("answerSeconds")}
                />
                <TextField
                  label="Requests a minute, at most"
                  path="allowedRate"
                  hint="Empty: any number."
                  {...own("rate")}
                />
              </FieldRow>
              {batching && (
                <TextField
                  label="Maximum events per request"
                  path="batch"
                  hint="Empty: one."
                  {...own("batch")}
                />
              )}
            </FieldGroup>
          </Fields>
        </Card>
        {played !== null && refused === null && (
          <div aria-busy={isWaiting} className={isWaiting ? styles.waiting : undefined}>
            <Played played={played} />
          </div>
        )}
      </div>
    </>
  );
}

function marksOf({ attempts, end }: Simulation): Mark[] {
  const last = attempts.length - 1;
  return [
    ...attempts.map(
      ({ number, atMs, saw }, index): Mark => ({
        atMs,
        kind: end.kind === "delivered" && index === last ? "good" : "bad",
        words: `attempt ${number}: ${saw}`,
      }),
    ),
    ...(end.kind === "delivered"
      ? []
      : [
          {
            atMs: end.atMs,
            kind: end.kind === "dropped" ? ("lost" as const) : ("end" as const),
            words: end.words,
          },
        ]),
  ];
}

function endOfLine({ end, returnsAtMs }: Simulation): number {
  return Math.max(end.atMs, returnsAtMs ?? 0);
}

function Played({ played }: { readonly played: Simulation }) {
  const styles = useStyles();
  const { attempts, returnsAtMs, load, deadLetters } = played;
  const begin = load?.[0]?.atMs ?? 0;
  return (
    <>
      <Card title="The first event">
        <Text className={styles.lead}>{endWords(played)}</Text>
        <Timeline
          label="Attempts of the first event"
          marks={marksOf(played)}
          spans={returnsAtMs === 0 ? [] : [{ fromMs: 0, untilMs: returnsAtMs, words: "outage" }]}
          untilMs={endOfLine(played)}
        />
        <Rows
          label="Attempts"
          rows={attempts}
          keyOf={({ number }) => `${number}`}
          columns={[
            { title: "Attempt", width: "65px", show: ({ number }) => number },
            { title: "After", width: "110px", show: ({ atMs }) => sayLength(atMs) },
            { title: "Saw", width: "70px", show: ({ saw }) => saw },
            {
              title: "In words",
              show: ({ words, lateAtMs }) => (
                <span className={styles.words}>
                  {lateAtMs === null
                    ? words
                    : `${words}; answered late, after ${sayLength(lateAtMs)}`}
                </span>
              ),
            },
          ]}
        />
      </Card>
      {load !== null && (
        <Card title="The whole backlog">
          <Facts
            facts={[
              ["Delivered", sayCount(played.saved)],
              ["Gave up", sayCount(played.lost)],
              ["Most requests in one second after the return", sayCount(played.peakPerSecond)],
              ["Everything ended after", sayLength(played.settledAtMs)],
              ...(deadLetters === null || deadLetters.written + deadLetters.lost === 0
                ? []
                : [
                    ["Dead letters written", sayCount(deadLetters.written)] as const,
                    ["Dead letters lost", sayCount(deadLetters.lost)] as const,
                  ]),
            ]}
          />
          <Bars
            title={`Requests per ${sayLength(played.loadStepMs)}, from the first after the return (${sayLength(begin)}) on`}
            points={load.map(({ atMs, requests }) => ({
              at: `+${sayLength(atMs - begin)}`,
              value: requests,
            }))}
          />
        </Card>
      )}
    </>
  );
}

function endWords(played: Simulation): string {
  const { end, attemptsMade, deadLetters } = played;
  const made = sayMany(attemptsMade, "attempt");
  const written =
    end.writtenAtMs !== null
      ? ` The dead letter is written after ${sayLength(end.writtenAtMs)}.`
      : typeof deadLetters?.lostAtMs === "number"
        ? ` Its store fails, so the dead letter is lost after ${sayLength(deadLetters.lostAtMs)}.`
        : "";
  switch (end.kind) {
    case "delivered":
      return `Delivered after ${sayLength(end.atMs)}, with ${made}.`;
    case "deadLettered":
      return `Dead-lettered after ${sayLength(end.atMs)} and ${made}: ${end.reason ?? ""}.${written}`;
    case "dropped":
      return `Dropped after ${sayLength(end.atMs)} and ${made}: ${end.reason ?? ""}.`;
  }
}
