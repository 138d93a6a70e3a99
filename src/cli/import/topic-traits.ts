// What a topic or domain has beside its properties that Azure gives a meaning and Posthorn only
// keeps: without defaults, and without the ids that only Azure's directory can give.

import { isObject } from "../../core/template/expression.ts";
import type { Members } from "../../core/text/wording.ts";

export const traitNames = ["sku", "identity", "kind", "extendedLocation"] as const;

/** Nothing for what is as usual. */
export function traitsOf({ sku, identity, kind, extendedLocation }: Members): Members {
  const { type, userAssignedIdentities: users } = isObject(identity) ? identity : {};
  const ids = Object.keys(isObject(users) ? users : {});
  return {
    ...(isObject(sku) &&
      isOther(sku.name, "basic") && {
        sku: { name: sku.name, ...(sku.capacity !== undefined && { capacity: sku.capacity }) },
      }),
    ...(isOther(type, "none") && {
      identity: {
        type,
        ...(ids.length > 0 && {
          userAssignedIdentities: Object.fromEntries(ids.map((id) => [id, {}])),
        }),
      },
    }),
    ...(isOther(kind, "azure") && { kind }),
    ...(isObject(extendedLocation) && { extendedLocation }),
  };
}

function isOther(value: unknown, usual: string): boolean {
  return typeof value === "string" && value.toLowerCase() !== usual;
}

/** Where data may be kept; undefined where it is as usual. */
export function boundaryOf({ dataResidencyBoundary: value }: Members): unknown {
  return isOther(value, "withingeopair") ? value : undefined;
}
