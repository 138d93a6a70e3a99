// The result of filters for an event, clause by clause: the dry run.

import type { FilterVerdict } from "../../src/core/api/views.ts";
import { Badge, makeStyles, tokens } from "../fluent.ts";

const useStyles = makeStyles({
  list: {
    listStyleType: "none",
    margin: 0,
    padding: 0,
    display: "grid",
    gap: tokens.spacingVerticalM,
  },
  head: { display: "flex", gap: tokens.spacingHorizontalS, alignItems: "center" },
  name: { fontWeight: tokens.fontWeightSemibold, overflowWrap: "anywhere" },
  clauses: {
    margin: `${tokens.spacingVerticalXS} 0 0`,
    padding: 0,
    listStyleType: "none",
    overflowWrap: "anywhere",
  },
  clause: { display: "flex", gap: tokens.spacingHorizontalS },
  holds: { color: tokens.colorPaletteGreenForeground1, flexShrink: 0 },
  fails: { color: tokens.colorPaletteRedForeground1, flexShrink: 0 },
});

export function Verdicts({ verdicts }: { readonly verdicts: readonly FilterVerdict[] }) {
  const styles = useStyles();
  return (
    <ul className={styles.list}>
      {verdicts.map(({ subscription, matches, held, clauses }, index) => (
        <li key={subscription ?? index}>
          <div className={styles.head}>
            <Badge
              appearance="tint"
              color={!matches ? "danger" : held === null ? "success" : "warning"}
            >
              {!matches ? "does not match" : held === null ? "matches" : "matches, gets nothing"}
            </Badge>
            {subscription !== null && <span className={styles.name}>{subscription}</span>}
          </div>
          {held !== null && <div>Nothing is sent to it: {held}.</div>}
          <ul className={styles.clauses}>
            {clauses.map(({ clause, holds, because }) => (
              <li key={clause} className={styles.clause}>
                <span className={holds ? styles.holds : styles.fails}>{holds ? "yes" : "no"}</span>
                <span>
                  <code>{clause}</code>: {because}
                </span>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
