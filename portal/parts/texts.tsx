// Small texts: long names, times, states, and code to copy.

import { Fragment, type ReactNode, useEffect, useState } from "react";
import type { DeliveryState, HealthView } from "../../src/core/api/views.ts";
import { Badge, Button, makeStyles, mergeClasses, Tooltip, tokens } from "../fluent.ts";
import { CheckmarkRegular, CopyRegular } from "../icons/drawings.tsx";
import { useNow } from "../live.ts";
import { sayAge, sayState } from "../words.ts";
import { sayFull, sayInstant, useZone, withInstants } from "../zone.ts";

const useStyles = makeStyles({
  long: {
    display: "inline-block",
    maxWidth: "100%",
    overflow: "hidden",
    textOverflow: "ellipsis",
    whiteSpace: "nowrap",
    verticalAlign: "bottom",
    // On touch screens it is wrapped and not cut.
    "@media (max-width: 640px)": { whiteSpace: "normal", overflowWrap: "anywhere" },
  },
  humps: { whiteSpace: "normal" },
  address: {
    display: "inline-flex",
    maxWidth: "100%",
    verticalAlign: "bottom",
    whiteSpace: "nowrap",
    "@media (max-width: 640px)": {
      whiteSpace: "normal",
      overflowWrap: "anywhere",
      flexWrap: "wrap",
    },
  },
  start: { flexShrink: 1, minWidth: "3ch", overflow: "hidden", textOverflow: "ellipsis" },
  end: { flexShrink: 0, maxWidth: "75%", overflow: "hidden", textOverflow: "ellipsis" },
  mono: { fontFamily: tokens.fontFamilyMonospace, fontSize: tokens.fontSizeBase200 },
  when: { whiteSpace: "nowrap", fontVariantNumeric: "tabular-nums" },
  codeBox: {
    position: "relative",
    backgroundColor: tokens.colorNeutralBackground3,
    borderRadius: tokens.borderRadiusMedium,
  },
  code: {
    margin: 0,
    padding: tokens.spacingHorizontalM,
    paddingRight: "48px",
    overflowX: "auto",
    maxHeight: "420px",
    fontFamily: tokens.fontFamilyMonospace,
    fontSize: tokens.fontSizeBase200,
    lineHeight: tokens.lineHeightBase300,
    color: tokens.colorNeutralForeground1,
  },
  wraps: { whiteSpace: "pre-wrap", overflowWrap: "anywhere" },
  copy: {
    position: "absolute",
    top: "4px",
    right: "4px",
    backgroundColor: tokens.colorNeutralBackground3,
  },
  facts: {
    display: "grid",
    gridTemplateColumns: "max-content minmax(0, 1fr)",
    columnGap: tokens.spacingHorizontalXL,
    rowGap: tokens.spacingVerticalXS,
    margin: 0,
    "@media (max-width: 600px)": { gridTemplateColumns: "minmax(0, 1fr)", rowGap: 0 },
  },
  term: {
    color: tokens.colorNeutralForeground2,
    "@media (max-width: 600px)": { marginTop: tokens.spacingVerticalS },
  },
  fact: { margin: 0, minWidth: 0, overflowWrap: "anywhere" },
});

/** Cut off if there is no room, and complete on hover. */
export function Long({
  children,
  mono = false,
}: {
  readonly children: string;
  readonly mono?: boolean;
}) {
  const styles = useStyles();
  return (
    <span className={mergeClasses(styles.long, mono && styles.mono)} title={children}>
      {children}
    </span>
  );
}

/** A long name of Azure's, whole: broken between its words, because alike ones begin alike. */
export function Humps({ children }: { readonly children: string }) {
  const styles = useStyles();
  return (
    <span className={styles.humps}>
      {children.split(/(?=[A-Z])/).map((hump, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text stay in their places.
        <Fragment key={index}>
          <wbr />
          {hump}
        </Fragment>
      ))}
    </span>
  );
}

/** A URL, of which the end says most: where there is no room, its beginning is cut. */
export function Address({ children }: { readonly children: string }) {
  const styles = useStyles();
  const [, start, end] =
    /^(https?:\/\/[^/]+.*?)(\/[^/]{1,12}\/[^/]{1,12}\/?|\/[^/]+\/?)$/.exec(children) ?? [];
  if (start === undefined || end === undefined) return <Long>{children}</Long>;
  return (
    <span className={styles.address} title={children}>
      <span className={styles.start}>{start}</span>
      <span className={styles.end}>{end}</span>
    </span>
  );
}

export function Mono({ children }: { readonly children: ReactNode }) {
  return <span className={useStyles().mono}>{children}</span>;
}

export function When({ at, none = "–" }: { readonly at: string | null; readonly none?: string }) {
  const styles = useStyles();
  const now = useNow(60_000);
  useZone();
  if (at === null) return <span>{none}</span>;
  return (
    <time dateTime={at} title={sayFull(at)} className={styles.when}>
      {sayInstant(at, now)}
    </time>
  );
}

/** A sentence of the broker, with its instants as everywhere else. */
export function Words({ children }: { readonly children: string }) {
  const now = useNow(60_000);
  useZone();
  return withInstants(children, now);
}

/** The same in one line of a table. */
export function LongWords({ children }: { readonly children: string }) {
  const now = useNow(60_000);
  useZone();
  return <Long>{withInstants(children, now)}</Long>;
}

/** An age that grows. */
export function Age({
  at,
  none = "–",
  isShort = false,
}: {
  readonly at: string | null;
  readonly none?: string;
  /** In its largest unit only. */
  readonly isShort?: boolean;
}) {
  const styles = useStyles();
  const now = useNow();
  if (at === null) return <span>{none}</span>;
  const age = sayAge(now - Date.parse(at));
  return (
    <time dateTime={at} title={sayFull(at)} className={styles.when}>
      {isShort ? age.split(" ", 2).join(" ") : age}
    </time>
  );
}

const stateColors = {
  waiting: "informative",
  delivered: "success",
  deadLettering: "warning",
  deadLettered: "severe",
  dropped: "danger",
  unknown: "subtle",
} as const satisfies Record<DeliveryState, string>;

export function StateBadge({
  state,
  count,
}: {
  readonly state: DeliveryState;
  readonly count?: number;
}) {
  return (
    <Badge appearance="tint" color={stateColors[state]}>
      {sayState(state)}
      {count !== undefined && count > 1 ? ` ×${count}` : ""}
    </Badge>
  );
}

const healthColors = {
  healthy: "success",
  unhealthy: "danger",
  probing: "warning",
  recovering: "warning",
  closed: "severe",
} as const;

export function HealthBadge({ health }: { readonly health: HealthView }) {
  // Its first failures do not make it unhealthy, but nobody would call that green.
  const isFailing = health.kind === "healthy" && health.failures > 0;
  return (
    <Badge
      appearance="tint"
      color={isFailing ? "warning" : (healthColors[health.kind] ?? "informative")}
      title={health.words}
    >
      {isFailing ? "failing" : health.kind}
    </Badge>
  );
}

/** What the badge does not say yet: it is healthy by the rules, but nobody would call it that. */
export function sayHealth({ kind, words }: HealthView): string {
  return words.replace(kind === "healthy" ? "healthy; " : `${kind}: `, "");
}

export function CopyButton({
  text,
  what,
  children,
}: {
  readonly text: string;
  /** Completes "Copy …". */
  readonly what: string;
  readonly children?: ReactNode;
}) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const label = isCopied ? "Copied" : `Copy ${what}`;
  return (
    <Tooltip content={label} relationship="label">
      <Button
        size="small"
        appearance="subtle"
        icon={isCopied ? <CheckmarkRegular /> : <CopyRegular />}
        onClick={() => void copyText(text).then(setCopied)}
      >
        {children}
      </Button>
    </Tooltip>
  );
}

/** The clipboard works over TLS and on this machine; elsewhere the old way is used. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

export function Code({
  text,
  what,
  wraps = false,
}: {
  readonly text: string;
  readonly what: string;
  readonly wraps?: boolean;
}) {
  const styles = useStyles();
  return (
    <div className={styles.codeBox}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by key. */}
      <pre className={mergeClasses(styles.code, wraps && styles.wraps)} tabIndex={0}>
        {text}
      </pre>
      <div className={styles.copy}>
        <CopyButton text={text} what={what} />
      </div>
    </div>
  );
}

/** Names and what they are, as a list of terms. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}) {
  const styles = useStyles();
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt className={styles.term}>{name}</dt>
          <dd className={styles.fact}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
