// What a form would change, before it is saved: each setting as it is and as it will be.

import { makeStyles, tokens } from "../fluent.ts";
import { sayMany } from "../words.ts";
import type { Draft } from "./draft.ts";

const useStyles = makeStyles({
  box: {
    border: `1px solid ${tokens.colorBrandStroke2}`,
    backgroundColor: tokens.colorBrandBackground2,
    color: tokens.colorNeutralForeground1,
    borderRadius: tokens.borderRadiusMedium,
    padding: tokens.spacingHorizontalM,
  },
  title: { fontWeight: tokens.fontWeightSemibold },
  list: {
    display: "grid",
    gridTemplateColumns: "max-content minmax(0, 1fr)",
    columnGap: tokens.spacingHorizontalL,
    rowGap: tokens.spacingVerticalXS,
    margin: `${tokens.spacingVerticalS} 0 0`,
    "@media (max-width: 640px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  value: { margin: 0, overflowWrap: "anywhere" },
  before: { textDecorationLine: "line-through" },
});

/** How members of a draft are named, in the order in which changes are told. */
export type Names<Of> = Readonly<Partial<Record<keyof Of, string>>>;

export const subscriptionNames: Names<Draft> = {
  endpointType: "Endpoint type",
  endpointUrl: "URL",
  resourceId: "Resource id",
  queueName: "Queue",
  queueTtl: "Time to live in the queue",
  maxEvents: "Maximum events per request",
  batchKilobytes: "Preferred size of a request",
  headers: "Headers",
  deliverySchema: "Delivered as",
  maxAttempts: "Maximum attempts",
  ttlMinutes: "Time to live, in minutes",
  deadLetterId: "Dead letters to",
  deadLetterContainer: "Container",
  labels: "Labels",
  expires: "Expires at",
  eventTypes: "Event types",
  begins: "Subject begins with",
  ends: "Subject ends with",
  isCaseSensitive: "Subject is case-sensitive",
  onArrays: "Match values in arrays",
  clauses: "Advanced filters",
  splits: "Halve batches that fail",
  signs: "Sign deliveries",
};

export interface Change {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

export function changesBetween<Of>(before: Of, after: Of, names: Names<Of>): readonly Change[] {
  return (Object.entries(names) as [keyof Of, string][]).flatMap(([key, name]) => {
    const [old, now] = [words(before[key]), words(after[key])];
    return old === now ? [] : [{ name, before: old, after: now }];
  });
}

function words(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (!Array.isArray(value)) return String(value).trim().replaceAll("\n", ", ") || "none";
  return value.map((entry) => Object.values(entry).join(" ")).join("; ") || "none";
}

export function Diff({ changes }: { readonly changes: readonly Change[] }) {
  const styles = useStyles();
  if (changes.length === 0) return null;
  return (
    <section className={styles.box} aria-label="Changes">
      <span className={styles.title}>{`${sayMany(changes.length, "change")} to be saved`}</span>
      <dl className={styles.list}>
        {changes.map(({ name, before, after }) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd className={styles.value}>
              <del className={styles.before}>{before}</del> → <ins>{after}</ins>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
