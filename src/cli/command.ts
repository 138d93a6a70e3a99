// What a command is: its words, its options with a sentence each, examples, and how to load its
// implementation. The table of them is in commands.ts; help, completion and the reference in
// docs/cli.md are made from it.

import type { Outside } from "./client.ts";
import type { Operands, Options, ParsedOptions } from "./option.ts";

export interface Command {
  /** `topic event-subscription create` */
  readonly words: string;
  /** One sentence, for lists of commands. */
  readonly about: string;
  /** More about it. */
  readonly more?: string;
  readonly operands?: Operands;
  readonly options: Options;
  /** Whole command lines. */
  readonly examples: readonly string[];
  /**
   * What it prints: a value, in the requested format; or something of its own, with only some
   * formats or none.
   */
  readonly prints: "value" | "text" | "stream";
  /** Whether it talks to a broker. */
  readonly isLocal?: boolean;
  /** Run by the process itself, before the common options are read. */
  readonly isOfProcess?: boolean;
  readonly load: () => Promise<Run>;
}

export type Run = (given: ParsedOptions, outside: CommandOutside) => Promise<Result>;

export interface CommandOutside extends Outside {
  readonly form: Form;
  /** All commands. */
  readonly commands: readonly Command[];
}

/** A value is printed; undefined: nothing is. */
export interface Result {
  readonly value?: unknown;
  /** The rows of its table, if the usual ones are not suitable. */
  readonly rows?: readonly Row[];
  /** All there is, for `-o wide`. Default: those rows. */
  readonly wide?: readonly Row[];
  readonly exitCode?: number;
}

export type Row = Readonly<Record<string, string | number | boolean | null>>;

export const forms = ["table", "wide", "json", "jsonc", "tsv", "yaml", "none"] as const;
export type Form = (typeof forms)[number];
