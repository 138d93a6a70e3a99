// The virtual clock, if the broker has one: its time, and moving it.

import { type FormEvent, useState } from "react";
import type { Overview } from "../../src/core/api/views.ts";
import { ask, asRefused, type Refused } from "../api.ts";
import {
  Button,
  Field,
  Input,
  makeStyles,
  Popover,
  PopoverSurface,
  PopoverTrigger,
  tokens,
} from "../fluent.ts";
import { ClockRegular, FastForwardRegular } from "../icons/drawings.tsx";
import { refreshOverview } from "../live.ts";
import { sayMany } from "../words.ts";
import { sayFull } from "../zone.ts";
import { useSay } from "./toasts.tsx";

const useStyles = makeStyles({
  surface: { width: "300px", maxWidth: "calc(100vw - 48px)" },
  steps: {
    display: "grid",
    gridTemplateColumns: "repeat(3, 1fr)",
    gap: tokens.spacingHorizontalS,
    marginTop: tokens.spacingVerticalM,
    marginBottom: tokens.spacingVerticalM,
  },
  wide: { width: "100%" },
  own: { display: "flex", gap: tokens.spacingHorizontalS, alignItems: "flex-start" },
  time: { fontVariantNumeric: "tabular-nums" },
});

const steps = [
  ["10 s", "PT10S"],
  ["1 min", "PT1M"],
  ["10 min", "PT10M"],
  ["1 h", "PT1H"],
  ["6 h", "PT6H"],
  ["1 day", "P1D"],
] as const;

interface Moved {
  readonly now: string;
  readonly attempts: number;
  readonly delivered: number;
  readonly deadLettered: number;
  readonly dropped: number;
}

export function ClockControl({ overview }: { readonly overview: Overview }) {
  const styles = useStyles();
  const say = useSay();
  const [own, setOwn] = useState("");
  const [refused, setRefused] = useState<Refused | null>(null);
  const move = async (target: object) => {
    setRefused(null);
    try {
      const moved = await ask<Moved>("POST", "/clock", target);
      await refreshOverview();
      say.done(`It is now ${sayFull(moved.now)}`, wordsOf(moved));
    } catch (error) {
      setRefused(asRefused(error));
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void move({ advance: own });
  };
  return (
    <Popover trapFocus>
      <PopoverTrigger disableButtonEnhancement>
        <Button
          appearance="subtle"
          icon={<ClockRegular />}
          className={styles.time}
          aria-label={`Virtual clock: ${sayFull(overview.now)}`}
        >
          {overview.now.slice(11, 19)}
        </Button>
      </PopoverTrigger>
      <PopoverSurface className={styles.surface} aria-label="Virtual clock">
        <strong>Virtual clock</strong>
        <div className={styles.time}>{sayFull(overview.now)}</div>
        <div className={styles.steps}>
          {steps.map(([words, duration]) => (
            <Button key={words} size="small" onClick={() => void move({ advance: duration })}>
              {`+ ${words}`}
            </Button>
          ))}
        </div>
        <Button
          className={styles.wide}
          appearance="primary"
          icon={<FastForwardRegular />}
          onClick={() => void move({ to: "next" })}
        >
          To the next due time
        </Button>
        <form onSubmit={submit} className={styles.own}>
          <Field
            label="By a duration"
            validationMessage={refused?.message}
            hint={refused === null ? "90s, 2h30m or PT90S" : undefined}
          >
            <Input value={own} placeholder="90s" onChange={(_, { value }) => setOwn(value)} />
          </Field>
        </form>
      </PopoverSurface>
    </Popover>
  );
}

function wordsOf({ attempts, delivered, deadLettered, dropped }: Moved): string {
  const parts = [
    sayMany(attempts, "attempt"),
    ...(delivered > 0 ? [`${delivered} delivered`] : []),
    ...(deadLettered > 0 ? [`${deadLettered} dead-lettered`] : []),
    ...(dropped > 0 ? [`${dropped} dropped`] : []),
  ];
  return parts.join(", ");
}
