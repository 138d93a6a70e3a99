// How the commands print that look at this machine: a table for people, JSON for programs, unless
// -o says which. The other commands have more forms; these run also where no broker can.

import { Refusal } from "./core/refusal.ts";

export type Form = "table" | "json";

/** The form, and the arguments without it. Refusal: InvalidSetting. */
export function takeForm(
  args: readonly string[],
  isTerminal: boolean,
): { readonly form: Form; readonly rest: readonly string[] } {
  const at = args.findIndex((arg) => /^(-o|--output)(=|$)/.test(arg));
  if (at === -1) return { form: isTerminal ? "table" : "json", rest: args };
  const [name = "", inline] = (args[at] ?? "").split("=", 2);
  const said = inline ?? args[at + 1];
  if (said !== "table" && said !== "json") {
    const found = said === undefined ? "is missing" : `is "${said}"`;
    throw new Refusal("InvalidSetting", `${name} must be table or json, and ${found}`);
  }
  return { form: said, rest: args.toSpliced(at, inline === undefined ? 2 : 1) };
}
