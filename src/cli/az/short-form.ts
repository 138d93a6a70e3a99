// The short form in which `az` takes objects: `{deliveryMode:Queue,queue:{maxDeliveryCount:4}}`.
// Names and texts need no quotes; JSON is the same with them. Pure.

import { refuseValue } from "../../core/text/wording.ts";

/** An object or an array. Refusal: InvalidSetting, naming the option. */
export function readShortForm(text: string, option: string): object {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) return parsed;
  } catch {
    // Not JSON: then the short form.
  }
  const reader = new ShortReader(text);
  const value = reader.value();
  if (value !== undefined && typeof value === "object" && value !== null && reader.isAtEnd) {
    return value;
  }
  throw refuseValue({ field: option, value: text, allowed: "JSON, or a form such as {a:b,c:[d]}" });
}

class ShortReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#skip() === "";
  }

  /** Undefined when it is malformed. */
  value(): unknown {
    const next = this.#skip();
    if (next === "{") return this.#object();
    if (next === "[") return this.#array();
    return this.#word();
  }

  #object(): object | undefined {
    this.#at += 1;
    const members: [string, unknown][] = [];
    if (this.#take("}")) return {};
    for (;;) {
      const name = this.#name();
      if (name === undefined || !this.#take(":")) return undefined;
      const value = this.value();
      if (value === undefined) return undefined;
      members.push([name, value]);
      if (this.#take("}")) return Object.fromEntries(members);
      if (!this.#take(",")) return undefined;
    }
  }

  #array(): unknown[] | undefined {
    this.#at += 1;
    const values: unknown[] = [];
    if (this.#take("]")) return values;
    for (;;) {
      const value = this.value();
      if (value === undefined) return undefined;
      values.push(value);
      if (this.#take("]")) return values;
      if (!this.#take(",")) return undefined;
    }
  }

  #name(): string | undefined {
    return this.#quoted() ?? this.#match(/[^\s:,{}[\]'"]+/y);
  }

  /** Numbers and truth values are read as such, unless they are in quotes. */
  #word(): unknown {
    const quoted = this.#quoted();
    if (quoted !== undefined) return quoted;
    const text = this.#match(/[^,{}[\]'"]+/y)?.trim();
    if (text === undefined || text === "") return undefined;
    if (text === "null") return null;
    if (text === "true" || text === "false") return text === "true";
    return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  }

  #quoted(): string | undefined {
    this.#skip();
    return this.#match(/'(?:[^']|'')*'|"[^"]*"/y)
      ?.slice(1, -1)
      .replaceAll("''", "'");
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #take(letter: string): boolean {
    if (this.#skip() !== letter) return false;
    this.#at += 1;
    return true;
  }

  #skip(): string {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at += 1;
    return this.#text[this.#at] ?? "";
  }
}
