// The attempts of one delivery, the latest first: each decision explained, and on a click the
// request as it was sent and the answer as it came.

import type { AttemptView, DeliveryStory } from "../../src/core/api/views.ts";
import { makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { Code, CopyButton, When, Words } from "../parts/texts.tsx";
import { sayBytes, sayTook } from "../words.ts";
import { answerText, requestAsCurl, requestText } from "./exchange.ts";
import { attemptKey, isGood } from "./lanes.tsx";

const useStyles = makeStyles({
  list: { listStyleType: "none", margin: `${tokens.spacingVerticalM} 0 0`, padding: 0 },
  attempt: {
    borderTop: `1px solid ${tokens.colorNeutralStroke2}`,
    padding: `${tokens.spacingVerticalS} 0`,
    overflowWrap: "anywhere",
  },
  head: {
    display: "flex",
    flexWrap: "wrap",
    columnGap: tokens.spacingHorizontalM,
    alignItems: "baseline",
  },
  toggle: {
    border: "none",
    padding: 0,
    backgroundColor: "transparent",
    font: "inherit",
    fontWeight: tokens.fontWeightSemibold,
    color: tokens.colorBrandForegroundLink,
    cursor: "pointer",
    ":hover": { textDecorationLine: "underline" },
    ":focus-visible": { outline: `2px solid ${tokens.colorStrokeFocus2}` },
  },
  good: { color: tokens.colorPaletteGreenForeground1, fontWeight: tokens.fontWeightSemibold },
  bad: { color: tokens.colorPaletteRedForeground1, fontWeight: tokens.fontWeightSemibold },
  quiet: { color: tokens.colorNeutralForeground2 },
  note: {
    color: tokens.colorNeutralForeground2,
    fontSize: tokens.fontSizeBase200,
    margin: `${tokens.spacingVerticalXS} 0 0`,
  },
  exchange: {
    display: "grid",
    gridTemplateColumns: "repeat(2, minmax(0, 1fr))",
    gap: tokens.spacingHorizontalM,
    marginTop: tokens.spacingVerticalS,
    "@media (max-width: 900px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  side: {
    display: "flex",
    alignItems: "center",
    justifyContent: "space-between",
    minHeight: "28px",
    color: tokens.colorNeutralForeground2,
    fontSize: tokens.fontSizeBase200,
  },
});

const shownMax = 40;

export function Attempts({
  delivery,
  open,
  choose,
}: {
  readonly delivery: DeliveryStory;
  readonly open: string | null;
  readonly choose: (attempt: string | null) => void;
}) {
  const styles = useStyles();
  const entries = [
    ...delivery.attempts.map((attempt) => ({ at: attempt.at, attempt })),
    ...delivery.remarks.map(({ at, words }) => ({ at, words })),
  ].toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
  return (
    <ol className={styles.list} aria-label="Attempts, the latest first">
      {entries.slice(0, shownMax).map((entry, index) =>
        "attempt" in entry ? (
          <Attempt
            key={attemptKey(entry.attempt)}
            attempt={entry.attempt}
            endpoint={delivery.endpoint}
            isOpen={open === attemptKey(entry.attempt)}
            choose={choose}
          />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: two remarks may be of one instant.
          <li key={`${entry.at} ${index}`} className={styles.attempt}>
            <span className={styles.quiet}>
              <When at={entry.at} />
            </span>{" "}
            {entry.words}
          </li>
        ),
      )}
      {entries.length > shownMax && (
        <li className={styles.attempt}>and {entries.length - shownMax} more before these</li>
      )}
    </ol>
  );
}

function Attempt({
  attempt,
  endpoint,
  isOpen,
  choose,
}: {
  readonly attempt: AttemptView;
  readonly endpoint: string;
  readonly isOpen: boolean;
  readonly choose: (attempt: string | null) => void;
}) {
  const styles = useStyles();
  const { number, stage, outcome, status, durationMs, words, excerpt, detail, batch } = attempt;
  return (
    <li className={styles.attempt}>
      <div className={styles.head}>
        <button
          type="button"
          className={styles.toggle}
          aria-expanded={isOpen}
          onClick={() => choose(isOpen ? null : attemptKey(attempt))}
        >
          {stage === "deliver" ? `Attempt ${number}` : `Dead letter, attempt ${number}`}
        </button>
        <span className={styles.quiet}>
          <When at={attempt.at} />
        </span>
        <span className={mergeClasses(isGood(attempt) ? styles.good : styles.bad)}>
          {status === null ? outcome : `${status} ${outcome}`}
        </span>
        <span className={styles.quiet}>
          after {sayTook(durationMs)}
          {batch > 1 && `, with ${batch - 1} others`}
          {attempt.isLate && ", late"}; the endpoint was {attempt.health}
        </span>
      </div>
      <div>
        <Words>{words}</Words>
      </div>
      {detail !== null && <div className={styles.quiet}>{detail}</div>}
      {isOpen ? (
        <Exchange attempt={attempt} endpoint={endpoint} />
      ) : (
        excerpt !== null && excerpt !== "" && <Code text={excerpt} what="the answer" wraps />
      )}
    </li>
  );
}

/** What was sent and what came back: recorded, or said to be made again. */
function Exchange({
  attempt,
  endpoint,
}: {
  readonly attempt: AttemptView;
  readonly endpoint: string;
}) {
  const styles = useStyles();
  const { wire, status, excerpt } = attempt;
  const request = wire === null ? null : { ...wire, url: endpoint, bytes: wire.size };
  const rebuilt = wire?.rebuilt ?? null;
  const isCut = wire !== null && wire.size > wire.body.length;
  return (
    <div className={styles.exchange}>
      <div>
        <div className={styles.side}>
          <span>
            {rebuilt === null ? "Request" : "Request, made again"}
            {wire !== null && `, ${sayBytes(wire.size)}`}
            {isCut && ", of which this is the beginning"}
          </span>
          {request !== null && !isCut && (
            <CopyButton text={requestAsCurl(request)} what="the request as curl">
              curl
            </CopyButton>
          )}
        </div>
        {request === null ? (
          <span className={styles.quiet}>
            {isGood(attempt)
              ? "It was not recorded, and cannot be made again without the event or its subscription."
              : "It was not recorded."}
          </span>
        ) : (
          <Code text={requestText(request)} what="the request" wraps />
        )}
        {rebuilt !== null && <p className={styles.note}>{rebuilt}</p>}
      </div>
      <div>
        <div className={styles.side}>
          Answer{status !== null && rebuilt !== null && ", of which the headers were not recorded"}
        </div>
        {status === null ? (
          <span className={styles.quiet}>There was no answer.</span>
        ) : (
          <Code
            text={answerText({ status, headers: wire?.answer ?? [], body: excerpt })}
            what="the answer"
            wraps
          />
        )}
      </div>
    </div>
  );
}
