// A dense table: native elements, long texts cut off, fewer columns where there is less room. On a
// phone every row becomes a small card: its main columns over the whole width, the others beside
// each other with their names.

import { memo, type ReactNode, useState } from "react";
import { Button, makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { sayCount } from "../words.ts";

export interface Column<T> {
  readonly title: string;
  readonly show: (row: T) => ReactNode;
  /** As in CSS; a column without one is a main column and shares the rest. */
  readonly width?: string;
  readonly align?: "right";
  /** Not on a phone. */
  readonly isWideOnly?: boolean;
  /** Only where there is plenty of room. */
  readonly isExtra?: boolean;
}

/** More than anybody reads; the rest is shown on request. */
const rowsMax = 100;

const phone = "@media (max-width: 640px)";

const useStyles = makeStyles({
  scroll: { overflowX: "auto", maxWidth: "100%" },
  table: {
    width: "100%",
    borderCollapse: "collapse",
    tableLayout: "fixed",
    fontSize: tokens.fontSizeBase300,
    [phone]: { display: "block" },
  },
  body: { [phone]: { display: "block" } },
  // It stays for screen readers.
  headRow: {
    [phone]: {
      display: "block",
      position: "absolute",
      width: "1px",
      height: "1px",
      overflow: "hidden",
      clipPath: "inset(50%)",
    },
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
    [phone]: {
      display: "flex",
      flexWrap: "wrap",
      alignItems: "baseline",
      columnGap: tokens.spacingHorizontalM,
      padding: `${tokens.spacingVerticalS} 0`,
      borderBottom: `1px solid ${tokens.colorNeutralStroke2}`,
    },
  },
  cell: {
    padding: `${tokens.spacingVerticalSNudge} ${tokens.spacingHorizontalS}`,
    borderBottom: `1px solid ${tokens.colorNeutralStroke2}`,
    overflow: "hidden",
    textOverflow: "ellipsis",
    whiteSpace: "nowrap",
    [phone]: {
      display: "block",
      padding: "0",
      borderBottomStyle: "none",
      whiteSpace: "normal",
      overflow: "visible",
      maxWidth: "100%",
    },
  },
  rest: { marginTop: tokens.spacingVerticalS },
  main: { [phone]: { flexBasis: "100%", overflowWrap: "anywhere" } },
  named: {
    [phone]: {
      "::before": {
        content: "attr(data-title)",
        marginRight: tokens.spacingHorizontalXS,
        fontSize: tokens.fontSizeBase200,
        color: tokens.colorNeutralForeground2,
      },
    },
  },
  right: { textAlign: "right", fontVariantNumeric: "tabular-nums", [phone]: { textAlign: "left" } },
  wideOnly: { [phone]: { display: "none" } },
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
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, rowsMax);
  return (
    <div className={styles.scroll}>
      <table className={styles.table} aria-label={label}>
        <thead className={styles.headRow}>
          <tr>
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                className={mergeClasses(styles.head, classOf(column, styles))}
                style={{ width: column.width }}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className={styles.body}>
          {shown.map((row, index) => (
            <Row
              key={keyOf(row, index)}
              row={row}
              columns={columns as readonly Column<unknown>[]}
            />
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && (
        <Button className={styles.rest} onClick={() => setWhole(true)}>
          {`Show ${sayCount(rows.length - shown.length)} more`}
        </Button>
      )}
    </div>
  );
}

function classOf<T>(
  { width, align, isWideOnly, isExtra }: Column<T>,
  styles: ReturnType<typeof useStyles>,
): string {
  return mergeClasses(
    width === undefined ? styles.main : styles.named,
    align && styles.right,
    (isWideOnly || isExtra) && styles.wideOnly,
    isExtra && styles.extra,
  );
}

/** Drawn again only when it has changed: columns of long tables are made once, outside. */
const Row = memo(function Row({
  row,
  columns,
}: {
  readonly row: unknown;
  readonly columns: readonly Column<unknown>[];
}) {
  const styles = useStyles();
  return (
    <tr className={styles.row}>
      {columns.map((column) => (
        <td
          key={column.title}
          data-title={column.title}
          className={mergeClasses(styles.cell, classOf(column, styles))}
        >
          {column.show(row)}
        </td>
      ))}
    </tr>
  );
});
