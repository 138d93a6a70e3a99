// The expressions of ARM templates: the text between `[` and `]`, parsed into a tree and evaluated
// in a scope. The functions are in functions.ts. Imitates
// https://learn.microsoft.com/azure/azure-resource-manager/templates/template-expressions.
//
// What cannot be evaluated throws a Trouble with the reason; the caller, which knows the position
// in the template, makes it a refusal.

/** Why an expression has no value; completes "cannot be resolved:". */
export class Trouble extends Error {
  override readonly name = "Trouble";
}

export type Expression =
  | { readonly kind: "literal"; readonly value: string | number }
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Expression[] }
  | {
      readonly kind: "member";
      readonly of: Expression;
      readonly name: Expression;
      /** After `.?` a member may be missing. */
      readonly isOptional: boolean;
    };

/** ARM's. */
const expressionCharactersMax = 24_576;
const depthMax = 64;

/** The text between the brackets, or null for plain text. */
export function expressionIn(text: string): string | null {
  const isExpression = text.startsWith("[") && text.endsWith("]") && !text.startsWith("[[");
  return isExpression ? text.slice(1, -1) : null;
}

/** Plain text without its escape. */
export function unescapeText(text: string): string {
  return text.startsWith("[[") && text.endsWith("]") ? text.slice(1) : text;
}

/** Escapes plain text, so that it is not read as an expression. */
export function escapeText(text: string): string {
  return text.startsWith("[") && text.endsWith("]") ? `[${text}` : text;
}

/** Texts with their quotes, numbers, names with their dots, and single characters. */
const token = /\s*('(?:[^']|'')*'|-?\d+(?:\.\d+)?|[A-Za-z_][\w]*|\.\?|[().,[\]]|\S)/gy;

interface Reader {
  readonly tokens: readonly string[];
  place: number;
  depth: number;
}

/** Throws Trouble. */
export function parseExpression(text: string): Expression {
  if (text.length > expressionCharactersMax) {
    throw new Trouble(`it has more than ${expressionCharactersMax} characters`);
  }
  const tokens = [...text.matchAll(token)].map(([, found = ""]) => found);
  const reader: Reader = { tokens, place: 0, depth: 0 };
  const expression = readExpression(reader);
  const rest = tokens[reader.place];
  if (rest !== undefined) throw new Trouble(`${rest} is not expected there`);
  return expression;
}

function readExpression(reader: Reader): Expression {
  reader.depth += 1;
  if (reader.depth > depthMax) throw new Trouble(`it is nested deeper than ${depthMax} levels`);
  let expression = readPrimary(reader);
  for (;;) {
    const sign = reader.tokens[reader.place];
    if (sign === "." || sign === ".?") {
      const value = take(reader, 1);
      if (!/^[A-Za-z_]\w*$/.test(value)) throw new Trouble(`a name is missing after ${sign}`);
      const name = { kind: "literal", value } as const;
      expression = { kind: "member", of: expression, name, isOptional: sign === ".?" };
    } else if (sign === "[") {
      reader.place += 1;
      const name = readExpression(reader);
      need(reader, "]");
      expression = { kind: "member", of: expression, name, isOptional: false };
    } else break;
  }
  reader.depth -= 1;
  return expression;
}

function readPrimary(reader: Reader): Expression {
  const first = take(reader, 0);
  if (first.startsWith("'") && first.length > 1) {
    return { kind: "literal", value: first.slice(1, -1).replaceAll("''", "'") };
  }
  if (/^-?\d/.test(first)) return { kind: "literal", value: Number(first) };
  if (!/^[A-Za-z_]/.test(first)) throw new Trouble(`${first} is not expected there`);
  let name = first;
  // Functions that a template defines have a namespace.
  while (reader.tokens[reader.place] === ".") name += `.${take(reader, 1)}`;
  need(reader, "(");
  const args: Expression[] = [];
  if (reader.tokens[reader.place] !== ")") {
    args.push(readExpression(reader));
    while (reader.tokens[reader.place] === ",") {
      reader.place += 1;
      args.push(readExpression(reader));
    }
  }
  need(reader, ")");
  return { kind: "call", name, args };
}

/** The token at this offset. */
function take(reader: Reader, skipped: number): string {
  reader.place += skipped;
  const found = reader.tokens[reader.place];
  if (found === undefined) throw new Trouble("it ends too early");
  reader.place += 1;
  return found;
}

function need(reader: Reader, sign: string): void {
  if (take(reader, 0) !== sign) throw new Trouble(`${sign} is missing`);
}

/** Calls a function with its arguments, each evaluated on demand. */
export type Call = (name: string, args: readonly (() => unknown)[]) => unknown;

/** Throws Trouble, or what `call` throws. */
export function evaluate(expression: Expression, call: Call): unknown {
  switch (expression.kind) {
    case "literal":
      return expression.value;
    case "call":
      return call(
        expression.name,
        expression.args.map((arg) => () => evaluate(arg, call)),
      );
    case "member": {
      const of = evaluate(expression.of, call);
      const name = evaluate(expression.name, call);
      const found = memberOf(of, name);
      if (found !== undefined || expression.isOptional) return found ?? null;
      throw new Trouble(`there is no ${JSON.stringify(name)} in ${kindOf(of)}`);
    }
    default:
      return expression satisfies never;
  }
}

/** A member of an object, case-insensitive as in ARM, or of a list by index. Undefined: missing. */
export function memberOf(of: unknown, name: unknown): unknown {
  if (Array.isArray(of)) return typeof name === "number" ? (of.at(name) as unknown) : undefined;
  if (!isObject(of) || typeof name !== "string") return undefined;
  if (Object.hasOwn(of, name)) return of[name];
  const key = Object.keys(of).find((each) => each.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : of[key];
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return value === null ? "null" : typeof value === "object" ? "that object" : `a ${typeof value}`;
}
