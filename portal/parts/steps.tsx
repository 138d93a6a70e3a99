// Long forms: numbered steps, settings folded to a line, and a question before what was typed is
// lost.

import { type ReactNode, useEffect, useRef } from "react";
import { makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { guardUnsaved, usePlace } from "../route.ts";

const useStyles = makeStyles({
  fields: { display: "flex", flexDirection: "column", gap: tokens.spacingVerticalM },
  fold: {
    border: `1px solid ${tokens.colorNeutralStroke2}`,
    borderRadius: tokens.borderRadiusMedium,
  },
  foldHead: {
    padding: `${tokens.spacingVerticalS} ${tokens.spacingHorizontalM}`,
    cursor: "pointer",
    borderRadius: tokens.borderRadiusMedium,
    ":hover": { backgroundColor: tokens.colorSubtleBackgroundHover },
  },
  foldTitle: { fontWeight: tokens.fontWeightSemibold, marginRight: tokens.spacingHorizontalS },
  foldWords: { color: tokens.colorNeutralForeground2, overflowWrap: "anywhere" },
  foldBody: {
    padding: `${tokens.spacingVerticalXS} ${tokens.spacingHorizontalM} ${tokens.spacingVerticalM}`,
  },
  step: {
    border: "none",
    margin: 0,
    padding: `0 0 ${tokens.spacingVerticalL} 40px`,
    minWidth: 0,
    position: "relative",
    "::before": {
      content: '""',
      position: "absolute",
      left: "13px",
      top: "2px",
      bottom: 0,
      width: "2px",
      backgroundColor: tokens.colorNeutralStroke2,
    },
    "@media (max-width: 640px)": { paddingLeft: 0, "::before": { display: "none" } },
  },
  stepTitle: {
    display: "flex",
    alignItems: "center",
    gap: tokens.spacingHorizontalM,
    marginLeft: "-40px",
    padding: 0,
    marginBottom: tokens.spacingVerticalS,
    fontWeight: tokens.fontWeightSemibold,
    fontSize: tokens.fontSizeBase400,
    "@media (max-width: 640px)": { marginLeft: 0 },
  },
  stepNumber: {
    display: "inline-flex",
    alignItems: "center",
    justifyContent: "center",
    width: "28px",
    height: "28px",
    borderRadius: tokens.borderRadiusCircular,
    backgroundColor: tokens.colorBrandBackground2,
    color: tokens.colorBrandForeground2,
    fontSize: tokens.fontSizeBase300,
  },
});

/**
 * Settings that most leave as they are: a line that says how they are, and opens into them, or is
 * open already because the address names it: `open=Dead letters`.
 */
export function Fold({
  title,
  summary,
  isOpen: isOpenAtFirst = false,
  children,
}: {
  readonly title: string;
  readonly summary: string;
  readonly isOpen?: boolean;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  const isAsked = usePlace().query.get("open") === title;
  const place = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isAsked) place.current?.scrollIntoView({ block: "center" });
  }, [isAsked]);
  return (
    <details ref={place} className={styles.fold} open={isOpenAtFirst || isAsked}>
      <summary className={styles.foldHead}>
        <span className={styles.foldTitle}>{title}</span>{" "}
        <span className={styles.foldWords}>{summary}</span>
      </summary>
      <div className={mergeClasses(styles.fields, styles.foldBody)}>{children}</div>
    </details>
  );
}

/** One of the numbered steps of a form. */
export function Step({
  number,
  title,
  children,
}: {
  readonly number: number;
  readonly title: string;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  return (
    <fieldset className={styles.step}>
      <legend className={styles.stepTitle}>
        <span className={styles.stepNumber} aria-hidden="true">
          {number}
        </span>
        {title}
      </legend>
      <div className={styles.fields}>{children}</div>
    </fieldset>
  );
}

/** Leaving the page asks first, while there is something typed that was not saved. */
export function useUnsaved(isChanged: boolean, words = "What you typed is not saved."): void {
  useEffect(() => (isChanged ? guardUnsaved(words) : undefined), [isChanged, words]);
}
