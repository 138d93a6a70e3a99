// What a command of the hand is: its words, its options with a sentence each, an example, and how
// to load what it does. The table of them is in commands.ts; help, completion and the reference in
// docs/cli.md are made from it.

import type { Outside } from "./client.ts";
import type { Operands, Options, ParsedOptions } from "./option.ts";

export interface Command {
  /** `topic event-subscription create` */
  readonly words: string;
  /** One sentence, for lists of commands. */
  readonly about: string;
  /** What else there is to know. */
  readonly more?: string;
  readonly operands?: Operands;
  readonly options: Options;
  /** Whole command lines. */
  readonly examples: readonly string[];
  /**
   * What it prints: a value, in the form that is asked for; or something of its own, in which case
   * only some forms are offered, or none.
   */
  readonly prints: "value" | "text" | "stream";
  /** Whether it speaks to a broker. */
  readonly isLocal?: boolean;
  /** Run by the process itself, before the options that all others take are known. */
  readonly isOfProcess?: boolean;
  readonly load: () => Promise<Run>;
}

export type Run = (given: ParsedOptions, outside: CommandOutside) => Promise<Result>;

export interface CommandOutside extends Outside {
  readonly form: Form;
  /** All there are. */
  readonly commands: readonly Command[];
}

/** A value is printed; undefined: nothing is. */
export interface Result {
  readonly value?: unknown;
  /** The rows of its table, where the usual ones would not do. */
  readonly rows?: readonly Row[];
  readonly exitCode?: number;
}

export type Row = Readonly<Record<string, string | number | boolean | null>>;

export const forms = ["table", "json", "jsonc", "tsv", "yaml", "none"] as const;
export type Form = (typeof forms)[number];
