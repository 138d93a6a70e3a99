// Shapes of what our own API shows and takes. One value serves for all: the type in TypeScript is
// inferred from it, a request is checked by it, and the OpenAPI document is made of it. Refusals
// use the words of core/text: the field, what is allowed, what was found.
//
// In requests a member that is null counts as left out, and an unknown member is refused.

import { parseInstant } from "../text/time.ts";
import { checkMembers, nearest, refuseName, refuseValue } from "../text/wording.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Schema<T> {
  /** Completes "must be" in a refusal. */
  readonly allowed: string;
  /** The value, if it has this shape. Refusal: InvalidSetting, naming `field`. */
  check(value: unknown, field: string): T;
  /** As JSON Schema. A shape with a name goes into `components`, and a reference is answered. */
  describe(components: Record<string, JsonSchema>): JsonSchema;
  /** What a text of a query says, where it is no text. */
  read?(text: string): unknown;
}

/** A member that may be left out. */
export interface Optional<T> extends Schema<T> {
  readonly isOptional: true;
}

export type Members = Readonly<Record<string, Schema<unknown>>>;

export interface ObjectSchema<M extends Members> extends Schema<ObjectOf<M>> {
  readonly members: M;
}

/** The type of the values that have a shape. */
export type Infer<S> = S extends Schema<infer T> ? T : never;

type Show<T> = { [K in keyof T]: T[K] };
type ObjectOf<M> = Show<
  {
    readonly [K in keyof M as M[K] extends Optional<unknown> ? never : K]: Infer<M[K]>;
  } & { readonly [K in keyof M as M[K] extends Optional<unknown> ? K : never]?: Infer<M[K]> }
>;

interface Range {
  readonly min: number;
  readonly max: number;
}

/** What refusals call a request as a whole. */
export const wholeRequest = "the request";

function plain<T>(
  json: JsonSchema,
  allowed: string,
  {
    fits,
    ...more
  }: { fits(value: unknown): boolean; isSecret?: boolean } & Pick<Schema<T>, "read">,
): Schema<T> {
  return {
    allowed,
    describe: () => json,
    check(value, field) {
      if (fits(value)) return value as T;
      throw refuseValue({ field, value, allowed, secret: more.isSecret ?? false });
    },
    ...more,
  };
}

// ── Single values ─────────────────────────────────────────────────────────────────────────────

export const anything: Schema<unknown> = plain({}, "any JSON", {
  fits: (value) => value !== undefined,
});

export const text: Schema<string> = plain({ type: "string" }, "a text", {
  fits: (value) => typeof value === "string",
});

/** A file, in an answer that is no JSON. */
export const file: Schema<string> = {
  ...text,
  describe: () => ({ type: "string", format: "binary" }),
};

/** `isSecret`: refusals tell its shape alone. */
export function textOf(
  { min, max }: Range,
  { allowed, isSecret = false }: { readonly allowed?: string; readonly isSecret?: boolean } = {},
): Schema<string> {
  const json = { type: "string", minLength: min, maxLength: max };
  return plain(json, allowed ?? `a text of ${min} to ${max} characters`, {
    fits: (value) => typeof value === "string" && value.length >= min && value.length <= max,
    isSecret,
  });
}

/** ISO 8601 with its zone; ours are in UTC, with milliseconds. */
export const instant: Schema<string> = {
  allowed: "an ISO 8601 instant with its zone, such as 2030-01-01T00:00:00Z",
  describe: () => ({ type: "string", format: "date-time" }),
  check(value, field) {
    if (typeof value !== "string") throw refuseValue({ field, value, allowed: instant.allowed });
    parseInstant(value, field);
    return value;
  },
};

const readNumber = (given: string) =>
  /^\d{1,15}(\.\d{1,9})?$/.test(given) ? Number(given) : given;

export const number: Schema<number> = plain({ type: "number" }, "a number", {
  fits: Number.isFinite,
  read: readNumber,
});

export const whole: Schema<number> = plain({ type: "integer" }, "a whole number", {
  fits: Number.isInteger,
  read: readNumber,
});

/** `what`: a number of what. */
export function numberFrom({ min, max }: Range, what = "a number"): Schema<number> {
  return plain({ type: "number", minimum: min, maximum: max }, `${what} from ${min} to ${max}`, {
    fits: (value) => typeof value === "number" && value >= min && value <= max,
    read: readNumber,
  });
}

export function wholeFrom({ min, max }: Range, what = "a whole number"): Schema<number> {
  return plain({ type: "integer", minimum: min, maximum: max }, `${what} from ${min} to ${max}`, {
    fits: (value) =>
      Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    read: readNumber,
  });
}

export const truth: Schema<boolean> = plain({ type: "boolean" }, "true or false", {
  fits: (value) => typeof value === "boolean",
  read: (given) => (given === "true" ? true : given === "false" ? false : given),
});

export function words<const W extends string>(...known: readonly W[]): Schema<W> {
  const allowed =
    known.length < 2 ? known.join() : `${known.slice(0, -1).join(", ")} or ${known.at(-1)}`;
  return {
    allowed,
    describe: () => ({ type: "string", enum: known }),
    check(value, field) {
      const found = known.find((word) => word === value);
      if (found !== undefined) return found;
      throw refuseValue({
        field,
        value,
        allowed,
        meant: typeof value === "string" ? nearest(value, known) : null,
      });
    },
  };
}

// ── Put together ──────────────────────────────────────────────────────────────────────────────

/** An object whose members are not ours to know. */
export function anyObject(allowed = "an object"): Schema<Readonly<Record<string, unknown>>> {
  return plain({ type: "object" }, allowed, {
    fits: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  });
}

export function object<const M extends Members>(members: M): ObjectSchema<M> {
  const names = Object.keys(members);
  const entries = Object.entries<Schema<unknown>>(members);
  return {
    members,
    allowed: "an object",
    check(value, field) {
      const given = checkMembers(value, field, names);
      const checked: Record<string, unknown> = {};
      for (const [name, schema] of entries) {
        const each = Object.hasOwn(given, name) ? given[name] : undefined;
        if (isOptional(schema) && (each ?? null) === null) continue;
        // The members of a whole, which has a name of several words, stand alone.
        checked[name] = schema.check(each, field.includes(" ") ? name : `${field}.${name}`);
      }
      return checked as ObjectOf<M>;
    },
    describe: (components) => ({
      type: "object",
      properties: Object.fromEntries(
        entries.map(([name, schema]) => [name, schema.describe(components)]),
      ),
      required: entries.flatMap(([name, schema]) => (isOptional(schema) ? [] : [name])),
    }),
  };
}

function isOptional(schema: Schema<unknown>): boolean {
  return "isOptional" in schema;
}

export function optional<T>(schema: Schema<T>): Optional<T> {
  return { ...schema, isOptional: true };
}

export function orNull<T>(schema: Schema<T>): Schema<T | null> {
  return {
    allowed: `${schema.allowed}, or null`,
    check: (value, field) => ((value ?? null) === null ? null : schema.check(value, field)),
    describe: (components) => ({ anyOf: [schema.describe(components), { type: "null" }] }),
  };
}

/** `allowed` is for those that are bounded. In a query, its items are parted by commas. */
export function list<T>(
  items: Schema<T>,
  bounds?: Range & { readonly allowed: string },
): Schema<readonly T[]> {
  const { min = 0, max = Number.POSITIVE_INFINITY, allowed = "an array" } = bounds ?? {};
  return {
    allowed,
    check(value, field) {
      if (!Array.isArray(value) || value.length < min || value.length > max) {
        throw refuseValue({ field, value, allowed });
      }
      return value.map((item, index) => items.check(item, `${field}[${index}]`));
    },
    describe: (components) => ({
      type: "array",
      items: items.describe(components),
      ...(bounds && { minItems: min, maxItems: max }),
    }),
    read: (given) => given.split(","),
  };
}

/** One of several shapes. An object is judged by the shape that knows most of its members. */
export function oneOf<const S extends readonly Schema<unknown>[]>(
  shapes: S,
  allowed = shapes.map((shape) => shape.allowed).join(", or "),
): Schema<Infer<S[number]>> {
  return {
    allowed,
    check(value, field) {
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      const likely = isObject ? mostLike(shapes, value) : null;
      if (likely !== null) return likely.check(value, field) as Infer<S[number]>;
      const fitting = shapes.find((shape) => isFit(shape, value));
      if (fitting === undefined) throw refuseValue({ field, value, allowed });
      return fitting.check(value, field) as Infer<S[number]>;
    },
    describe: (components) => ({ oneOf: shapes.map((shape) => shape.describe(components)) }),
  };
}

function isFit(shape: Schema<unknown>, value: unknown): boolean {
  try {
    shape.check(value, "");
    return true;
  } catch {
    return false;
  }
}

/** Of shapes that know equally many, the one that fits; null: it cannot be said. */
function mostLike(shapes: readonly Schema<unknown>[], value: object): Schema<unknown> | null {
  const knownBy = (shape: Schema<unknown>) =>
    "members" in shape
      ? Object.keys(value).filter((name) => Object.hasOwn(shape.members as object, name)).length
      : 0;
  const most = Math.max(...shapes.map(knownBy));
  const likely = shapes.filter((shape) => knownBy(shape) === most);
  return likely.length === 1 ? (likely[0] ?? null) : null;
}

/** A shape among the components of the document. */
export function named<S extends Schema<unknown>>(name: string, schema: S): S {
  return {
    ...schema,
    describe(components) {
      components[name] ??= schema.describe(components);
      return { $ref: `#/components/schemas/${name}` };
    },
  };
}

export function about<S extends Schema<unknown>>(schema: S, description: string): S {
  return {
    ...schema,
    describe: (components) => ({ ...schema.describe(components), description }),
  };
}

// ── Queries ───────────────────────────────────────────────────────────────────────────────────

/** What is left empty is not asked for, as forms do it. Refusal: InvalidSetting. */
export function checkQuery<M extends Members>(
  schema: ObjectSchema<M>,
  query: Readonly<Record<string, string | undefined>>,
): ObjectOf<M> {
  const known = Object.keys(schema.members);
  const values: Record<string, unknown> = {};
  for (const [name, given = ""] of Object.entries(query)) {
    if (!known.includes(name)) throw refuseName({ what: "query parameter", name, known });
    if (given !== "") values[name] = schema.members[name]?.read?.(given) ?? given;
  }
  return schema.check(values, wholeRequest);
}
