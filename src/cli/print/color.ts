// Colours for people at a terminal, and none for anybody else or where NO_COLOR is set.

import { styleText } from "node:util";
import type { Outside } from "../client.ts";

type Colour = "green" | "yellow" | "red" | "cyan" | "magenta" | "dim" | "bold";
export type Paint = (colour: Colour, text: string) => string;

export function isColoured({ env, isTerminal }: Pick<Outside, "env" | "isTerminal">): boolean {
  return isTerminal && (env.NO_COLOR ?? "") === "";
}

export function painter(outside: Pick<Outside, "env" | "isTerminal">): Paint {
  if (!isColoured(outside)) return (_, text) => text;
  return (colour, text) => styleText(colour, text, { validateStream: false });
}
