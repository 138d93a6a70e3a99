// What people type into one box, as a search: `type:Shop.Paid state:failing 8f3c`. A word with one
// of the names below and a colon is about that; any other word is looked for in all names and ids.
// Parts of words find something; quotes keep blanks together, and `*` stands for anything.

import type { DeliveryState } from "../api/views.ts";
import { refuseValue } from "../text/wording.ts";
import type { EventQuery } from "./chronicle.ts";

const names = ["type", "subject", "topic", "subscription", "state", "id"] as const;
type Name = (typeof names)[number];

/** What a word after `state:` stands for, in lower case. */
const states: Readonly<Record<string, readonly DeliveryState[]>> = {
  waiting: ["waiting"],
  failing: ["waiting"],
  delivered: ["delivered"],
  deadlettering: ["deadLettering"],
  deadlettered: ["deadLettered"],
  dropped: ["dropped"],
  unknown: ["unknown"],
  failed: ["deadLettering", "deadLettered", "dropped"],
};

/** What the words ask for, to be joined with the rest of a query. Refusal: InvalidSetting. */
export function readSearchWords(
  text: string,
): Pick<EventQuery, Exclude<Name, "state" | "id"> | "states" | "isFailing" | "words" | "idPart"> {
  const found: { -readonly [K in keyof EventQuery]?: EventQuery[K] } = {};
  const bare: string[] = [];
  for (const { name, value } of wordsIn(text)) {
    if (name === null) bare.push(value);
    else if (name === "state") {
      const meant = states[value.toLowerCase()];
      if (meant === undefined) {
        throw refuseValue({ field: "state:", value, allowed: Object.keys(states).join(", ") });
      }
      found.states = meant;
      if (value.toLowerCase() === "failing") found.isFailing = true;
    } else if (name === "id") found.idPart = value;
    else found[name] = value.includes("*") ? value : `*${value}*`;
  }
  return { ...found, ...(bare.length > 0 && { words: bare }) };
}

interface Word {
  readonly name: Name | null;
  readonly value: string;
}

function wordsIn(text: string): Word[] {
  const found = text.matchAll(/(?:([A-Za-z]+):)?(?:"([^"]*)"?|(\S*))/g);
  return [...found].flatMap(([whole, before, quoted, plain]) => {
    const name = names.find((each) => each === before?.toLowerCase()) ?? null;
    const value = quoted ?? plain ?? "";
    // Something else with a colon, such as a URL, is one word.
    if (name === null && before !== undefined) return [{ name, value: whole.replaceAll('"', "") }];
    return value === "" ? [] : [{ name, value }];
  });
}
