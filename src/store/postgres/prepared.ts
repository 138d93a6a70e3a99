// A prepared statement as it is sent: the driver's own asks for the columns of every answer and
// reads their description anew, which is as much work as the rest of a small one. Here that is
// asked once per connection. The driver takes such queries from others, too (pg-cursor).

import type { Row } from "./connection.ts";

/** What makes a value of each column, by the name of the statement; of one connection. */
export type Columns = Map<string, readonly Parser[]>;
type Parser = (value: string) => unknown;

export interface PreparedOptions {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly columns: Columns;
  /** By the number of the type. */
  readonly parserOf: (type: number) => Parser;
  readonly done: { resolve(rows: Row[]): void; reject(error: Error): void };
}

/** The driver's connection, as far as it is used here. */
interface Wire {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Readonly<Record<string, string>>;
  parse(statement: { name: string; text: string; types: readonly number[] }): void;
  describe(what: { type: "S"; name: string }): void;
  bind(what: {
    readonly portal: string;
    readonly statement: string;
    readonly values: readonly unknown[];
    readonly valueMapper: (value: unknown) => Buffer | string | null;
  }): void;
  execute(what: { portal: string; rows: number }): void;
  sync(): void;
}

/** The driver calls what it has to say by these names. */
export class Prepared {
  /** By these the driver notes that it is prepared. */
  readonly name: string;
  readonly text: string;
  readonly #options: PreparedOptions;
  readonly #rows: Row[] = [];

  constructor(options: PreparedOptions) {
    this.name = options.name;
    this.text = options.text;
    this.#options = options;
  }

  /** What is returned becomes its error. */
  submit(given: unknown): Error | null {
    const wire = given as Wire;
    const { name, text } = this;
    const known = wire.parsedStatements[name];
    if (known !== undefined && known !== text) {
      return new Error(`Two statements have the name '${name}'.`);
    }
    const { values, columns } = this.#options;
    // One write, however many messages.
    wire.stream.cork();
    try {
      if (known === undefined) wire.parse({ name, text, types: [] });
      if (!columns.has(name)) wire.describe({ type: "S", name });
      wire.bind({ portal: "", statement: name, values, valueMapper: sent });
      wire.execute({ portal: "", rows: 0 });
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: { fields: readonly { dataTypeID: number }[] }): void {
    const { columns, parserOf } = this.#options;
    columns.set(
      this.name,
      fields.map(({ dataTypeID }) => parserOf(dataTypeID)),
    );
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const parsers = this.#options.columns.get(this.name) ?? [];
    this.#rows.push(
      fields.map((value, place) => (value === null ? null : parsers[place]?.(value))),
    );
  }

  handleCommandComplete(): void {
    const { columns } = this.#options;
    // It answers no rows, and nothing was said of columns.
    if (!columns.has(this.name)) columns.set(this.name, []);
  }

  handleReadyForQuery(): void {
    this.#options.done.resolve(this.#rows);
  }

  handleError(error: Error): void {
    this.#options.done.reject(error);
  }
}

/** Bytes are sent as they are, everything else as text. */
function sent(value: unknown): Buffer | string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? value : String(value);
}
