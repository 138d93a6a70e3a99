// The destination of a subscription, which is in one of two members: with an identity it has one of
// its own. Of a subscription in a namespace they are inside of what says that events are sent.

import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";

const identified = "deliveryWithResourceIdentity";

const configured = "deliveryConfiguration";

function pushIn(properties: Members): Members | null {
  const { [configured]: delivery } = properties;
  return isObject(delivery) && isObject(delivery.push) ? delivery.push : null;
}

/** Null where there is none. */
export function sendingIn(properties: Members): Members | null {
  const push = pushIn(properties);
  if (push !== null) return sendingIn(push);
  if (isObject(properties.destination)) return properties.destination;
  const { [identified]: given } = properties;
  return isObject(given) && isObject(given.destination) ? given.destination : null;
}

/** The same with the destination replaced. */
export function withSending(properties: Members, destination: unknown): Members {
  const push = pushIn(properties);
  if (push !== null) {
    const delivery = properties[configured] as Members;
    return { ...properties, [configured]: { ...delivery, push: withSending(push, destination) } };
  }
  const { [identified]: given } = properties;
  if (isObject(properties.destination) || !isObject(given)) return { ...properties, destination };
  return { ...properties, [identified]: { ...given, destination } };
}

export function isWebHook({ endpointType }: Members): boolean {
  return String(endpointType).toLowerCase() === "webhook";
}
