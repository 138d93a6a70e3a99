// What is wrong, first: one card for each problem, with what the endpoint answered, since when,
// what waits, and the buttons that help. Five are shown; equal ones are one card already.

import { type ReactNode, useState } from "react";
import type { ProblemView } from "../../src/core/api/views.ts";
import { Badge, Button, makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { refreshOverview, useNow } from "../live.ts";
import { To } from "../parts/link.tsx";
import { Age, Long, Words } from "../parts/texts.tsx";
import { go, pathTo, type SubscriptionName, subscriptionPath } from "../route.ts";
import { sayAge, sayCount, sayMany } from "../words.ts";
import { type ProblemKind, type ProblemMember, remedies, useProblems } from "./problems.ts";

const shownMax = 5;
const membersShown = 3;

const useStyles = makeStyles({
  list: {
    listStyleType: "none",
    margin: `0 0 ${tokens.spacingVerticalL}`,
    padding: 0,
    display: "grid",
    gap: tokens.spacingVerticalS,
  },
  card: {
    backgroundColor: tokens.colorNeutralBackground1,
    border: `1px solid ${tokens.colorNeutralStroke2}`,
    borderLeft: `4px solid ${tokens.colorStatusWarningBorderActive}`,
    borderRadius: tokens.borderRadiusLarge,
    padding: `${tokens.spacingVerticalM} ${tokens.spacingHorizontalL}`,
    display: "grid",
    gridTemplateColumns: "minmax(0, 1fr) auto",
    columnGap: tokens.spacingHorizontalL,
    rowGap: tokens.spacingVerticalXS,
    alignItems: "start",
    "@media (max-width: 640px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  error: { borderLeftColor: tokens.colorStatusDangerBorderActive },
  head: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "baseline",
    columnGap: tokens.spacingHorizontalS,
    minWidth: 0,
  },
  title: { margin: 0, fontSize: tokens.fontSizeBase300, fontWeight: tokens.fontWeightSemibold },
  who: {
    display: "inline-flex",
    flexWrap: "wrap",
    alignItems: "baseline",
    columnGap: tokens.spacingHorizontalS,
    minWidth: 0,
  },
  answer: {
    fontFamily: tokens.fontFamilyMonospace,
    fontSize: tokens.fontSizeBase200,
    color: tokens.colorNeutralForeground1,
    backgroundColor: tokens.colorNeutralBackground3,
    borderRadius: tokens.borderRadiusSmall,
    padding: "1px 6px",
    overflow: "hidden",
    textOverflow: "ellipsis",
    whiteSpace: "nowrap",
    maxWidth: "100%",
    justifySelf: "start",
    boxSizing: "border-box",
  },
  facts: {
    display: "flex",
    flexWrap: "wrap",
    columnGap: tokens.spacingHorizontalL,
    color: tokens.colorNeutralForeground2,
    fontSize: tokens.fontSizeBase200,
  },
  main: { display: "grid", gap: tokens.spacingVerticalXS, minWidth: 0 },
  words: { color: tokens.colorNeutralForeground2, overflowWrap: "anywhere" },
  buttons: { display: "flex", flexWrap: "wrap", gap: tokens.spacingHorizontalXS },
});

/** Those that one subscription has. */
export function concerning(named: SubscriptionName): (member: ProblemMember) => boolean {
  return ({ subscriptions }) =>
    subscriptions.some(
      ({ topic, domainTopic, name }) =>
        topic === named.topic && domainTopic === named.domainTopic && name === named.name,
    );
}

export function ProblemCards({
  kinds,
  concerns,
  none = null,
}: {
  /** Only these; default: all. */
  readonly kinds?: readonly ProblemKind[];
  readonly concerns?: (member: ProblemMember) => boolean;
  /** Shown once it is known that there is none. */
  readonly none?: ReactNode;
}) {
  const styles = useStyles();
  const { value, again } = useProblems();
  const [isWhole, setWhole] = useState(false);
  const problems = (value?.value ?? []).filter(
    ({ kind, members }) =>
      (kinds === undefined || kinds.includes(kind)) &&
      (concerns === undefined || members.some(concerns)),
  );
  if (value === undefined) return null;
  if (problems.length === 0) return none;
  const shown = isWhole ? problems : problems.slice(0, shownMax);
  return (
    <section aria-label="Problems">
      <ul className={styles.list}>
        {shown.map((problem) => (
          <ProblemCard key={problem.id} problem={problem} again={again} />
        ))}
        {problems.length > shown.length && (
          <li>
            <Button onClick={() => setWhole(true)}>
              {`${sayCount(problems.length - shown.length)} more`}
            </Button>
          </li>
        )}
      </ul>
    </section>
  );
}

function ProblemCard({
  problem,
  again,
}: {
  readonly problem: ProblemView;
  readonly again: () => void;
}) {
  const styles = useStyles();
  const { severity, title, words, status, answer } = problem;
  return (
    <li className={mergeClasses(styles.card, severity === "error" && styles.error)}>
      <div className={styles.main}>
        <div className={styles.head}>
          {status !== null && !title.includes(String(status)) && (
            <Badge appearance="filled" color={severity === "error" ? "danger" : "warning"}>
              {status}
            </Badge>
          )}
          <h2 className={styles.title}>{title}</h2>
          <Who problem={problem} />
        </div>
        {answer !== null && answer !== "" && (
          <code className={styles.answer} title={answer}>
            {answer}
          </code>
        )}
        <div className={styles.words}>
          <Words>{words}</Words>
        </div>
        <Numbers problem={problem} />
      </div>
      <Remedies problem={problem} again={again} />
    </li>
  );
}

function Who({ problem }: { readonly problem: ProblemView }) {
  const styles = useStyles();
  const [isWhole, setWhole] = useState(false);
  const { members, count } = problem;
  const shown = isWhole ? members : members.slice(0, membersShown);
  const rest = count - shown.length;
  return (
    <span className={styles.who}>
      {shown.map((member) => (
        <Member key={`${member.endpoint} ${namesOf(member)}`} member={member} />
      ))}
      {rest > 0 &&
        (isWhole || members.length <= membersShown ? (
          <span>{`and ${sayCount(rest)} more`}</span>
        ) : (
          <Button size="small" appearance="transparent" onClick={() => setWhole(true)}>
            {`and ${sayCount(rest)} more`}
          </Button>
        ))}
    </span>
  );
}

function namesOf({ subscriptions }: ProblemMember): string {
  return subscriptions.map(({ topic, name }) => `${topic} / ${name}`).join(", ");
}

/** By its subscription if there is one, because that is what people know it by. */
function Member({ member }: { readonly member: ProblemMember }) {
  const { endpoint, subscriptions } = member;
  const [named] = subscriptions;
  if (named !== undefined && subscriptions.length === 1) {
    return (
      <span title={endpoint ?? undefined}>
        <To to={subscriptionPath(named)}>
          <Long>{namesOf(member)}</Long>
        </To>
      </span>
    );
  }
  if (endpoint === null) return null;
  return (
    <To to={pathTo(["endpoints"], { endpoint })}>
      <Long>{endpoint}</Long>
    </To>
  );
}

function Numbers({ problem }: { readonly problem: ProblemView }) {
  const styles = useStyles();
  const now = useNow();
  const { since, failures, waiting, nextTryAt, kind } = problem;
  const leftMs = nextTryAt === null ? null : Date.parse(nextTryAt) - now;
  return (
    <div className={styles.facts}>
      {since !== null && (
        <span>
          for <Age at={since} />
        </span>
      )}
      {failures > 0 && (
        <span>
          {kind === "deadLetters" || kind === "dropping"
            ? `${sayMany(failures, "event")} in the last hour`
            : sayMany(failures, "failure")}
        </span>
      )}
      {waiting > 0 && <span>{sayCount(waiting)} waiting</span>}
      {leftMs !== null && (
        <span>{leftMs <= 0 ? "next try now" : `next try in ${sayAge(leftMs + 999)}`}</span>
      )}
    </div>
  );
}

function Remedies({
  problem,
  again,
}: {
  readonly problem: ProblemView;
  readonly again: () => void;
}) {
  const styles = useStyles();
  const say = useSay();
  const { kind, members, count } = problem;
  const [first] = members;
  const apply = async (remedy: (typeof remedies)[ProblemKind][number]) => {
    try {
      for (const member of members) await remedy.act(member);
      say.done(remedy.done);
      await refreshOverview();
      again();
    } catch (error) {
      say.refused(`${remedy.words}: it could not be done`, error);
    }
  };
  const open = (to: string, words: string) => (
    <Button size="small" onClick={() => go(to)}>
      {words}
    </Button>
  );
  const named = first?.subscriptions[0];
  const letters: Record<string, string> =
    named === undefined || count > 1 ? {} : { topic: named.topic, subscription: named.name };
  return (
    <div className={styles.buttons}>
      {remedies[kind].map((remedy, index) => (
        <Button
          key={remedy.words}
          size="small"
          appearance={index === 0 ? "primary" : "secondary"}
          onClick={() => void apply(remedy)}
        >
          {count > 1 ? `${remedy.words} (${sayCount(members.length)})` : remedy.words}
        </Button>
      ))}
      {kind === "deadLetters" && open(pathTo(["dead-letters"], letters), "Redrive")}
      {kind === "handshake" &&
        named !== undefined &&
        open(subscriptionPath(named, "handshake"), "See it")}
      {kind === "dropping" &&
        named !== undefined &&
        open(subscriptionPath(named, "settings", { open: "Dead letters" }), "Keep dead letters")}
    </div>
  );
}
