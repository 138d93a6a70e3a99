// A table that is live and still never moves under the pointer: while the pointer or the focus is
// in it, or it is paused, rows change in place only, and what is new is counted above them.

import { useRef, useState } from "react";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { PauseRegular, PlayRegular } from "../icons/drawings.tsx";
import { sayCount } from "../words.ts";
import { type Column, Rows } from "./table.tsx";

const useStyles = makeStyles({
  place: { position: "relative" },
  fresh: {
    position: "absolute",
    top: "-14px",
    left: "50%",
    transform: "translateX(-50%)",
    zIndex: 1,
    boxShadow: tokens.shadow8,
  },
});

export function HeldRows<T>({
  label,
  columns,
  rows,
  keyOf,
  isPaused = false,
  isCut = false,
}: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  /** The newest first. */
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly isPaused?: boolean;
  /** There may be more new ones than were read. */
  readonly isCut?: boolean;
}) {
  const styles = useStyles();
  const [isOver, setOver] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const [round, setRound] = useState(0);
  const held = useRef<{ readonly round: number; readonly rows: readonly T[] } | null>(null);
  const isHeld = (isPaused || isOver || isFocused) && held.current !== null;
  if (!isHeld || held.current?.round !== round) held.current = { round, rows };
  const [shown, fresh] = inPlace(held.current.rows, rows, keyOf);
  held.current = { round, rows: shown };
  const words = isCut && fresh === rows.length ? `${fresh}+ new` : `${sayCount(fresh)} new`;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only watches whether it is in use.
    <div
      className={styles.place}
      onPointerEnter={({ pointerType }) => pointerType === "mouse" && setOver(true)}
      onPointerLeave={() => setOver(false)}
      onFocus={() => setFocused(true)}
      onBlur={({ currentTarget, relatedTarget }) =>
        setFocused(relatedTarget !== null && currentTarget.contains(relatedTarget as Node))
      }
    >
      {fresh > 0 && (
        <Button
          className={styles.fresh}
          size="small"
          appearance="primary"
          shape="circular"
          onClick={() => setRound((before) => before + 1)}
        >
          {words}
        </Button>
      )}
      <Rows label={label} columns={columns} rows={shown} keyOf={keyOf} />
    </div>
  );
}

export function PauseButton({
  isPaused,
  onChange,
}: {
  readonly isPaused: boolean;
  readonly onChange: (isPaused: boolean) => void;
}) {
  return (
    <Button
      size="small"
      icon={isPaused ? <PlayRegular /> : <PauseRegular />}
      aria-pressed={isPaused}
      onClick={() => onChange(!isPaused)}
    >
      {isPaused ? "Resume" : "Pause"}
    </Button>
  );
}

/** The rows that are held, as they are now; and how many there are that are not among them. */
function inPlace<T>(
  held: readonly T[],
  rows: readonly T[],
  keyOf: (row: T) => string,
): readonly [shown: readonly T[], fresh: number] {
  if (held === rows) return [held, 0];
  const now = new Map(rows.map((row) => [keyOf(row), row]));
  let fresh = rows.length;
  const shown = held.map((row) => {
    const latest = now.get(keyOf(row));
    if (latest !== undefined) fresh -= 1;
    return latest ?? row;
  });
  return [shown, fresh];
}
