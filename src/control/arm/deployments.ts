// Deployments of templates to a resource group, as `az deployment group` asks for them: validated,
// compared, carried out, and stored. One that fails half-way leaves what it has created, as in
// Azure; deployed again, it continues from there, because unchanged resources are not written.
// Imitates https://learn.microsoft.com/rest/api/resources/deployments.
//
// *Differs:* a deployment that was interrupted by a stop of the broker is only known as failed.

import { Refusal } from "../../core/refusal.ts";
import type { Reply } from "../../core/request.ts";
import { isObject, memberOf } from "../../core/template/expression.ts";
import { isWord } from "../../core/text/compare.ts";
import { isoInstant } from "../../core/text/time.ts";
import { checkMembers, type Members, refuseValue } from "../../core/text/wording.ts";
import { topicArmId } from "../../core/topic.ts";
import { readTemplateBody, wholeBody } from "./body.ts";
import {
  callFor,
  type DeploymentBody,
  type DeploymentPlan,
  isSecret,
  planDeployment,
} from "./deployment-plan.ts";
import type { ArmContext, Call } from "./find-topic.ts";
import { findGroup, refuseNoGroup } from "./groups.ts";
import type { Ending, OperationError } from "./operations.ts";
import type { Group } from "./path.ts";
import { done, reply, replyToRefusal } from "./reply.ts";
import { dropTopic } from "./topics.ts";

/** Which deployment of which group. */
export interface Deployment {
  readonly group: Group;
  readonly name: string;
}

/** As stored. */
interface DeploymentRecord extends Group {
  readonly name: string;
  readonly isComplete: boolean;
  readonly state: "Running" | "Succeeded" | "Failed";
  readonly operationId: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Those that are not secrets. */
  readonly parameters: Members;
  readonly outputs: Members;
  readonly resources: readonly string[];
  readonly error: OperationError | null;
}

/** How a resource of the template is written: a PUT of its own. */
export type Write = (call: Call) => Promise<Reply>;

const memoKind = "deployment";
const nameRule = /^[-\w._()]{1,64}$/;
/** A template nests deeper than any resource. */
const depthMax = 100;
/** Per group; the oldest is removed. */
const recordsMax = 100;

function keyOf({ group, name }: Deployment): string {
  return `${group.subscriptionId}/${group.resourceGroup}/${name}`.toLowerCase();
}

async function recordsIn({ memos }: ArmContext, group: Group): Promise<DeploymentRecord[]> {
  const prefix = keyOf({ group, name: "" });
  return (await memos.notes(memoKind))
    .filter(({ key }) => key.startsWith(prefix))
    .map(({ record }) => record as DeploymentRecord)
    .toSorted((a, b) => b.startedAt - a.startedAt);
}

async function find(context: ArmContext, of: Deployment): Promise<DeploymentRecord | undefined> {
  const all = await recordsIn(context, of.group);
  const found = all.find(({ name }) => name.toLowerCase() === of.name.toLowerCase());
  return found && current(context, found);
}

/** A running one without an operation was interrupted by a stop of the broker. */
function current(context: ArmContext, record: DeploymentRecord): DeploymentRecord {
  const isOver = record.state !== "Running" || context.operations.isKnown(record.operationId);
  if (isOver) return record;
  const message = "The broker stopped before the deployment had ended; deploy it again.";
  return { ...record, state: "Failed", error: { code: "DeploymentFailed", message } };
}

function refuseNone({ group, name }: Deployment): Refusal {
  const words = `Deployment '${name}' in the resource group '${group.resourceGroup}'`;
  return new Refusal("NotFound", `${words} could not be found.`);
}

/** Refusal: InvalidSetting. */
function readBody({ request }: Call): DeploymentBody {
  const body = readTemplateBody(request, depthMax);
  const { properties } = checkMembers(body, wholeBody, ["properties", "location", "tags"]);
  const known = ["template", "parameters", "mode", "debugSetting", "onErrorDeployment"];
  const ignored = ["expressionEvaluationOptions", "whatIfSettings", "validationLevel"];
  const links = ["templateLink", "parametersLink"];
  const members = checkMembers(properties, "properties", [...known, ...ignored, ...links]);
  for (const name of links) {
    if ((members[name] ?? null) === null) continue;
    const target = `properties.${name}`;
    throw new Refusal("InvalidSetting", `${target} must be left out: links are not followed`, {
      target,
    });
  }
  const { template, parameters = {}, mode = "Incremental" } = members;
  if (!isObject(template)) {
    throw refuseValue({ field: "properties.template", value: template, allowed: "a template" });
  }
  const isComplete = isWord(mode, "complete");
  if (!isComplete && !isWord(mode, "incremental")) {
    const allowed = "Incremental or Complete";
    throw refuseValue({ field: "properties.mode", value: mode, allowed });
  }
  const given = isObject(parameters) ? parameters : {};
  return { template, parameters: given, isComplete };
}

async function planFor(context: ArmContext, call: Call, { group, name }: Deployment) {
  if (!nameRule.test(name)) {
    const allowed = "1 to 64 letters, digits, hyphens, dots, underscores and brackets";
    throw refuseValue({ field: "deploymentName", value: name, allowed });
  }
  if ((await findGroup(context, group)) === null) throw refuseNoGroup(group);
  const body = readBody(call);
  return { body, plan: await planDeployment(context, call, group, body) };
}

/** An error in Azure's wording, with its details. */
function wordError(error: unknown): OperationError {
  if (!(error instanceof Refusal)) throw error;
  const { code } = JSON.parse(replyToRefusal(error).body ?? "{}").error as { code: string };
  const { message, target } = error;
  return { code, message, ...(target !== undefined && { target }) };
}

export async function putDeployment(
  context: ArmContext,
  call: Call,
  of: Deployment,
  write: Write,
): Promise<Reply> {
  const old = await find(context, of);
  if (old?.state === "Running") {
    throw new Refusal("Conflict", `The deployment '${of.name}' is running; wait for its end.`);
  }
  const { body, plan } = await planFor(context, call, of);
  const startedAt = context.clock.now();
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const operationId = context.operations.start(promise);
  const running: DeploymentRecord = {
    ...of.group,
    name: old?.name ?? of.name,
    isComplete: body.isComplete,
    ...{ state: "Running", operationId, startedAt, endedAt: startedAt },
    parameters: shownParameters(body),
    outputs: {},
    resources: plan.wanted.map(({ id }) => id),
    error: null,
  };
  await keep(context, of, running);
  const carrying = carryOut(context, call, plan, write).then(async (result) => {
    const endedAt = context.clock.now();
    const state = result.error === null ? "Succeeded" : "Failed";
    await keep(context, of, { ...running, ...result, state, endedAt });
    return result.error;
  });
  carrying.then(
    (error) => resolve(error === null ? { status: "Succeeded" } : { status: "Failed", error }),
    (error: unknown) => {
      const message = "The broker's log says why.";
      context.log.fact("error", "deployment.failed", { deployment: of.name, error });
      resolve({ status: "Failed", error: { code: "InternalServerError", message } });
    },
  );
  const query = `api-version=${call.apiVersion}`;
  const status = `${call.url}/operationStatuses/${operationId}?${query}`;
  return reply(old === undefined ? 201 : 200, render(running), { "azure-asyncoperation": status });
}

/** Values of secrets are not stored, nor those that may be secrets. */
function shownParameters({ template, parameters }: DeploymentBody): Members {
  const shown = Object.entries(parameters).map(([name, given]) => {
    const type = memberOf(memberOf(template.parameters, name), "type");
    if (typeof type !== "string" || isSecret(type)) return [name, { type: type ?? "" }];
    return [name, { type, value: isObject(given) ? given.value : null }];
  });
  return Object.fromEntries(shown);
}

async function keep(context: ArmContext, of: Deployment, record: DeploymentRecord): Promise<void> {
  await context.memos.putMemo(memoKind, keyOf(of), record);
  for (const { name } of (await recordsIn(context, of.group)).slice(recordsMax)) {
    await context.memos.putMemo(memoKind, keyOf({ ...of, name }), null);
  }
}

/** One after the other; handshakes are awaited together at the end. */
async function carryOut(
  context: ArmContext,
  call: Call,
  plan: DeploymentPlan,
  write: Write,
): Promise<{ readonly error: OperationError | null; readonly outputs: Members }> {
  const details: OperationError[] = [];
  const waited: Promise<void>[] = [];
  for (const { id, body, isChanged } of plan.wanted) {
    if (!isChanged) continue;
    try {
      const written = await write(callFor(call, id, body));
      waited.push(
        endOf(context, written).then((error) => {
          if (error !== null) details.push({ ...error, target: id });
        }),
      );
    } catch (error) {
      details.push({ ...wordError(error), target: id });
    }
  }
  await Promise.all(waited);
  if (details.length === 0) for (const topic of plan.toRemove) await dropTopic(context, topic);
  if (details.length > 0) return { error: failed(details), outputs: {} };
  try {
    return { error: null, outputs: plan.outputs() };
  } catch (error) {
    return { error: failed([wordError(error)]), outputs: {} };
  }
}

function failed(details: readonly OperationError[]): OperationError {
  const [first] = details;
  const message = `At least one resource deployment operation failed. ${first?.message ?? ""}`;
  return { code: "DeploymentFailed", message: message.trim(), details };
}

/** Waits for a started write. */
async function endOf(context: ArmContext, { headers }: Reply): Promise<OperationError | null> {
  const [, id = ""] =
    /operationsStatus\/([^?]+)/.exec(headers?.["azure-asyncoperation"] ?? "") ?? [];
  const progress = await context.operations.end(id);
  return progress?.status === "Failed" ? progress.error : null;
}

function render(record: DeploymentRecord): object {
  const { subscriptionId, resourceGroup, name, state, startedAt, endedAt } = record;
  const group = `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}`;
  return {
    id: `${group}/providers/Microsoft.Resources/deployments/${name}`,
    name,
    type: "Microsoft.Resources/deployments",
    properties: {
      mode: record.isComplete ? "Complete" : "Incremental",
      provisioningState: state,
      timestamp: isoInstant(endedAt),
      duration: `PT${(endedAt - startedAt) / 1000}S`,
      correlationId: record.operationId.toLowerCase(),
      parameters: record.parameters,
      outputs: record.outputs,
      providers: [{ namespace: "Microsoft.EventGrid", resourceTypes: [] }],
      dependencies: [],
      outputResources: record.resources.map((id) => ({ id })),
      ...(record.error !== null && { error: record.error }),
    },
  };
}

export async function getDeployment(
  context: ArmContext,
  call: Call,
  of: Deployment,
): Promise<Reply> {
  const record = await find(context, of);
  const isHead = call.request.method === "HEAD";
  if (record === undefined && !isHead) throw refuseNone(of);
  if (record === undefined) return { status: 404 };
  return isHead ? done : reply(200, render(record));
}

export async function listDeployments(context: ArmContext, group: Group): Promise<Reply> {
  if ((await findGroup(context, group)) === null) throw refuseNoGroup(group);
  const all = await recordsIn(context, group);
  return reply(200, { value: all.map((record) => render(current(context, record))) });
}

/** What it has deployed stays. */
export async function removeDeployment(context: ArmContext, of: Deployment): Promise<Reply> {
  await context.memos.putMemo(memoKind, keyOf(of), null);
  return done;
}

export async function removeDeploymentsOf(context: ArmContext, group: Group): Promise<void> {
  for (const { name } of await recordsIn(context, group)) {
    await removeDeployment(context, { group, name });
  }
}

/** Its state, also if its operation is no longer known. */
export async function getStatus(
  context: ArmContext,
  of: Deployment,
  operationId: string,
): Promise<Reply> {
  const progress = await context.operations.look(operationId);
  if (progress !== null) {
    const wait: Record<string, string> =
      progress.status === "InProgress" ? { "retry-after": "1" } : {};
    return reply(200, progress, wait);
  }
  const record = await find(context, of);
  if (record === undefined) throw refuseNone(of);
  const { state, error } = record;
  return reply(200, { status: state, ...(error !== null && { error }) });
}

export async function listOperations(context: ArmContext, of: Deployment): Promise<Reply> {
  const record = await find(context, of);
  if (record === undefined) throw refuseNone(of);
  const value = record.resources.map((id, index) => ({
    id: `${(render(record) as { id: string }).id}/operations/${index}`,
    operationId: String(index),
    properties: {
      provisioningOperation: "Create",
      provisioningState: record.error?.details?.some(({ target }) => target === id)
        ? "Failed"
        : record.state,
      timestamp: isoInstant(record.endedAt),
      targetResource: {
        id,
        resourceType: /providers\/([^/]+\/[^/]+)/i.exec(id)?.[1] ?? "",
        resourceName: id.slice(id.lastIndexOf("/") + 1),
      },
    },
  }));
  return reply(200, { value });
}

/** Refuses what would be refused; nothing is written. */
export async function validateDeployment(
  context: ArmContext,
  call: Call,
  of: Deployment,
): Promise<Reply> {
  const { body, plan } = await planFor(context, call, of);
  const now = context.clock.now();
  const record: DeploymentRecord = {
    ...{ ...of.group, name: of.name, isComplete: body.isComplete, state: "Succeeded" },
    ...{ operationId: context.ids.next(), startedAt: now, endedAt: now, outputs: {}, error: null },
    parameters: shownParameters(body),
    resources: [],
  };
  const shown = render(record) as { readonly properties: object };
  const validatedResources = plan.wanted.map(({ id }) => ({ id }));
  return reply(200, { ...shown, properties: { ...shown.properties, validatedResources } });
}

export async function whatIf(context: ArmContext, call: Call, of: Deployment): Promise<Reply> {
  const { plan } = await planFor(context, call, of);
  const changes = [
    ...plan.wanted.map(({ id, before, after, isChanged }) => ({
      resourceId: id,
      changeType: before === null ? "Create" : isChanged ? "Modify" : "NoChange",
      ...(before !== null && { before }),
      after,
      ...(before !== null && isChanged && { delta: deltaOf(before, after, "") }),
    })),
    ...plan.known.map((resourceId) => ({ resourceId, changeType: "Ignore" })),
    ...plan.toRemove.map((topic) => ({ resourceId: topicArmId(topic), changeType: "Delete" })),
  ];
  return reply(200, {
    status: "Succeeded",
    properties: { correlationId: context.ids.next(), changes },
  });
}

interface Change {
  readonly path: string;
  readonly propertyChangeType: "Create" | "Delete" | "Modify";
  readonly before?: unknown;
  readonly after?: unknown;
}

/** The members that differ, each by its path. Lists are compared as a whole. */
export function deltaOf(before: unknown, after: unknown, path: string): readonly Change[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) =>
      deltaOf(before[name], after[name], path === "" ? name : `${path}.${name}`),
    );
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (before === undefined) return [{ path, propertyChangeType: "Create", after }];
  if (after === undefined) return [{ path, propertyChangeType: "Delete", before }];
  return [{ path, propertyChangeType: "Modify", before, after }];
}
