// The whole story as one picture: a lane for each subscription on one time axis, those in trouble
// first. The first retries are seconds apart and the last ones hours, so the axis is stretched at
// its beginning. A click on a mark opens that attempt.

import { useState } from "react";
import type { AttemptView, DeliveryStory, Story } from "../../src/core/api/views.ts";
import { Button, makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { useNow } from "../live.ts";
import { StateBadge } from "../parts/texts.tsx";
import { shareOf, ticksTo } from "../parts/timeline.tsx";
import { useWidth } from "../parts/width.ts";
import { sayCount, sayLength } from "../words.ts";

export interface Chosen {
  readonly delivery: string;
  /** The attempt that is open, by `attemptKey`. */
  readonly attempt: string | null;
}

export function deliveryKey({ topic, domainTopic, subscription }: DeliveryStory): string {
  return `${topic} ${domainTopic ?? ""} ${subscription}`;
}

export function attemptKey({ stage, number }: AttemptView): string {
  return `${stage} ${number}`;
}

const rank = {
  dropped: 0,
  deadLettered: 1,
  deadLettering: 2,
  waiting: 3,
  unknown: 4,
  delivered: 5,
};

/** Trouble first: what is lost, what fails, what waits, what is fine. */
export function byTrouble(one: DeliveryStory, other: DeliveryStory): number {
  const failed = ({ attempts }: DeliveryStory) => (attempts.some((each) => !isGood(each)) ? 0 : 1);
  return (
    rank[one.state] - rank[other.state] ||
    failed(one) - failed(other) ||
    one.subscription.localeCompare(other.subscription)
  );
}

export function isGood({ decision }: AttemptView): boolean {
  return decision === "delivered";
}

const stateWords = [
  ["deadLettered", "dead-lettered"],
  ["dropped", "dropped"],
  ["deadLettering", "to be dead-lettered"],
  ["waiting", "waiting"],
  ["unknown", "unknown"],
] as const;

/** `3 of 5 delivered, 2 dead-lettered` */
export function headline({ deliveryStories }: Story): string {
  const count = (state: string) => deliveryStories.filter((each) => each.state === state).length;
  const rest = stateWords.flatMap(([state, words]) =>
    count(state) === 0 ? [] : [`${sayCount(count(state))} ${words}`],
  );
  const all = sayCount(deliveryStories.length);
  return [`${sayCount(count("delivered"))} of ${all} delivered`, ...rest].join(", ");
}

const lanesMax = 12;

const useStyles = makeStyles({
  lanes: { listStyleType: "none", margin: 0, padding: 0 },
  lane: {
    display: "grid",
    gridTemplateColumns: "minmax(160px, 26%) minmax(0, 1fr)",
    alignItems: "center",
    columnGap: tokens.spacingHorizontalM,
    borderRadius: tokens.borderRadiusMedium,
    "@media (max-width: 640px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  // Badges are grey, too: they would not be seen on grey.
  chosen: {
    backgroundColor: tokens.colorBrandBackground2,
    boxShadow: `inset 3px 0 0 ${tokens.colorBrandStroke1}`,
  },
  name: {
    display: "flex",
    alignItems: "center",
    gap: tokens.spacingHorizontalS,
    justifyContent: "space-between",
    width: "100%",
    minWidth: 0,
    padding: `${tokens.spacingVerticalSNudge} ${tokens.spacingHorizontalS}`,
    border: "none",
    borderRadius: tokens.borderRadiusMedium,
    backgroundColor: "transparent",
    color: tokens.colorNeutralForeground1,
    font: "inherit",
    textAlign: "left",
    cursor: "pointer",
    ":hover": { backgroundColor: tokens.colorSubtleBackgroundHover },
    ":focus-visible": { outline: `2px solid ${tokens.colorStrokeFocus2}` },
  },
  label: { overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" },
  badge: { flexShrink: 0 },
  track: { position: "relative", height: "36px", margin: "0 16px" },
  line: {
    position: "absolute",
    top: "17px",
    height: "2px",
    left: 0,
    backgroundColor: tokens.colorNeutralStrokeAccessible,
  },
  ahead: {
    position: "absolute",
    top: "17px",
    height: 0,
    borderTop: `2px dashed ${tokens.colorNeutralStroke1}`,
  },
  mark: {
    position: "absolute",
    top: "8px",
    width: "20px",
    height: "20px",
    marginLeft: "-10px",
    padding: 0,
    border: "none",
    backgroundColor: "transparent",
    cursor: "pointer",
    borderRadius: tokens.borderRadiusCircular,
    ":hover": { backgroundColor: tokens.colorSubtleBackgroundPressed },
    ":focus-visible": { outline: `2px solid ${tokens.colorStrokeFocus2}` },
  },
  open: { outline: `2px solid ${tokens.colorBrandStroke1}` },
  shape: { position: "absolute", inset: "4px", display: "block" },
  good: {
    backgroundColor: tokens.colorPaletteGreenForeground1,
    borderRadius: tokens.borderRadiusCircular,
  },
  bad: {
    backgroundColor: tokens.colorPaletteRedForeground1,
    clipPath: "polygon(0 0, 100% 0, 50% 100%)",
  },
  end: { backgroundColor: tokens.colorPaletteDarkOrangeForeground1 },
  lost: {
    backgroundColor: tokens.colorPaletteBerryForeground1,
    clipPath: "polygon(0 0, 100% 0, 50% 100%)",
  },
  next: {
    border: `2px solid ${tokens.colorBrandForeground1}`,
    backgroundColor: tokens.colorNeutralBackground1,
    borderRadius: tokens.borderRadiusCircular,
    boxSizing: "border-box",
  },
  still: { position: "absolute", top: "8px", width: "20px", height: "20px", marginLeft: "-10px" },
  now: {
    position: "absolute",
    top: 0,
    bottom: 0,
    width: "2px",
    marginLeft: "-1px",
    backgroundColor: tokens.colorBrandForeground1,
    opacity: 0.5,
  },
  axis: { position: "relative", height: "20px", margin: "0 16px" },
  tick: {
    position: "absolute",
    transform: "translateX(-50%)",
    color: tokens.colorNeutralForeground2,
    fontSize: "11px",
    whiteSpace: "nowrap",
  },
  nowWords: { color: tokens.colorBrandForeground1, fontWeight: tokens.fontWeightSemibold },
  more: { marginTop: tokens.spacingVerticalS },
});

export function Lanes({
  story,
  chosen,
  choose,
}: {
  readonly story: Story;
  readonly chosen: Chosen;
  readonly choose: (chosen: Chosen) => void;
}) {
  const styles = useStyles();
  const [place, width] = useWidth<HTMLDivElement>(600);
  const now = useNow(1_000);
  const [isWhole, setWhole] = useState(false);
  const since = Date.parse(story.acceptedAt);
  const lanes = story.deliveryStories.toSorted(byTrouble);
  const shown = isWhole ? lanes : lanes.slice(0, lanesMax);
  const isOpen = lanes.some(isWaiting);
  const ends = lanes.flatMap(({ attempts, endedAt, nextDueAt, ...each }) => [
    ...attempts.map(({ at }) => Date.parse(at) - since),
    ...(endedAt === null ? [] : [Date.parse(endedAt) - since]),
    ...(nextDueAt === null || !isWaiting(each) ? [] : [Date.parse(nextDueAt) - since]),
  ]);
  const nowMs = isOpen ? Math.max(0, now - since) : null;
  const furthest = Math.max(1_000, nowMs ?? 0, ...ends);
  const left = (ms: number) => `${(shareOf(ms, furthest) * 100).toFixed(2)}%`;
  return (
    <div>
      <ul className={styles.lanes} aria-label="Deliveries">
        {shown.map((delivery) => (
          <li
            key={deliveryKey(delivery)}
            className={mergeClasses(
              styles.lane,
              lanes.length > 1 && deliveryKey(delivery) === chosen.delivery && styles.chosen,
            )}
          >
            <button
              type="button"
              className={styles.name}
              aria-pressed={deliveryKey(delivery) === chosen.delivery}
              onClick={() => choose({ delivery: deliveryKey(delivery), attempt: null })}
            >
              <span className={styles.label} title={delivery.subscription}>
                {delivery.subscription}
              </span>
              <span className={styles.badge}>
                <StateBadge state={delivery.state} />
              </span>
            </button>
            <Track {...{ delivery, since, left, nowMs, chosen, choose }} />
          </li>
        ))}
      </ul>
      <div className={styles.lane}>
        <span />
        <div className={styles.axis} ref={place} aria-hidden="true">
          {ticksTo(furthest, 48 / width).map((ms) => (
            <span key={ms} className={styles.tick} style={{ left: left(ms) }}>
              {ms === 0 ? "0" : sayLength(ms)}
            </span>
          ))}
        </div>
      </div>
      {lanes.length > shown.length && (
        <Button size="small" className={styles.more} onClick={() => setWhole(true)}>
          {`${sayCount(lanes.length - shown.length)} more`}
        </Button>
      )}
    </div>
  );
}

function isWaiting({ state }: Pick<DeliveryStory, "state">): boolean {
  return state === "waiting" || state === "deadLettering";
}

function Track({
  delivery,
  since,
  left,
  nowMs,
  chosen,
  choose,
}: {
  readonly delivery: DeliveryStory;
  readonly since: number;
  readonly left: (ms: number) => string;
  readonly nowMs: number | null;
  readonly chosen: Chosen;
  readonly choose: (chosen: Chosen) => void;
}) {
  const styles = useStyles();
  const key = deliveryKey(delivery);
  const { attempts, nextDueAt, endedAt, state, reason } = delivery;
  const isOpen = isWaiting(delivery);
  const lastMs = Math.max(0, ...attempts.map(({ at }) => Date.parse(at) - since));
  const reachedMs = isOpen
    ? (nowMs ?? lastMs)
    : Math.max(lastMs, endedAt === null ? 0 : Date.parse(endedAt) - since);
  return (
    <div className={styles.track}>
      {nowMs !== null && isOpen && <span className={styles.now} style={{ left: left(nowMs) }} />}
      <span className={styles.line} style={{ width: left(reachedMs) }} />
      {isOpen && <span className={styles.ahead} style={{ left: left(reachedMs), right: 0 }} />}
      {attempts.map((attempt) => {
        const own = attemptKey(attempt);
        const kind = isGood(attempt) ? (attempt.stage === "deliver" ? "good" : "end") : "bad";
        const words =
          `attempt ${attempt.number} to ${delivery.subscription}, ` +
          `${attempt.status ?? ""} ${attempt.outcome}, after ${sayLength(Date.parse(attempt.at) - since)}`;
        return (
          <button
            key={own}
            type="button"
            className={mergeClasses(
              styles.mark,
              chosen.delivery === key && chosen.attempt === own && styles.open,
            )}
            style={{ left: left(Date.parse(attempt.at) - since) }}
            aria-label={words}
            title={words}
            onClick={() => choose({ delivery: key, attempt: own })}
          >
            <span className={mergeClasses(styles.shape, styles[kind])} />
          </button>
        );
      })}
      {isOpen && nextDueAt !== null && (
        <span
          className={styles.still}
          // What is due and held back is still to come.
          style={{ left: left(Math.max(nowMs ?? 0, Date.parse(nextDueAt) - since)) }}
          title="next attempt"
        >
          <span className={mergeClasses(styles.shape, styles.next)} />
        </span>
      )}
      {state === "dropped" && endedAt !== null && (
        <span
          className={styles.still}
          style={{ left: left(Date.parse(endedAt) - since) }}
          title={`dropped: ${reason ?? ""}`}
        >
          <span className={mergeClasses(styles.shape, styles.lost)} />
        </span>
      )}
    </div>
  );
}
