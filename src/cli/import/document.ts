// The resources in a file to import: those of a template, or those listed by the Azure CLI or the
// REST API. Files may have comments, as templates often do.

import { Refusal } from "../../core/refusal.ts";
import { isObject } from "../../core/template/expression.ts";
import { type Found, readTemplate } from "../../core/template/template.ts";
import type { ParameterInput, TemplateInput } from "../../core/template/template-scope.ts";
import { isNestedDeeper } from "../../core/text/json.ts";
import type { Members } from "../../core/text/wording.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { idOfListed, toResource } from "./az-shape.ts";

const depthMax = 100;
const charactersMax = 16_777_216;

/** Refusal: InvalidSetting, which gives the position and never repeats the text. */
export function parseDocument(text: string, file: string): unknown {
  const refuse = (why: string) => new Refusal("InvalidSetting", `${file} ${why}`);
  if (text.length > charactersMax) throw refuse(`has more than ${charactersMax} characters`);
  if (/\.bicep(param)?$/i.test(file)) {
    throw refuse("is Bicep: compile it with `az bicep build`, and import what comes out");
  }
  const bare = withoutComments(text.replace(/^\uFEFF/, ""));
  if (isNestedDeeper(bare, depthMax)) throw refuse(`is nested deeper than ${depthMax} levels`);
  try {
    return JSON.parse(bare) as unknown;
  } catch {
    throw refuse("is not JSON");
  }
}

/** Comments become blanks, so that positions stay the same. */
function withoutComments(text: string): string {
  const form = /"[^"\\]*(?:\\.[^"\\]*)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  return text.replace(form, (found) =>
    found.startsWith('"') ? found : found.replace(/[^\n]/g, " "),
  );
}

export function isTemplate(document: unknown): document is Members {
  return isObject(document) && "resources" in document && document.id === undefined;
}

/** Refusal: InvalidSetting. */
export function readDocument(document: unknown, input: TemplateInput): readonly Found[] {
  if (isTemplate(document)) return readTemplate(document, input);
  const { file } = input;
  const [field, listed] = listIn(document, file);
  return listed.map((each, index) => {
    const where = `${field}[${index}]`;
    const id = isObject(each) ? idOfListed(each) : null;
    if (!isObject(each) || id === null) {
      const allowed = "a topic, a domain or an event subscription with its id";
      throw refuseValue({ field: where, value: each, allowed });
    }
    return { kind: "resource", id, where, raw: toResource(each), resolve: (value) => value };
  });
}

/** A list, the page of a list, or a single resource. */
function listIn(document: unknown, file: string): [string, readonly unknown[]] {
  if (Array.isArray(document)) return [file, document];
  if (isObject(document) && Array.isArray(document.value))
    return [`${file}: value`, document.value];
  if (isObject(document) && typeof document.id === "string") return [file, [document]];
  const allowed = "an ARM template, or a list of topics, domains or event subscriptions";
  throw refuseValue({ field: file, value: document, allowed });
}

/**
 * The value of `--parameters`: `name=value`, or a file with the parameters of a deployment.
 * Refusal: InvalidSetting.
 */
export function readParameters(
  given: readonly string[],
  readFile: (path: string) => string,
): ReadonlyMap<string, ParameterInput> {
  const parameters = new Map<string, ParameterInput>();
  for (const one of given) {
    const [, name, text] = /^([A-Za-z_][\w-]*)=([\s\S]*)$/.exec(one) ?? [];
    if (name !== undefined && text !== undefined) parameters.set(name, { kind: "text", text });
    else {
      const file = one.replace(/^@/, "");
      for (const [key, value] of parametersIn(parseDocument(readFile(file), file), file)) {
        parameters.set(key, value);
      }
    }
  }
  return parameters;
}

function parametersIn(document: unknown, file: string): [string, ParameterInput][] {
  const within = isObject(document) ? (document.parameters ?? document) : null;
  if (!isObject(within)) {
    throw refuseValue({ field: file, value: document, allowed: "a file of parameters" });
  }
  const entries = Object.entries(within).filter(
    ([name]) => !/^(\$schema|contentVersion)$/.test(name),
  );
  return entries.map(([name, each]) => {
    if (isObject(each) && "value" in each) return [name, { kind: "value", value: each.value }];
    const allowed = "an object with a value (a reference to a vault is known to Azure alone)";
    throw refuseValue({ field: `${file}: parameters.${name}`, value: each, allowed });
  });
}
