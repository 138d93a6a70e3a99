// A subscription in its form: texts, converted from and to Resource Manager's shape. What is not a
// number is sent as written, so that the broker can say what is wrong.

import { type Operand, operators } from "../../src/core/routing/filter/operator.ts";
import type { OperatorType } from "../../src/core/routing/filter.ts";
import type {
  ArmAdvancedFilter,
  ArmDeadLetter,
  ArmDestination,
  ArmHeader,
  ArmSubscription,
} from "../arm.ts";

export interface HeaderDraft {
  readonly name: string;
  readonly type: "Static" | "Dynamic";
  /** The fixed value, or the path of the value in the event. */
  readonly value: string;
  readonly isSecret: boolean;
}

export interface ClauseDraft {
  readonly key: string;
  readonly operatorType: OperatorType;
  /** One value per line; a range as `1..5`. */
  readonly values: string;
}

export interface Draft {
  readonly endpointType: string;
  /** The name of a test inbox, where that is the endpoint type. */
  readonly inbox: string;
  readonly endpointUrl: string;
  readonly resourceId: string;
  readonly queueName: string;
  readonly queueTtl: string;
  readonly maxEvents: string;
  readonly batchKilobytes: string;
  readonly headers: readonly HeaderDraft[];
  readonly deliverySchema: string;
  readonly maxAttempts: string;
  readonly ttlMinutes: string;
  readonly deadLetterId: string;
  readonly deadLetterContainer: string;
  readonly labels: string;
  readonly expires: string;
  readonly eventTypes: string;
  readonly begins: string;
  readonly ends: string;
  readonly isCaseSensitive: boolean;
  readonly onArrays: boolean;
  readonly clauses: readonly ClauseDraft[];
  readonly splits: boolean;
  readonly signs: boolean;
}

export const plainDraft: Draft = {
  endpointType: "WebHook",
  inbox: "test",
  endpointUrl: "",
  resourceId: "",
  queueName: "",
  queueTtl: "",
  maxEvents: "",
  batchKilobytes: "",
  headers: [],
  deliverySchema: "",
  maxAttempts: "",
  ttlMinutes: "",
  deadLetterId: "",
  deadLetterContainer: "",
  labels: "",
  expires: "",
  eventTypes: "",
  begins: "",
  ends: "",
  isCaseSensitive: false,
  onArrays: false,
  clauses: [],
  splits: false,
  signs: false,
};

/** What the parts of the form share. */
export interface FieldsProps {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
}

/** No type of Event Grid: it becomes a webhook with the address of the inbox. */
export const inboxType = "TestInbox";

/** Which kinds of endpoint have a URL, and which a resource id. */
export function isWebHook({ endpointType }: Pick<Draft, "endpointType">): boolean {
  return endpointType.toLowerCase() === "webhook";
}

const textOf = (value: number | string | undefined | null) => value?.toString() ?? "";

export function destinationIn({ properties }: ArmSubscription): ArmDestination {
  const found = properties.destination ?? properties.deliveryWithResourceIdentity?.destination;
  if (found === undefined) throw new Error("the subscription has no destination");
  return found;
}

function deadLetterIn({ properties }: ArmSubscription): ArmDeadLetter | null {
  const { deadLetterDestination, deadLetterWithResourceIdentity } = properties;
  return deadLetterDestination ?? deadLetterWithResourceIdentity?.deadLetterDestination ?? null;
}

export function draftOf(stored: ArmSubscription): Draft {
  const { properties } = stored;
  const { filter, retryPolicy, posthorn } = properties;
  const destination = destinationIn(stored);
  const deadLetterDestination = deadLetterIn(stored);
  const to = destination.properties;
  const isPlainBatch = to.maxEventsPerBatch === 1 && to.preferredBatchSizeInKilobytes === 64;
  return {
    endpointType: destination.endpointType,
    inbox: "",
    endpointUrl: to.endpointUrl ?? "",
    resourceId: to.resourceId ?? "",
    queueName: to.queueName ?? "",
    queueTtl: textOf(to.queueMessageTimeToLiveInSeconds),
    maxEvents: isPlainBatch ? "" : textOf(to.maxEventsPerBatch),
    batchKilobytes: isPlainBatch ? "" : textOf(to.preferredBatchSizeInKilobytes),
    headers: (to.deliveryAttributeMappings ?? []).map(headerDraft),
    deliverySchema: properties.eventDeliverySchema,
    maxAttempts: textOf(retryPolicy.maxDeliveryAttempts),
    ttlMinutes: textOf(retryPolicy.eventTimeToLiveInMinutes),
    deadLetterId: deadLetterDestination?.properties.resourceId ?? "",
    deadLetterContainer: deadLetterDestination?.properties.blobContainerName ?? "",
    labels: (properties.labels ?? []).join("\n"),
    expires: properties.expirationTimeUtc ?? "",
    eventTypes: (filter.includedEventTypes ?? []).join("\n"),
    begins: filter.subjectBeginsWith ?? "",
    ends: filter.subjectEndsWith ?? "",
    isCaseSensitive: filter.isSubjectCaseSensitive ?? false,
    onArrays: filter.enableAdvancedFilteringOnArrays ?? false,
    clauses: (filter.advancedFilters ?? []).map(clauseDraft),
    splits: posthorn?.splitOnFailure ?? false,
    signs: (posthorn?.signing ?? null) !== null,
  };
}

function headerDraft({ name, type, properties }: ArmHeader): HeaderDraft {
  const isStatic = type === "Static";
  return {
    name,
    type,
    value: (isStatic ? properties.value : properties.sourceField) ?? "",
    isSecret: properties.isSecret ?? false,
  };
}

function clauseDraft({ key, operatorType, value, values }: ArmAdvancedFilter): ClauseDraft {
  const all = values ?? (value === undefined ? [] : [value]);
  const lines = all.map((each) => (Array.isArray(each) ? each.join("..") : String(each)));
  return { key, operatorType: operatorType as OperatorType, values: lines.join("\n") };
}

export function numberOr(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return Number.isNaN(Number(trimmed)) ? trimmed : Number(trimmed);
}

export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** What the form does not show is kept: identities, and settings it does not know. */
export function propertiesOf(draft: Draft, stored: ArmSubscription | null = null): object {
  const labels = linesOf(draft.labels);
  return {
    ...identified("deliveryWithResourceIdentity", stored, {
      destination: { endpointType: draft.endpointType, properties: destinationOf(draft) },
    }),
    ...identified("deadLetterWithResourceIdentity", stored, {
      deadLetterDestination: deadLetterOf(draft),
    }),
    filter: filterOf(draft),
    labels: labels.length === 0 ? null : labels,
    expirationTimeUtc: draft.expires.trim() || null,
    eventDeliverySchema: draft.deliverySchema || null,
    retryPolicy: {
      maxDeliveryAttempts: numberOr(draft.maxAttempts),
      eventTimeToLiveInMinutes: numberOr(draft.ttlMinutes),
    },
    posthorn: {
      ...stored?.properties.posthorn,
      splitOnFailure: draft.splits,
      signing: draft.signs ? {} : null,
    },
  };
}

/** Under its identity if it has one, otherwise by itself. */
function identified(
  name: "deliveryWithResourceIdentity" | "deadLetterWithResourceIdentity",
  stored: ArmSubscription | null,
  value: Readonly<Record<string, object | null>>,
): object {
  const { identity } = stored?.properties[name] ?? {};
  const isThere = Object.values(value).some((each) => each !== null);
  return identity === undefined || !isThere ? value : { [name]: { identity, ...value } };
}

function deadLetterOf({ deadLetterId, deadLetterContainer }: Draft): object | null {
  const resourceId = deadLetterId.trim();
  const blobContainerName = deadLetterContainer.trim();
  if (resourceId === "" && blobContainerName === "") return null;
  return {
    endpointType: "StorageBlob",
    properties: { resourceId, blobContainerName: blobContainerName || null },
  };
}

function destinationOf(draft: Draft): object {
  const batch = {
    maxEventsPerBatch: numberOr(draft.maxEvents),
    preferredBatchSizeInKilobytes: numberOr(draft.batchKilobytes),
  };
  const headers = draft.headers.map(({ name, type, value, isSecret }) => ({
    name,
    type,
    properties: type === "Static" ? { value, isSecret } : { sourceField: value },
  }));
  const more = { ...batch, deliveryAttributeMappings: headers };
  // A URL that is left empty does not change.
  if (isWebHook(draft)) return { endpointUrl: draft.endpointUrl.trim() || null, ...more };
  const resourceId = draft.resourceId.trim();
  if (draft.endpointType !== "StorageQueue") return { resourceId, ...more };
  return {
    resourceId,
    queueName: draft.queueName.trim() || null,
    queueMessageTimeToLiveInSeconds: numberOr(draft.queueTtl),
    ...more,
  };
}

export function filterOf(draft: Draft): object {
  const types = linesOf(draft.eventTypes);
  return {
    includedEventTypes: types.length === 0 ? null : types,
    subjectBeginsWith: draft.begins,
    subjectEndsWith: draft.ends,
    isSubjectCaseSensitive: draft.isCaseSensitive,
    enableAdvancedFilteringOnArrays: draft.onArrays,
    advancedFilters: draft.clauses.map(clauseOf),
  };
}

function clauseOf({ key, operatorType, values }: ClauseDraft): object {
  const operand = operandOf(operatorType);
  const lines = linesOf(values);
  const base = { operatorType, key: key.trim() };
  switch (operand) {
    case "none":
      return base;
    case "boolean":
      return { ...base, value: values.trim() === "true" };
    case "number":
      return { ...base, value: numberOr(values) };
    case "numbers":
      return { ...base, values: lines.map(numberOr) };
    case "ranges":
      return { ...base, values: lines.map((line) => line.split("..").map(numberOr)) };
    case "texts":
      return { ...base, values: lines };
    default:
      return operand satisfies never;
  }
}

export function operandOf(operatorType: OperatorType): Operand {
  return operators[operatorType].operand;
}
