// The two lists in a subscription's form: headers of every delivery, and the clauses of an advanced
// filter.

import type { ReactNode } from "react";
import { type Operand, operatorTypes } from "../../src/core/routing/filter/operator.ts";
import type { OperatorType } from "../../src/core/routing/filter.ts";
import { Button, Label, makeStyles, tokens } from "../fluent.ts";
import { AddRegular, DeleteRegular } from "../icons/drawings.tsx";
import { AreaField, bound, ChoiceField, Fault, SwitchField, TextField } from "../parts/form.tsx";
import { type ClauseDraft, type HeaderDraft, operandOf } from "./draft.ts";

const useStyles = makeStyles({
  list: { display: "flex", flexDirection: "column", gap: tokens.spacingVerticalS },
  entry: {
    display: "grid",
    gridTemplateColumns: "repeat(auto-fit, minmax(min(180px, 100%), 1fr))",
    gap: tokens.spacingHorizontalS,
    alignItems: "start",
    padding: tokens.spacingHorizontalS,
    borderRadius: tokens.borderRadiusMedium,
    backgroundColor: tokens.colorNeutralBackground3,
  },
  remove: { alignSelf: "end", justifySelf: "start" },
});

/** Entries that can be added, changed and removed. */
function EntryList<T extends object>({
  title,
  addWords,
  path,
  entries,
  plain,
  onChange,
  show,
}: {
  readonly title: string;
  readonly addWords: string;
  readonly path: string;
  readonly entries: readonly T[];
  readonly plain: T;
  readonly onChange: (entries: readonly T[]) => void;
  readonly show: (
    entry: T,
    own: ReturnType<typeof bound<T>>,
    change: (changes: Partial<T>) => void,
  ) => ReactNode;
}) {
  const styles = useStyles();
  return (
    <div className={styles.list}>
      <Label>{title}</Label>
      {entries.map((entry, index) => {
        const change = (changes: Partial<T>) =>
          onChange(entries.with(index, { ...entry, ...changes }));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: entries have no name of their own.
          <div key={index} className={styles.entry}>
            {show(entry, bound(entry, change), change)}
            <Button
              className={styles.remove}
              appearance="subtle"
              icon={<DeleteRegular />}
              aria-label={`Remove number ${index + 1}`}
              onClick={() => onChange(entries.filter((_, place) => place !== index))}
            />
          </div>
        );
      })}
      <Fault path={path} />
      <div>
        <Button size="small" icon={<AddRegular />} onClick={() => onChange([...entries, plain])}>
          {addWords}
        </Button>
      </div>
    </div>
  );
}

const plainHeader: HeaderDraft = { name: "", type: "Static", value: "", isSecret: false };

export function HeaderFields({
  path,
  headers,
  onChange,
}: {
  readonly path: string;
  readonly headers: readonly HeaderDraft[];
  readonly onChange: (headers: readonly HeaderDraft[]) => void;
}) {
  return (
    <EntryList
      title="Headers of every delivery"
      addWords="Add a header"
      path={path}
      entries={headers}
      plain={plainHeader}
      onChange={onChange}
      show={({ type, value, isSecret }, own, change) => (
        <>
          <TextField label="Name" {...own("name")} />
          <ChoiceField
            label="Kind"
            value={type}
            choices={[
              ["Static", "a fixed value"],
              ["Dynamic", "from the event"],
            ]}
            onChange={(given) => change({ type: given === "Dynamic" ? "Dynamic" : "Static" })}
          />
          <TextField
            label={type === "Static" ? "Text" : "Field of the event"}
            {...own("value")}
            placeholder={type === "Static" ? "" : "data.customer.id"}
            hint={isSecret && value === "Hidden" ? "Leave Hidden to keep the value." : undefined}
          />
          {type === "Static" && <SwitchField label="Secret" {...own("isSecret")} />}
        </>
      )}
    />
  );
}

const plainClause: ClauseDraft = { key: "", operatorType: "StringIn", values: "" };

const operandHints: Readonly<Record<Operand, string>> = {
  none: "",
  boolean: "true or false",
  number: "a number",
  numbers: "one number per line",
  ranges: "one range per line, such as 1..5",
  texts: "one text per line",
};

export function ClauseFields({
  path,
  clauses,
  onChange,
}: {
  readonly path: string;
  readonly clauses: readonly ClauseDraft[];
  readonly onChange: (clauses: readonly ClauseDraft[]) => void;
}) {
  return (
    <EntryList
      title="Advanced filters: all of them must match"
      addWords="Add a filter"
      path={path}
      entries={clauses}
      plain={plainClause}
      onChange={onChange}
      show={({ operatorType }, own, change) => {
        const operand = operandOf(operatorType);
        return (
          <>
            <TextField label="Key" {...own("key")} placeholder="data.amount" />
            <ChoiceField
              label="Operator"
              value={operatorType}
              choices={operatorTypes.map((name) => [name, name] as const)}
              onChange={(given) => change({ operatorType: given as OperatorType })}
            />
            {operand !== "none" && (
              <AreaField
                label="Compared with"
                hint={operandHints[operand]}
                rows={1}
                {...own("values")}
              />
            )}
          </>
        );
      }}
    />
  );
}
