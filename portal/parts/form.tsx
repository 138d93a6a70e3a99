// Forms: fields that show the broker's refusal where it belongs. A refusal is shown at the field it
// names; without such a field, above the buttons.

import {
  createContext,
  type FormEvent,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
} from "react";
import { asRefused, type Refused } from "../api.ts";
import {
  Button,
  Dropdown,
  Field,
  Input,
  makeStyles,
  Option,
  Switch,
  Textarea,
  tokens,
} from "../fluent.ts";
import { Refusal } from "./page.tsx";

interface Faults {
  readonly refused: Refused | null;
  /** Fields register themselves, so that refusals without a field are seen. */
  readonly claim: (path: string) => () => void;
}

const FaultsContext = createContext<Faults>({ refused: null, claim: () => () => {} });

const useStyles = makeStyles({
  fields: { display: "flex", flexDirection: "column", gap: tokens.spacingVerticalM },
  buttons: {
    display: "flex",
    gap: tokens.spacingHorizontalS,
    marginTop: tokens.spacingVerticalL,
    flexWrap: "wrap",
  },
  mono: { fontFamily: tokens.fontFamilyMonospace, fontSize: tokens.fontSizeBase200 },
  group: { border: "none", margin: 0, padding: 0, minWidth: 0 },
  legend: {
    fontWeight: tokens.fontWeightSemibold,
    fontSize: tokens.fontSizeBase400,
    padding: 0,
    marginTop: tokens.spacingVerticalM,
    marginBottom: tokens.spacingVerticalS,
  },
  row: {
    display: "grid",
    gridTemplateColumns: "repeat(auto-fit, minmax(min(220px, 100%), 1fr))",
    gap: tokens.spacingHorizontalM,
    alignItems: "start",
  },
  dropdown: { minWidth: "0px" },
  fault: { color: tokens.colorPaletteRedForeground1, fontSize: tokens.fontSizeBase200 },
});

/**
 * The refusal of the last submit; `run` never rejects, and does nothing while it runs. Buttons stay
 * enabled meanwhile: a disabled one would lose the focus.
 */
export function useOrder(): {
  readonly refused: Refused | null;
  readonly run: (order: () => Promise<void>) => Promise<void>;
} {
  const [refused, setRefused] = useState<Refused | null>(null);
  const isRunning = useRef(false);
  return {
    refused,
    async run(order) {
      if (isRunning.current) return;
      isRunning.current = true;
      setRefused(null);
      try {
        await order();
      } catch (error) {
        setRefused(asRefused(error));
      } finally {
        isRunning.current = false;
      }
    },
  };
}

function useFaults(refused: Refused | null) {
  const [claimed, setClaimed] = useState<readonly string[]>([]);
  const claim = useRef((path: string) => {
    setClaimed((before) => [...before, path]);
    return () =>
      setClaimed((before) => {
        const index = before.indexOf(path);
        return before.filter((_, place) => place !== index);
      });
  }).current;
  const isShownByField = claimed.some((path) => isAbout(refused, path));
  return { faults: { refused, claim }, rest: isShownByField ? null : refused };
}

/** `properties.filter.advancedFilters[2].key` is about `properties.filter.advancedFilters`. */
function isAbout(refused: Refused | null, path: string): boolean {
  const field = refused?.field ?? null;
  if (field === null) return false;
  return field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
}

/** Only until the value is another one: what has been changed is not judged yet. */
function useFault(path: string | undefined, value?: unknown): string | undefined {
  const { refused, claim } = useContext(FaultsContext);
  useEffect(() => (path === undefined ? undefined : claim(path)), [path, claim]);
  const judged = useRef({ refused, value });
  if (judged.current.refused !== refused) judged.current = { refused, value };
  if (path === undefined || refused === null || !isAbout(refused, path)) return undefined;
  return judged.current.value === value ? sayFault(refused.message, path) : undefined;
}

/** Beside a field, its path says nothing: `Must be a whole number`, `Entry 2: key must be …`. */
function sayFault(message: string, path: string): string {
  if (!message.startsWith(path)) return message;
  const words = message
    .slice(path.length)
    .replace(/^\[(\d+)\]\.?\s*/, (_, index) => `Entry ${Number(index) + 1}: `)
    .replace(/^(\.\w+)+/, "")
    .replace(/, and is "\s*"$/, "")
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function Form({
  refused,
  submitWords,
  onSubmit,
  onCancel,
  cancelWords = "Cancel",
  others,
  children,
}: {
  readonly refused: Refused | null;
  readonly submitWords: string;
  readonly onSubmit: () => void;
  readonly onCancel?: (() => void) | undefined;
  readonly cancelWords?: string | undefined;
  /** Buttons beside it. */
  readonly others?: ReactNode;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  const { faults, rest } = useFaults(refused);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    onSubmit();
  };
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (refused !== null) showFault(form.current);
  }, [refused]);
  return (
    <FaultsContext.Provider value={faults}>
      <form ref={form} onSubmit={submit} noValidate>
        <div className={styles.fields}>{children}</div>
        <div className={styles.fields} aria-live="polite">
          {rest !== null && (
            <div data-fault tabIndex={-1}>
              <Refusal refused={rest} />
            </div>
          )}
        </div>
        <div className={styles.buttons}>
          <Button type="submit" appearance="primary">
            {submitWords}
          </Button>
          {others}
          {onCancel !== undefined && <Button onClick={onCancel}>{cancelWords}</Button>}
        </div>
      </form>
    </FaultsContext.Provider>
  );
}

/** What is wrong may be far above the button that was pressed. */
function showFault(form: HTMLFormElement | null): void {
  const found = form?.querySelector<HTMLElement>("[aria-invalid=true], [data-fault]");
  const fold = found?.closest("details");
  if (fold) fold.open = true;
  found?.scrollIntoView({ block: "center" });
  found?.focus({ preventScroll: true });
}

/** Fields without a button, for requests that are repeated after every change. */
export function Fields({
  refused,
  children,
}: {
  readonly refused: Refused | null;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  const { faults, rest } = useFaults(refused);
  return (
    <FaultsContext.Provider value={faults}>
      <div className={styles.fields}>
        {children}
        <div aria-live="polite">{rest !== null && <Refusal refused={rest} />}</div>
      </div>
    </FaultsContext.Provider>
  );
}

interface FieldProps {
  readonly label: string;
  /** As the broker names it in a refusal. */
  readonly path?: string | undefined;
  readonly hint?: string | undefined;
  readonly isRequired?: boolean;
}

interface TextProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
}

/** A field with its label, its hint, and what the broker said of it. */
function Framed({
  label,
  path,
  hint,
  isRequired,
  value,
  children,
}: Partial<FieldProps> & { readonly value: unknown; readonly children: ReactElement }) {
  const fault = useFault(path, value);
  return (
    <Field
      label={label}
      required={isRequired}
      validationMessage={fault}
      validationState={fault === undefined ? "none" : "error"}
      hint={hint}
    >
      {children}
    </Field>
  );
}

/** What a field needs to show and to change one member of a draft: `{...own("name")}`. */
export function bound<Draft extends object>(
  draft: Draft,
  change: (changes: Partial<Draft>) => void,
) {
  return <Name extends keyof Draft>(name: Name) => ({
    value: draft[name],
    onChange: (value: Draft[Name]) => change({ [name]: value } as unknown as Partial<Draft>),
  });
}

export function TextField({ value, onChange, placeholder, ...field }: TextProps) {
  return (
    <Framed {...field} value={value}>
      <Input
        value={value}
        placeholder={placeholder}
        onChange={(_, given) => onChange(given.value)}
        autoComplete="off"
        spellCheck={false}
      />
    </Framed>
  );
}

export function AreaField({
  value,
  onChange,
  placeholder,
  rows = 3,
  isCode = false,
  ...field
}: TextProps & { readonly rows?: number; readonly isCode?: boolean }) {
  const styles = useStyles();
  return (
    <Framed {...field} value={value}>
      <Textarea
        value={value}
        placeholder={placeholder}
        rows={rows}
        resize="vertical"
        textarea={{ className: isCode ? styles.mono : undefined, spellCheck: false }}
        onChange={(_, given) => onChange(given.value)}
      />
    </Framed>
  );
}

export function ChoiceField({
  value,
  onChange,
  choices,
  ...field
}: FieldProps & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly choices: readonly (readonly [value: string, words: string])[];
}) {
  const styles = useStyles();
  return (
    <Framed {...field} value={value}>
      <Dropdown
        className={styles.dropdown}
        value={choices.find(([each]) => each === value)?.[1] ?? value}
        selectedOptions={[value]}
        onOptionSelect={(_, { optionValue }) => onChange(optionValue ?? "")}
      >
        {choices.map(([each, words]) => (
          <Option key={each} value={each} text={words}>
            {words}
          </Option>
        ))}
      </Dropdown>
    </Framed>
  );
}

export function SwitchField({
  label,
  value,
  onChange,
  ...field
}: FieldProps & { readonly value: boolean; readonly onChange: (value: boolean) => void }) {
  return (
    <Framed {...field} value={value}>
      <Switch label={label} checked={value} onChange={(_, { checked }) => onChange(checked)} />
    </Framed>
  );
}

/** Fields side by side, if there is room. */
export function FieldRow({ children }: { readonly children: ReactNode }) {
  return <div className={useStyles().row}>{children}</div>;
}

export function FieldGroup({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  return (
    <fieldset className={styles.group}>
      <legend className={styles.legend}>{title}</legend>
      <div className={styles.fields}>{children}</div>
    </fieldset>
  );
}

/** For what has no single field, such as a list: its error, if there is one. */
export function Fault({ path }: { readonly path: string }) {
  const styles = useStyles();
  const words = useFault(path);
  return words === undefined ? null : (
    <div role="alert" data-fault tabIndex={-1} className={styles.fault}>
      {words}
    </div>
  );
}
