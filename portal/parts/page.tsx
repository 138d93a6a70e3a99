// What every page has: a heading that screen readers announce when the page changes, a place for
// actions, and messages for what is loading, missing, empty or refused.

import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Asked, Refused } from "../api.ts";
import {
  Button,
  MessageBar,
  MessageBarActions,
  MessageBarBody,
  MessageBarTitle,
  makeStyles,
  mergeClasses,
  Spinner,
  Text,
  tokens,
} from "../fluent.ts";
import { hasFollowed } from "../route.ts";

const useStyles = makeStyles({
  head: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    columnGap: tokens.spacingHorizontalL,
    rowGap: tokens.spacingVerticalS,
    marginBottom: tokens.spacingVerticalL,
  },
  titles: { flexGrow: 1, minWidth: 0, flexBasis: "280px" },
  title: {
    margin: 0,
    fontSize: tokens.fontSizeBase600,
    lineHeight: tokens.lineHeightBase600,
    fontWeight: tokens.fontWeightSemibold,
    overflowWrap: "anywhere",
    ":focus": { outlineStyle: "none" },
  },
  subtitle: { color: tokens.colorNeutralForeground2, overflowWrap: "anywhere" },
  actions: { display: "flex", flexWrap: "wrap", gap: tokens.spacingHorizontalS },
  card: {
    backgroundColor: tokens.colorNeutralBackground1,
    borderRadius: tokens.borderRadiusLarge,
    border: `1px solid ${tokens.colorNeutralStroke2}`,
    padding: tokens.spacingHorizontalL,
    marginBottom: tokens.spacingVerticalL,
    minWidth: 0,
  },
  flush: { padding: 0 },
  cardHead: {
    display: "flex",
    flexWrap: "wrap",
    alignItems: "center",
    justifyContent: "space-between",
    gap: tokens.spacingHorizontalS,
    marginBottom: tokens.spacingVerticalM,
  },
  cardTitle: {
    margin: 0,
    fontSize: tokens.fontSizeBase400,
    lineHeight: tokens.lineHeightBase400,
    fontWeight: tokens.fontWeightSemibold,
  },
  wait: { display: "flex", justifyContent: "center", padding: tokens.spacingVerticalXXL },
  empty: {
    display: "flex",
    flexDirection: "column",
    alignItems: "center",
    textAlign: "center",
    gap: tokens.spacingVerticalS,
    padding: `${tokens.spacingVerticalXXL} ${tokens.spacingHorizontalL}`,
  },
  emptyWords: { color: tokens.colorNeutralForeground2, maxWidth: "56ch" },
  bar: { marginBottom: tokens.spacingVerticalM },
  barBody: { whiteSpace: "normal", overflowWrap: "anywhere" },
});

export function PageHead({
  title,
  subtitle,
  actions,
}: {
  readonly title: string;
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
}) {
  const styles = useStyles();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Posthorn`;
  }, [title]);
  useEffect(() => {
    if (hasFollowed()) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className={styles.head}>
      <div className={styles.titles}>
        <h1 ref={heading} tabIndex={-1} className={styles.title}>
          {title}
        </h1>
        {subtitle !== undefined && <div className={styles.subtitle}>{subtitle}</div>}
      </div>
      {actions !== undefined && <div className={styles.actions}>{actions}</div>}
    </div>
  );
}

export function Card({
  title,
  label = title,
  isFlush = false,
  actions,
  children,
  className,
}: {
  readonly title?: string;
  /** For screen readers, where there is no title. */
  readonly label?: string | undefined;
  /** Without room at its edges. */
  readonly isFlush?: boolean;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
}) {
  const styles = useStyles();
  return (
    <section
      className={mergeClasses(styles.card, isFlush && styles.flush, className)}
      aria-label={label}
    >
      {title !== undefined && (
        <div className={styles.cardHead}>
          <h2 className={styles.cardTitle}>{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

export function Empty({
  title,
  children,
  actions,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}) {
  const styles = useStyles();
  return (
    <div className={styles.empty}>
      <Text weight="semibold" size={400} as="h3" className={styles.cardTitle}>
        {title}
      </Text>
      {children !== undefined && <div className={styles.emptyWords}>{children}</div>}
      {actions}
    </div>
  );
}

/** Nothing for a moment: most answers come before a spinner would be seen. */
export function Wait() {
  const styles = useStyles();
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={styles.wait} aria-busy="true">
      {isLong && <Spinner size="small" label="Loading" />}
    </div>
  );
}

/** The broker's message, and what can be done. */
export function Refusal({
  refused,
  again,
  title,
}: {
  readonly refused: Refused;
  readonly again?: (() => void) | undefined;
  readonly title?: string;
}) {
  const styles = useStyles();
  return (
    <MessageBar intent="error" className={styles.bar} layout="multiline">
      <MessageBarBody className={styles.barBody}>
        {title !== undefined && <MessageBarTitle>{title}</MessageBarTitle>}
        {refused.message}
      </MessageBarBody>
      {again !== undefined && (
        <MessageBarActions>
          <Button size="small" onClick={again}>
            Try again
          </Button>
        </MessageBarActions>
      )}
    </MessageBar>
  );
}

export function Note({
  intent = "info",
  title,
  children,
}: {
  readonly intent?: "info" | "warning" | "success" | "error";
  readonly title?: string;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  return (
    <MessageBar intent={intent} className={styles.bar} layout="multiline">
      <MessageBarBody className={styles.barBody}>
        {title !== undefined && <MessageBarTitle>{title}</MessageBarTitle>}
        {children}
      </MessageBarBody>
    </MessageBar>
  );
}

/** The content, once it is loaded. A route that this broker lacks is not an error. */
export function Answer<T>({
  asked,
  what,
  children,
}: {
  readonly asked: Asked<T>;
  /** Completes "This broker does not have …". */
  readonly what: string;
  readonly children: (value: T) => ReactNode;
}) {
  const { value, refused, again } = asked;
  const isMissing = refused?.message.startsWith("No HTTP resource was found") ?? false;
  if (isMissing && value === undefined) {
    return (
      <Empty title="Not available here">
        This broker does not tell {what}. A newer version may; the rest of the portal works.
      </Empty>
    );
  }
  return (
    <>
      {refused !== null && <Refusal refused={refused} again={again} />}
      {value === undefined ? refused === null && <Wait /> : children(value)}
    </>
  );
}
