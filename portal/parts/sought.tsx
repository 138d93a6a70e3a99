// A list that is searched as one types; where it is short, nobody needs that.

import { type ReactNode, useMemo, useState } from "react";
import { Input, makeStyles, tokens } from "../fluent.ts";
import { SearchRegular } from "../icons/drawings.tsx";
import { Empty } from "./page.tsx";

const useStyles = makeStyles({
  box: { width: "360px", maxWidth: "100%", marginBottom: tokens.spacingVerticalM },
});

const shortMax = 8;

export function Sought<T>({
  rows,
  by,
  textOf,
  children,
}: {
  readonly rows: readonly T[];
  /** Completes "Search by …". */
  readonly by: string;
  /** What is looked through; made once, outside. */
  readonly textOf: (row: T) => string;
  /** The same array where nothing is sought. */
  readonly children: (found: readonly T[]) => ReactNode;
}) {
  const styles = useStyles();
  const [wanted, setWanted] = useState("");
  const word = wanted.trim().toLowerCase();
  const found = useMemo(
    () => (word === "" ? rows : rows.filter((row) => textOf(row).toLowerCase().includes(word))),
    [rows, word, textOf],
  );
  return (
    <>
      {(rows.length > shortMax || wanted !== "") && (
        <Input
          className={styles.box}
          data-search
          aria-label={`Search by ${by}`}
          placeholder={`Search by ${by}`}
          contentBefore={<SearchRegular />}
          value={wanted}
          onChange={(_, { value }) => setWanted(value)}
        />
      )}
      {found.length === 0 && word !== "" ? (
        <Empty title="None is like that">{`Nothing has “${wanted.trim()}” in it.`}</Empty>
      ) : (
        children(found)
      )}
    </>
  );
}
