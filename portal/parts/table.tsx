// A dense table: native elements, long texts cut off, and on narrow screens only the columns that
// matter. It scrolls sideways by itself, never the page.

import { makeStyles, mergeClasses, tokens } from "@fluentui/react-components";
import type { ReactNode } from "react";

export interface Column<T> {
  readonly title: string;
  readonly show: (row: T) => ReactNode;
  /** Of the width that is there, as CSS has it; without one, an equal share of the rest. */
  readonly width?: string;
  readonly align?: "right";
  /** Not on a phone. */
  readonly isWideOnly?: boolean;
  /** Only where there is plenty of room. */
  readonly isExtra?: boolean;
}

const useStyles = makeStyles({
  scroll: { overflowX: "auto", maxWidth: "100%" },
  table: {
    width: "100%",
    borderCollapse: "collapse",
    tableLayout: "fixed",
    fontSize: tokens.fontSizeBase300,
  },
  head: {
    textAlign: "left",
    fontWeight: tokens.fontWeightSemibold,
    fontSize: tokens.fontSizeBase200,
    color: tokens.colorNeutralForeground2,
    padding: `${tokens.spacingVerticalXS} ${tokens.spacingHorizontalS}`,
    borderBottom: `1px solid ${tokens.colorNeutralStroke1}`,
    whiteSpace: "nowrap",
    overflow: "hidden",
    textOverflow: "ellipsis",
  },
  row: {
    ":hover": { backgroundColor: tokens.colorNeutralBackground1Hover },
  },
  cell: {
    padding: `${tokens.spacingVerticalSNudge} ${tokens.spacingHorizontalS}`,
    borderBottom: `1px solid ${tokens.colorNeutralStroke2}`,
    overflow: "hidden",
    textOverflow: "ellipsis",
    whiteSpace: "nowrap",
    "@media (max-width: 640px)": { whiteSpace: "normal" },
  },
  right: { textAlign: "right", fontVariantNumeric: "tabular-nums" },
  wideOnly: { "@media (max-width: 640px)": { display: "none" } },
  extra: { "@media (max-width: 1100px)": { display: "none" } },
});

export function Rows<T>({
  label,
  columns,
  rows,
  keyOf,
}: {
  /** What is in the table, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T, index: number) => string;
}) {
  const styles = useStyles();
  const classOf = ({ align, isWideOnly, isExtra }: Column<T>) =>
    mergeClasses(align && styles.right, isWideOnly && styles.wideOnly, isExtra && styles.extra);
  return (
    <div className={styles.scroll}>
      <table className={styles.table} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                className={mergeClasses(styles.head, classOf(column))}
                style={{ width: column.width }}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)} className={styles.row}>
              {columns.map((column) => (
                <td key={column.title} className={mergeClasses(styles.cell, classOf(column))}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
