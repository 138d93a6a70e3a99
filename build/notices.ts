// The licences of the packages that are bundled into ours, in one file.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Bundled {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly text: string;
}

/** `modules`: paths of every file that was bundled. */
export function noticesOf(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((path) => folderOf(path) ?? []));
  const byText = new Map<string, string[]>();
  const bundled = [...folders].map(read);
  for (const { name, version, license, text } of bundled.toSorted(byName)) {
    const names = byText.get(text) ?? [];
    if (!names.some((each) => each.startsWith(`${name} ${version} `))) {
      byText.set(text, [...names, `${name} ${version} (${license})`]);
    }
  }
  const parts = [...byText].map(([text, names]) => `## ${names.join(", ")}\n\n${text}\n`);
  return `# Packages that are part of Posthorn, and their licences\n\n${parts.join("\n")}`;
}

/** The package that a file belongs to: the last `node_modules/name` or `node_modules/@of/name`. */
function folderOf(path: string): string | null {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0].replace(/^\0/, "") ?? null;
}

function read(folder: string): Bundled {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name));
  const texts = files.map((name) => readFileSync(join(folder, name), "utf8").trim());
  const { name, version, license = "see its text" } = about;
  const text = texts.length > 0 ? texts.join("\n\n") : "Its package holds no text of its licence.";
  return { name, version, license, text };
}

function byName(a: Bundled, b: Bundled): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
