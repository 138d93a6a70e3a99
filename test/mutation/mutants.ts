// Small faults to put into a file, one at a time: a condition that is always true or never, a
// comparison or an operator that is another one, a statement that is not there. Each is a piece of
// the text and what to put in its place. Tests that notice none of this prove little.

import { parseAst } from "vite";

export interface Mutant {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const swaps: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&&": "||",
  "||": "&&",
  "??": "&&",
  "+=": "-=",
  "-=": "+=",
  "++": "--",
  "--": "++",
};

const methods: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  startsWith: "endsWith",
  endsWith: "startsWith",
  toLowerCase: "toUpperCase",
  push: "unshift",
};

/** What is never looked into. `as` and `satisfies` stand around values. */
const skipped = /^(TS(?!AsExpression|SatisfiesExpression|NonNullExpression)|Import)/;

export function mutantsOf(source: string): readonly Mutant[] {
  const found: Mutant[] = [];
  visit(parseAst(source, { lang: "ts" }) as unknown as Node, source, found);
  return found.filter(({ start, end, text }) =>
    canBeParsed(source.slice(0, start) + text + source.slice(end)),
  );
}

/** `??` beside another logical operator is not allowed. */
function canBeParsed(source: string): boolean {
  try {
    parseAst(source, { lang: "ts" });
    return true;
  } catch {
    return false;
  }
}

function visit(node: Node, source: string, found: Mutant[]): void {
  if (skipped.test(node.type)) return;
  found.push(...mutantsAt(node, source));
  for (const child of Object.values(node)) {
    for (const each of Array.isArray(child) ? child : [child]) {
      if (isNode(each)) visit(each, source, found);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function mutantsAt(node: Node, source: string): readonly Mutant[] {
  const replace = (piece: Node, text: string) => ({ start: piece.start, end: piece.end, text });
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression":
      return swapBetween(node, node.left as Node, node.right as Node, source);
    case "UpdateExpression":
      return swapOperator(node, node.start, node.end, source);
    case "UnaryExpression":
      return node.operator === "!" || node.operator === "-"
        ? [replace(node, source.slice((node.argument as Node).start, (node.argument as Node).end))]
        : [];
    case "IfStatement":
    case "ConditionalExpression":
      return [replace(node.test as Node, "true"), replace(node.test as Node, "false")];
    case "WhileStatement":
      return [replace(node.test as Node, "false")];
    case "ExpressionStatement":
      return "directive" in node && node.directive ? [] : [replace(node, ";")];
    case "ContinueStatement":
    case "BreakStatement":
      return [replace(node, ";")];
    case "ReturnStatement":
      return node.argument === null ? [replace(node, ";")] : [];
    case "ThrowStatement":
      return [replace(node, ";")];
    case "Literal":
      if (typeof node.value === "boolean") return [replace(node, String(!node.value))];
      return typeof node.value === "number" ? [replace(node, String(node.value + 1))] : [];
    case "MemberExpression": {
      const property = node.property as Node;
      const other = methods[String(property.name)];
      return node.computed || other === undefined ? [] : [replace(property, other)];
    }
    default:
      return [];
  }
}

function swapBetween(node: Node, left: Node, right: Node, source: string): readonly Mutant[] {
  return swapOperator(node, left.end, right.start, source);
}

/** The operator is searched for between its operands, where nothing else is but space. */
function swapOperator(node: Node, from: number, until: number, source: string): readonly Mutant[] {
  const operator = String(node.operator);
  const other = swaps[operator];
  const start = source.indexOf(operator, from);
  if (other === undefined || start < 0 || start >= until) return [];
  return [{ start, end: start + operator.length, text: other }];
}
