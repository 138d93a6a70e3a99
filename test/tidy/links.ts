// The rule about links between pages: a relative link in Markdown leads to a file or a folder of
// the tree, and the part after # to a heading there. External addresses are not checked.

import { posix } from "node:path";
import type { Fault } from "./rules.ts";
import { lineAt, type SourceFile } from "./source.ts";

const LINK = /\]\(([^()\s]+)\)/g;

export function linkFaults(files: readonly SourceFile[]): Fault[] {
  return files.filter(({ path }) => path.endsWith(".md")).flatMap((page) => deadIn(page, files));
}

function deadIn(page: SourceFile, files: readonly SourceFile[]): Fault[] {
  const text = withoutCode(page.text);
  return [...text.matchAll(LINK)].flatMap(({ 1: link = "", index }) => {
    if (/^[a-z]+:/i.test(link)) return [];
    const [target = "", anchor] = link.split("#");
    const where = `${page.path}:${lineAt(text, index)}`;
    const path = target === "" ? page.path : posix.join(posix.dirname(page.path), target);
    const found = files.find((file) => file.path === path);
    const isFolder = files.some((file) => file.path.startsWith(`${posix.join(path)}/`));
    if (found === undefined && !isFolder) return [`${where}: there is no ${path}`];
    if (anchor === undefined || (found && anchorsOf(found.text).includes(anchor))) return [];
    return [`${where}: ${path} has no heading #${anchor}`];
  });
}

/** Blanked, so that lines stay: what is quoted as code links nowhere. */
function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, (code) => code.replaceAll(/[^\n]/g, " "));
}

/** As GitHub makes them: in lower case, without signs, with hyphens for blanks. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ +(.+)$/gm)].map(({ 1: heading = "" }) =>
    heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}
