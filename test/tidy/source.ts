// Reads the tree and takes a TypeScript file apart just far enough for the rules: which characters
// are code, which are comment, and what is imported. Not a parser: it knows quotes, comments,
// templates and regular expressions, and assumes text that the formatter has seen.

import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

export interface SourceFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly specifier: string;
  /** The imported file for a relative import, else null. */
  readonly path: string | null;
  readonly line: number;
  /** Gone when the types are stripped. */
  readonly isType: boolean;
}

/** Every file that is ours: what `.gitignore` names is not, and no `git` is needed to know it. */
export function readTree(root: string): SourceFile[] {
  const ignored = readFileSync(join(root, ".gitignore"), "utf8").split("\n");
  const suffixes = ignored.filter((line) => line.startsWith("*")).map((line) => line.slice(1));
  const folders = [".git", ...ignored.map((line) => line.replace(/\/$/, ""))];
  const files: SourceFile[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (folders.includes(entry.name) || suffixes.some((end) => path.endsWith(end))) continue;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) files.push({ path, text: readFileSync(join(root, path), "utf8") });
    }
  };
  visit("");
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function isCode(path: string): boolean {
  return /\.(tsx?|js|mjs)$/.test(path);
}

export function isTest(path: string): boolean {
  return path.startsWith("test/") || path.endsWith(".test.ts");
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** The text with everything blanked that is not code; offsets and lines stay. Quotes are kept. */
export function codeOf(text: string): string {
  return split(text).code;
}

/** The text with everything blanked that is not comment. */
export function commentsOf(text: string): string {
  return split(text).comments;
}

export function importsOf(file: SourceFile): Import[] {
  const code = codeOf(file.text);
  const found: Import[] = [];
  for (const pattern of IMPORTS) {
    for (const match of code.matchAll(pattern)) {
      const span = match.indices?.[1];
      const specifier = span === undefined ? "(computed)" : file.text.slice(...span);
      const path = specifier.startsWith(".")
        ? posix.join(posix.dirname(file.path), specifier)
        : null;
      const isType = /^(import|export)\s+type\b/.test(match[0]);
      found.push({ specifier, path, line: lineAt(file.text, match.index), isType });
    }
  }
  return found;
}

// Applied to masked text, in which what stands between quotes is blank.
const IMPORTS = [
  /\b(?:import|export)\b[^'"`;()]*?\bfrom\s*["']( *)["']/dg,
  /\bimport\s*["']( *)["']/dg,
  /\bimport\s*\(\s*["']( *)["']/dg,
  /\bimport\s*\((?=\s*[^\s"'])/dg,
  /\bnew URL\(\s*["']( *)["']\s*,\s*import\.meta\.url/dg,
];

/** One pass over the text. Templates hold code that holds templates, so what is open is a stack. */
function split(text: string): { code: string; comments: string } {
  const code = blank(text);
  const comments = [...code];
  const holes: number[] = [];
  let braces = 0;
  for (let at = 0, end = 0; at < text.length; at = end) {
    const one = text[at] as string;
    const two = text.slice(at, at + 2);
    end = at + 1;
    if (two === "//" || two === "/*" || (at === 0 && two === "#!")) {
      end = two === "/*" ? closing(text, at + 2, "*/") : lineEnd(text, at);
      for (let i = at; i < end; i += 1) comments[i] = text[i] as string;
      continue;
    }
    if (one === "/" && startsRegExp(code, at)) {
      end = regExpEnd(text, at + 1);
      continue;
    }
    const isHoleEnd = one === "}" && holes.at(-1) === braces;
    if (isHoleEnd) holes.pop();
    if (one === "{") braces += 1;
    if (one === "}") braces -= 1;
    if (one === '"' || one === "'") end = closing(text, at + 1, one);
    if (one === "`" || isHoleEnd) end = templateEnd(text, at + 1);
    if ((one === "`" || isHoleEnd) && text[end - 1] === "{") {
      braces += 1;
      holes.push(braces);
    }
    code[at] = one;
    code[end - 1] = text[end - 1] as string;
  }
  return { code: code.join(""), comments: comments.join("") };
}

function blank(text: string): string[] {
  return Array.from({ length: text.length }, (_, i) => (text[i] === "\n" ? "\n" : " "));
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

function closing(text: string, from: number, mark: string): number {
  for (let i = from; i < text.length; i += 1) {
    if (text[i] === "\\" && mark !== "*/") i += 1;
    else if (text.startsWith(mark, i)) return i + mark.length;
  }
  return text.length;
}

/** Just past the closing quote of a template, or past the `${` that opens code within it. */
function templateEnd(text: string, from: number): number {
  for (let i = from; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === "`") return i + 1;
    else if (text.startsWith("${", i)) return i + 2;
  }
  return text.length;
}

/** A slash divides after a value and opens a regular expression anywhere else. */
function startsRegExp(code: readonly string[], at: number): boolean {
  const before = code
    .slice(Math.max(0, at - 40), at)
    .join("")
    .trimEnd();
  if (/\b(return|typeof|case|in|of|delete|void|throw|await|yield)$/.test(before)) return true;
  return before === "" || /[^\w$)\]"'`]$/.test(before);
}

function regExpEnd(text: string, from: number): number {
  let inClass = false;
  for (let i = from; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === "\n") return i;
    else if (text[i] === "[") inClass = true;
    else if (text[i] === "]") inClass = false;
    else if (text[i] === "/" && !inClass) return i + 1;
  }
  return text.length;
}
