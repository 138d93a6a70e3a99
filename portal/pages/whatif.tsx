// What if: a profile, a policy and an outage, and what would become of an event and of those that
// pile up behind it. Nothing is sent; the laws that deliver events are asked.

import { makeStyles, Text, tokens } from "@fluentui/react-components";
import { useEffect, useRef, useState } from "react";
import type { Simulation } from "../../src/core/api/views.ts";
import { profileNames } from "../../src/core/delivery/profile.ts";
import { apiPath, ask } from "../api.ts";
import { linesOf, numberOr } from "../forms/draft.ts";
import { useLive } from "../live.ts";
import { Bars } from "../parts/bars.tsx";
import { ChoiceField, FieldRow, Form, SwitchField, TextField, useOrder } from "../parts/form.tsx";
import { Card, PageHead } from "../parts/page.tsx";
import { Rows } from "../parts/table.tsx";
import { Facts } from "../parts/texts.tsx";
import { type Mark, Timeline } from "../parts/timeline.tsx";
import { sayCount, sayLength } from "../words.ts";

const useStyles = makeStyles({
  layout: {
    display: "grid",
    gridTemplateColumns: "minmax(280px, 380px) minmax(0, 1fr)",
    gap: tokens.spacingHorizontalL,
    alignItems: "start",
    "@media (max-width: 1000px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  words: { whiteSpace: "normal", overflowWrap: "anywhere" },
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

function orderOf(draft: Draft): object {
  const [minutes] = linesOf(draft.outageMinutes);
  const given = numberOr(minutes ?? "");
  const until = typeof given === "number" ? given * 60_000 : given;
  const does = numberOr(draft.does);
  const attempts = numberOr(draft.attempts);
  const ttl = numberOr(draft.ttl);
  const backlog = numberOr(draft.backlog);
  return {
    profile: draft.profile,
    destination: draft.destination,
    outage: [{ fromMs: 0, untilMs: until, does }],
    deadLetter: draft.deadLetter,
    ...(attempts !== null && { maxDeliveryAttempts: attempts }),
    ...(ttl !== null && { eventTimeToLiveInMinutes: ttl }),
    // Behind an endpoint that never returns everything is lost alike.
    ...(backlog !== null && until !== null && { backlog }),
  };
}

export function WhatIfPage() {
  const styles = useStyles();
  const { overview } = useLive();
  const { refused, run } = useOrder();
  const [draft, setDraft] = useState(() => ({
    ...plainDraft,
    profile: overview?.profile ?? plainDraft.profile,
  }));
  const [played, setPlayed] = useState<Simulation | null>(null);
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const play = () =>
    void run(async () =>
      setPlayed(await ask<Simulation>("POST", apiPath(["simulate"]), orderOf(draft))),
    );
  // Something to look at from the beginning.
  const first = useRef(play);
  useEffect(() => first.current(), []);
  return (
    <>
      <PageHead
        title="What-if"
        subtitle="An endpoint goes away for a while. When is it tried, what is saved, and what hits it when it returns?"
      />
      <div className={styles.layout}>
        <Card title="Suppose">
          <Form refused={refused} submitWords="Play it" onSubmit={play}>
            <ChoiceField
              label="Profile"
              path="profile"
              value={draft.profile}
              choices={profileNames.map((name) => [name, name] as const)}
              onChange={(profile) => change({ profile })}
            />
            <ChoiceField
              label="Destination"
              value={draft.destination}
              choices={[
                ["webhook", "a webhook"],
                ["resource", "a resource of Azure's"],
              ]}
              onChange={(destination) => change({ destination })}
            />
            <FieldRow>
              <TextField
                label="Attempts, at most"
                path="maxDeliveryAttempts"
                hint="Empty: the profile's."
                value={draft.attempts}
                onChange={(attempts) => change({ attempts })}
              />
              <TextField
                label="Time to live, min"
                path="eventTimeToLiveInMinutes"
                hint="Empty: the profile's."
                value={draft.ttl}
                onChange={(ttl) => change({ ttl })}
              />
            </FieldRow>
            <ChoiceField
              label="Meanwhile the endpoint"
              path="outage"
              value={draft.does}
              choices={failures}
              onChange={(does) => change({ does })}
            />
            <FieldRow>
              <TextField
                label="Outage, in minutes"
                hint="Empty: for good."
                value={draft.outageMinutes}
                onChange={(outageMinutes) => change({ outageMinutes })}
              />
              <TextField
                label="Events meanwhile"
                path="backlog"
                hint="Published evenly."
                value={draft.backlog}
                onChange={(backlog) => change({ backlog })}
              />
            </FieldRow>
            <SwitchField
              label="With a dead-letter destination"
              value={draft.deadLetter}
              onChange={(deadLetter) => change({ deadLetter })}
            />
          </Form>
        </Card>
        {played !== null && (
          <div>
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

function Played({ played }: { readonly played: Simulation }) {
  const styles = useStyles();
  const { attempts, end, returnsAtMs, load } = played;
  return (
    <>
      <Card title="The first event">
        <Text className={styles.lead}>{endWords(played)}</Text>
        <Timeline
          label="Attempts of the first event"
          marks={marksOf(played)}
          spans={[{ fromMs: 0, untilMs: returnsAtMs, words: "the endpoint is away" }]}
          untilMs={Math.max(end.atMs, returnsAtMs ?? 0)}
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
              show: ({ words }) => <span className={styles.words}>{words}</span>,
            },
          ]}
        />
      </Card>
      {load !== null && (
        <Card title="All that piled up">
          <Facts
            facts={[
              ["Delivered", sayCount(played.saved)],
              ["Given up", sayCount(played.lost)],
              ["Most requests in one second after the return", sayCount(played.peakPerSecond)],
              ["All settled after", sayLength(played.settledAtMs)],
            ]}
          />
          <Bars
            title={`Requests to the endpoint, per ${sayLength(played.loadStepMs)}`}
            points={load.map(({ atMs, requests }) => ({ at: sayLength(atMs), value: requests }))}
          />
        </Card>
      )}
    </>
  );
}

function endWords({ end, attempts }: Simulation): string {
  const made = `${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"}`;
  switch (end.kind) {
    case "delivered":
      return `Delivered after ${sayLength(end.atMs)}, with ${made}.`;
    case "deadLettered":
      return `Dead-lettered after ${sayLength(end.atMs)} and ${made}: ${end.reason ?? ""}.`;
    case "dropped":
      return `Dropped after ${sayLength(end.atMs)} and ${made}: ${end.reason ?? ""}.`;
  }
}
