// Parses the body of a request to the control plane; refusals give the position of the error.
// Ambiguous JSON (a duplicate name) is refused.

import { Refusal } from "../../core/refusal.ts";
import type { Request } from "../../core/request.ts";
import { isNestedDeeper } from "../../core/text/json.ts";
import { checkMembers, type Members, shownAs } from "../../core/text/wording.ts";

/** No resource is nearly as large. */
const depthMax = 32;
const bodyBytesMax = 1_048_576;

/** What refusals call the body as a whole. */
export const wholeBody = "the request";

/**
 * The members of the body, which is an object; of an empty body none.
 * Refusals: InputJsonInvalid, InvalidSetting, PayloadTooLarge.
 */
export function readMembers(request: Request, known: readonly string[]): Members {
  return checkMembers(readValue(request), wholeBody, known);
}

/**
 * A template, which the Azure CLI sends as its file has it: with comments, lines that end within
 * texts, and a member whose name is in no quotes. Refusals as above.
 */
export function readTemplateBody(request: Request, deepest: number): unknown {
  return readValue(request, deepest, strict);
}

const looseToken = /"[^"\\]*(?:\\.[^"\\]*)*"|\/\/[^\n]*|\/\*.*?\*\/|[A-Za-z_$][\w$]*(?=\s*:)/gs;

/** As JSON proper. */
function strict(text: string): string {
  return text.replace(looseToken, (found) => {
    if (found.startsWith("/")) return found.replace(/[^\n]/g, " ");
    if (!found.startsWith('"')) return `"${found}"`;
    return found.replaceAll("\r", "\\r").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  });
}

/** The body as JSON has it; an empty one is an empty object. Refusals as above. */
export function readValue(
  { body }: Request,
  deepest = depthMax,
  prepare = (text: string) => text,
): unknown {
  if (body.length > bodyBytesMax) {
    throw new Refusal("PayloadTooLarge", `The request has more than ${bodyBytesMax} bytes.`);
  }
  const text = prepare(decode(body));
  if (text.trim() === "") return {};
  if (isNestedDeeper(text, deepest)) {
    throw new Refusal("InputJsonInvalid", `The body is nested deeper than ${deepest} levels.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal("InputJsonInvalid", "The body is not valid JSON.");
  }
  const twin = findTwin(text);
  if (twin !== null) {
    throw new Refusal("InputJsonInvalid", `The body has the member ${shownAs(twin)} twice.`);
  }
  return value;
}

function decode(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new Refusal("InputJsonInvalid", "The body is not valid UTF-8.");
  }
}

/** Brackets, and strings with the colon that makes them names. */
const token = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/gs;

/** A duplicate name in one object of a valid text. */
function findTwin(text: string): string | null {
  const open: Set<string>[] = [];
  for (const [found, colon] of text.matchAll(token)) {
    if (found === "{" || found === "[") open.push(new Set());
    else if (found === "}" || found === "]") open.pop();
    else if (colon !== undefined) {
      const name = JSON.parse(found.slice(0, found.lastIndexOf('"') + 1)) as string;
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return null;
}
