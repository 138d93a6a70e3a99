// What many shapes of the API share: pages, refusals, headers.

import {
  about,
  anything,
  type Infer,
  instant,
  list,
  named,
  object,
  optional,
  orNull,
  type Schema,
  text,
  truth,
} from "../schema.ts";

/** ISO 8601, UTC, with milliseconds. */
export type IsoInstant = Infer<typeof instant>;

export interface Page<T> {
  readonly value: readonly T[];
  readonly next: string | null;
}

export interface SearchPage<T> extends Page<T> {
  readonly searchedTo: string | null;
}

export function page<T>(items: Schema<T>): Schema<Page<T>> {
  return object({
    value: list(items),
    next: about(orNull(text), "To be given as `after` for the next page; null: it was the last."),
  });
}

export interface ChangesPage<T> extends Page<T> {
  readonly revision: string;
  readonly isWhole: boolean;
  readonly gone: readonly string[];
}

/** A list that answers what has changed since a revision. */
export function changesPage<T>(items: Schema<T>, key: string): Schema<ChangesPage<T>> {
  return object({
    value: list(items),
    next: orNull(text),
    revision: about(text, "To be given as `since`, for what has changed from then on."),
    isWhole: about(truth, "Whether all are there; otherwise only those that have changed."),
    gone: about(list(text), `Of those that are there no longer: their ${key}.`),
  });
}

/** A page of a search that looks through so much at a time. */
export function searchPage<T>(items: Schema<T>): Schema<SearchPage<T>> {
  return object({
    value: list(items),
    next: about(
      orNull(text),
      "To be given as `after` to go on; null: all was searched. A page may be empty and have one.",
    ),
    searchedTo: about(orNull(instant), "How far back was searched; null: to the very beginning."),
  });
}

/** Every refusal, in the shape of Azure Resource Manager's. */
export const ErrorView = named(
  "Error",
  object({
    error: object({
      code: text,
      message: text,
      target: optional(about(text, "The member at fault.")),
      details: optional(list(anything)),
    }),
  }),
);

export const HeaderView = object({ name: text, value: text });
