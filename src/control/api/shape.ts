// Words for JSON Schema, so that a shape can be read beside the type it describes. `record<T>` has
// every member of T and no other, or it does not compile: a shape cannot fall behind its type.

export type Schema = Readonly<Record<string, unknown>>;

interface Maybe {
  readonly maybe: Schema;
}

export const text: Schema = { type: "string" };
export const instant: Schema = { type: "string", format: "date-time" };
export const whole: Schema = { type: "integer" };
export const number: Schema = { type: "number" };
export const truth: Schema = { type: "boolean" };
export const anything: Schema = {};

export function words(...allowed: readonly string[]): Schema {
  return { type: "string", enum: allowed };
}

export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: "null" }] };
}

export function list(items: Schema): Schema {
  return { type: "array", items };
}

export function oneOf(...schemas: readonly Schema[]): Schema {
  return { oneOf: schemas };
}

/** A member that may be left out. */
export function maybe(schema: Schema): Maybe {
  return { maybe: schema };
}

export function about(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

/** A schema among the components of the document. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export function page(items: Schema): Schema {
  return record<{ value: unknown; next: unknown }>({
    value: list(items),
    next: about(orNull(text), "To be given as `after` for the next page."),
  });
}

export function record<T>(
  members: {
    readonly [K in keyof T]-?: undefined extends T[K] ? Maybe | Schema : Schema;
  },
): Schema {
  const entries = Object.entries<Schema | Maybe>(members);
  const isMaybe = (schema: Schema | Maybe): schema is Maybe => "maybe" in schema;
  return {
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, schema]) => [name, isMaybe(schema) ? schema.maybe : schema]),
    ),
    required: entries.flatMap(([name, schema]) => (isMaybe(schema) ? [] : [name])),
  };
}
