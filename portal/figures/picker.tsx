// The range picker: a chip that opens into the usual spans and into any other, typed as people
// write times.

import { type FormEvent, useState } from "react";
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
import { ChevronDownRegular, ClockRegular } from "../icons/drawings.tsx";
import { readInstant, writeInstant } from "../instants.ts";
import { brokerNow, useNow } from "../live.ts";
import { go, usePlace } from "../route.ts";
import { isUtc, useZone } from "../zone.ts";
import { rangeIn, ranges, sayRange } from "./range.ts";

const useStyles = makeStyles({
  chip: {
    whiteSpace: "nowrap",
    minWidth: "auto",
    fontWeight: tokens.fontWeightRegular,
  },
  surface: { width: "300px", maxWidth: "calc(100vw - 48px)" },
  presets: {
    display: "grid",
    gridTemplateColumns: "repeat(3, 1fr)",
    gap: tokens.spacingHorizontalS,
    marginBottom: tokens.spacingVerticalM,
  },
  preset: { minWidth: 0 },
  own: { display: "flex", flexDirection: "column", gap: tokens.spacingVerticalS },
  hint: { color: tokens.colorNeutralForeground2, fontSize: tokens.fontSizeBase200 },
});

/** The same page with another range. */
function change(query: URLSearchParams, changes: Readonly<Record<string, string | null>>): void {
  const next = new URLSearchParams(query);
  for (const name of ["range", "from", "to", "after"]) next.delete(name);
  for (const [name, value] of Object.entries(changes)) if (value) next.set(name, value);
  const search = next.toString();
  const to = `${location.pathname}${search === "" ? "" : `?${search}`}`;
  go(to, { replace: true, carries: false });
}

export function RangePicker({ anyWords }: { readonly anyWords?: string }) {
  const styles = useStyles();
  useZone();
  const { query } = usePlace();
  const now = useNow(60_000);
  const range = rangeIn(query);
  const [isOpen, setOpen] = useState(false);
  const isAny = anyWords !== undefined && !range.isGiven;
  const words = isAny ? anyWords : sayRange(range, now);
  const choose = (changes: Readonly<Record<string, string | null>>) => {
    setOpen(false);
    change(query, changes);
  };
  return (
    <Popover open={isOpen} onOpenChange={(_, { open }) => setOpen(open)} trapFocus>
      <PopoverTrigger disableButtonEnhancement>
        <Button className={styles.chip} icon={<ClockRegular />} aria-label={`Time range: ${words}`}>
          {words}
          <ChevronDownRegular style={{ marginLeft: 6 }} />
        </Button>
      </PopoverTrigger>
      <PopoverSurface className={styles.surface} aria-label="Time range">
        <div className={styles.presets}>
          {ranges.map(([name, minutes, label]) => (
            <Button
              key={name}
              className={styles.preset}
              size="small"
              appearance={!isAny && range.minutes === minutes ? "primary" : "secondary"}
              onClick={() => choose({ range: name })}
            >
              {label}
            </Button>
          ))}
          {anyWords !== undefined && (
            <Button
              className={styles.preset}
              size="small"
              appearance={isAny ? "primary" : "secondary"}
              onClick={() => choose({})}
            >
              {anyWords}
            </Button>
          )}
        </div>
        <OwnRange from={range.from} to={range.to} choose={choose} />
      </PopoverSurface>
    </Popover>
  );
}

function shown(iso: string | null): string {
  return iso === null ? "" : writeInstant(Date.parse(iso), isUtc());
}

function OwnRange({
  from: givenFrom,
  to: givenTo,
  choose,
}: {
  readonly from: string | null;
  readonly to: string | null;
  readonly choose: (changes: Readonly<Record<string, string | null>>) => void;
}) {
  const styles = useStyles();
  const [fromShown, toShown] = [shown(givenFrom), shown(givenTo)];
  const [from, setFrom] = useState(fromShown);
  const [to, setTo] = useState(toShown);
  const [wrong, setWrong] = useState<"from" | "to" | null>(null);
  const read = (text: string) =>
    text.trim() === "" ? undefined : readInstant(text, brokerNow(), isUtc());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // What was not touched stays as it was, to the millisecond.
    const first = from === fromShown && givenFrom !== null ? Date.parse(givenFrom) : read(from);
    const last = to === toShown && givenTo !== null ? Date.parse(givenTo) : read(to);
    if (first === null || last === null) return setWrong(first === null ? "from" : "to");
    setWrong(null);
    const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
    choose({ from: iso(first), to: iso(last) });
  };
  const fault = (name: "from" | "to") =>
    wrong === name
      ? {
          validationState: "error" as const,
          validationMessage: "Not a time: write 10:00, 1h or 2026-11-16",
        }
      : {};
  return (
    <form onSubmit={submit} className={styles.own}>
      <Field label="From" {...fault("from")}>
        <Input value={from} placeholder="10:00" onChange={(_, { value }) => setFrom(value)} />
      </Field>
      <Field label="To" {...fault("to")}>
        <Input value={to} placeholder="now" onChange={(_, { value }) => setTo(value)} />
      </Field>
      <span className={styles.hint}>10:00, 1h, 2026-11-16, 2026-11-16 10:00 or ISO 8601</span>
      <div>
        <Button type="submit" size="small" appearance="primary">
          Apply
        </Button>
      </div>
    </form>
  );
}
