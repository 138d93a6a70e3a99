// The columns of topics and subscriptions that people look for; `-o wide` has all that az shows.

import { addressOf } from "../../core/azure/arm-id.ts";
import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";
import { localGroup } from "../../core/topic.ts";
import type { Result, Row } from "../command.ts";
import { isInNamespace } from "../import/az-shape.ts";
import { rowOf } from "../print/output.ts";

/** Resources as listed, one or several, with their rows. */
export function shown(value: Members | readonly Members[]): Result {
  const all = Array.isArray(value) ? value : [value];
  return { value, rows: all.map(rowFor), wide: all.map(rowOf) };
}

function rowFor(listed: Members): Row {
  const group = String(listed.resourceGroup ?? "");
  const elsewhere: Row = group === localGroup.resourceGroup ? {} : { ResourceGroup: group };
  const state = String(listed.provisioningState ?? "");
  if (isInNamespace(listed.id)) {
    const { deliveryConfiguration: delivery, topicsConfiguration: topics } = listed;
    const days = listed.eventRetentionInDays;
    return {
      ...{ Name: String(listed.name), State: state },
      ...(isObject(topics) && { Host: String(topics.hostname) }),
      ...(days !== undefined && { Days: String(days) }),
      ...(isObject(delivery) && { Mode: String(delivery.deliveryMode) }),
      ...elsewhere,
    };
  }
  switch (addressOf(String(listed.id))?.kind) {
    case "topic":
    case "domain":
      return {
        ...{ Name: String(listed.name), State: state, Schema: String(listed.inputSchema ?? "") },
        ...{ Endpoint: String(listed.endpoint ?? ""), ...elsewhere },
      };
    case "subscription":
      return {
        ...{ Name: String(listed.name), Topic: topicOf(listed), State: state },
        ...{ Type: typeOf(listed), Endpoint: endpointOf(listed), ...elsewhere },
      };
    default:
      return rowOf(listed);
  }
}

function topicOf({ topic }: Members): string {
  return (
    addressOf(String(topic))?.label ??
    String(topic ?? "")
      .split("/")
      .at(-1) ??
    ""
  );
}

function destinationOf(listed: Members): Members {
  const { destination, deliveryWithResourceIdentity: withIdentity } = listed;
  if (isObject(destination)) return destination;
  return isObject(withIdentity) && isObject(withIdentity.destination)
    ? withIdentity.destination
    : {};
}

function typeOf(listed: Members): string {
  return String(destinationOf(listed).endpointType ?? "");
}

function endpointOf(listed: Members): string {
  const { endpointBaseUrl, endpointUrl, resourceId } = destinationOf(listed);
  const id = typeof resourceId === "string" ? resourceId.split("/").slice(-3).join("/") : "";
  return String(endpointBaseUrl ?? endpointUrl ?? id);
}
