// ARM templates, as people write them and as Bicep compiles to: which resources they contain, with
// conditions, loops, children and nested deployments. Only the identity of a resource is evaluated
// here; the rest on demand. Imitates
// https://learn.microsoft.com/azure/azure-resource-manager/templates/syntax.
//
// Deliberately absent: templates behind links, functions that a template defines, and the outputs
// of other deployments, all of which are refused.

import { Refusal } from "../refusal.ts";
import { isSameName, isWord } from "../text/compare.ts";
import type { Members } from "../text/wording.ts";
import { refuseValue, shownAs } from "../text/wording.ts";
import { type DeploymentTarget, groupId, typedPath } from "./deployment-target.ts";
import { isObject, Trouble } from "./expression.ts";
import {
  countOf,
  inLoop,
  openScope,
  type ParameterInput,
  resolveIn,
  type Scope,
  type TemplateInput,
} from "./template-scope.ts";

/** A resource of a template. */
export type Found =
  | {
      readonly kind: "resource";
      readonly id: string;
      /** The position in the file, for refusals. */
      readonly where: string;
      /** As in the file; pass it to `resolve`. */
      readonly raw: Members;
      readonly resolve: Resolve;
    }
  | {
      readonly kind: "foreign";
      readonly type: string;
      readonly name: string;
      /** Null: its name cannot be resolved. */
      readonly id: string | null;
    };

/** Evaluates a value. Refusal: InvalidSetting, naming the expression and its position. */
export type Resolve = (value: unknown, where: string) => unknown;

/** ARM's. */
const resourcesMax = 800;
const deploymentsDeepMax = 8;

/** The inputs of a template. */
export function declaredParameters({ parameters }: Members): readonly string[] {
  return Object.keys(isObject(parameters) ? parameters : {});
}

/** Refusal: InvalidSetting. */
export function readTemplate(template: Members, input: TemplateInput): readonly Found[] {
  const scope = openScope(template, input);
  const found: Found[] = [];
  walk(
    template.resources,
    { scope, target: input.place, parent: null, found, deep: 0 },
    "resources",
  );
  return found;
}

interface Walk {
  readonly scope: Scope;
  /** The target of resources, which a nested deployment may change without changing its scope. */
  readonly target: DeploymentTarget;
  readonly parent: { readonly type: string; readonly name: string } | null;
  readonly found: Found[];
  readonly deep: number;
}

/** A list, or from Bicep's newer language an object by symbolic names. */
function walk(resources: unknown, on: Walk, where: string): void {
  const all: [string, unknown][] = Array.isArray(resources)
    ? resources.map((each: unknown, index) => [`${where}[${index}]`, each])
    : Object.entries(isObject(resources) ? resources : {}).map(([name, each]) => [
        `${where}.${name}`,
        each,
      ]);
  for (const [place, resource] of all) {
    if (!isObject(resource)) {
      throw refuseValue({
        field: `${on.scope.file}: ${place}`,
        value: resource,
        allowed: "an object",
      });
    }
    const { copy } = resource;
    if (resource.existing === true) continue;
    if (!isObject(copy)) visit(resource, on, place);
    else {
      const name = typeof copy.name === "string" ? copy.name : "";
      for (const index of countOf(on.scope, copy.count, `${place}.copy.count`)) {
        visit(resource, { ...on, scope: inLoop(on.scope, name, index) }, place);
      }
    }
  }
}

function visit(resource: Members, on: Walk, where: string): void {
  const { scope, parent, found } = on;
  const resolve: Resolve = (value, at) => resolveIn(scope, value, at);
  if (
    resource.condition !== undefined &&
    !isMet(resolve(resource.condition, `${where}.condition`))
  ) {
    return;
  }
  if (typeof resource.type !== "string") {
    const field = `${scope.file}: ${where}.type`;
    throw refuseValue({ field, value: resource.type, allowed: "a type of resource" });
  }
  const isWhole = parent === null || /^[^/]+\.[^/]+\//.test(resource.type);
  const type = isWhole ? resource.type : `${parent.type}/${resource.type}`;
  if (isSameName(type, "Microsoft.Resources/deployments")) {
    visitDeployment(resource, on, where);
    return;
  }
  const own = nameOf(resource, on, { where, type });
  const name = isWhole || own === null ? own : `${parent.name}/${own}`;
  if (name === null || !isOfEventGrid(type)) {
    const id = name === null ? null : foreignId(resource, on, { where, type, name });
    const given = typeof resource.name === "string" ? resource.name : shownAs(resource.name);
    found.push({ kind: "foreign", type, name: name ?? given, id });
  } else {
    const id = idOf(resource, on, { where, type, name });
    found.push({ kind: "resource", id, where: `${scope.file}: ${where}`, raw: resource, resolve });
  }
  if (found.length > resourcesMax) {
    throw new Refusal("InvalidSetting", `${scope.file} has more than ${resourcesMax} resources`);
  }
  if (resource.resources !== undefined && name !== null) {
    walk(resource.resources, { ...on, parent: { type, name } }, `${where}.resources`);
  }
}

function isMet(value: unknown): boolean {
  return value === true || isWord(value, "true");
}

function isOfEventGrid(type: string): boolean {
  return /^Microsoft\.EventGrid\//i.test(type) || /\/providers\/eventSubscriptions$/i.test(type);
}

/** Null for a name that cannot be resolved, of a resource that is not Event Grid's. */
function nameOf(
  resource: Members,
  { scope }: Walk,
  { where, type }: { readonly where: string; readonly type: string },
): string | null {
  try {
    const name = resolveIn(scope, resource.name, `${where}.name`);
    if (typeof name === "string" && name !== "") return name;
    throw refuseValue({ field: `${scope.file}: ${where}.name`, value: name, allowed: "a name" });
  } catch (error) {
    if (error instanceof Refusal && !isOfEventGrid(type)) return null;
    throw error;
  }
}

/** Null for one that cannot be resolved, or that is not built as ids are. */
function foreignId(...given: Parameters<typeof idOf>): string | null {
  try {
    return idOf(...given);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

function idOf(
  resource: Members,
  { scope, target }: Walk,
  named: { readonly where: string; readonly type: string; readonly name: string },
): string {
  const { where, type, name } = named;
  const given =
    resource.scope === undefined ? "" : resolveIn(scope, resource.scope, `${where}.scope`);
  if (typeof given !== "string") {
    throw refuseValue({ field: `${scope.file}: ${where}.scope`, value: given, allowed: "an id" });
  }
  const group = groupId(target);
  const whole = given.startsWith("/") ? given.replace(/\/+$/, "") : `${group}/providers/${given}`;
  try {
    return `${given === "" ? group : whole}/${typedPath(type, name.split("/"))}`;
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    throw new Refusal(
      "InvalidSetting",
      `${scope.file}: ${where}.name is ${name}, and ${error.message}`,
    );
  }
}

function visitDeployment(resource: Members, on: Walk, where: string): void {
  const { scope, target, deep } = on;
  const inside = `${where}.properties`;
  const properties = isObject(resource.properties) ? resource.properties : {};
  const { template } = properties;
  if (!isObject(template) || deep >= deploymentsDeepMax) {
    const allowed = `a template of its own, at most ${deploymentsDeepMax} deep; links are not followed`;
    const field = `${scope.file}: ${inside}.template`;
    throw refuseValue({ field, value: template, allowed });
  }
  const into = (name: "subscriptionId" | "resourceGroup") => {
    const given = resolveIn(scope, resource[name] ?? target[name], `${where}.${name}`);
    if (typeof given === "string") return given;
    throw refuseValue({
      field: `${scope.file}: ${where}.${name}`,
      value: given,
      allowed: "a text",
    });
  };
  const place: DeploymentTarget = {
    subscriptionId: into("subscriptionId"),
    resourceGroup: into("resourceGroup"),
    location: target.location,
  };
  const options = properties.expressionEvaluationOptions;
  const isInner = isObject(options) && isWord(options.scope, "inner");
  const innerScope = isInner
    ? openScope(template, {
        ...{ file: `${scope.file}: ${inside}.template`, place, outside: scope.outside },
        parameters: passedOn(scope, properties.parameters, `${inside}.parameters`),
      })
    : scope;
  const next: Walk = { ...on, scope: innerScope, target: place, parent: null, deep: deep + 1 };
  walk(template.resources, next, isInner ? "resources" : `${inside}.template.resources`);
}

/** What a deployment passes to a nested one, evaluated on demand. */
function passedOn(
  scope: Scope,
  parameters: unknown,
  where: string,
): ReadonlyMap<string, ParameterInput> {
  const given = Object.entries(isObject(parameters) ? parameters : {});
  return new Map(
    given.map(([name, each]) => {
      const value = isObject(each) ? each.value : undefined;
      const resolved = (): unknown => resolveIn(scope, value, `${where}.${name}.value`);
      return [
        name,
        {
          kind: "value",
          get value() {
            return resolved();
          },
        },
      ] as const;
    }),
  );
}
