// What a setting is: its name, how it is read, its default and a sentence for the operator. The
// settings themselves are in settings.ts, and those of the IoT Edge module in
// edge/environment-keys.ts.

import type { Kind } from "../core/text/setting-kinds.ts";

export interface Setting<T> {
  /** As an option, after two dashes, and as a key of the file. */
  readonly name: string;
  readonly env: string;
  readonly kind: Kind<T>;
  /** As it would be written; null: not set. */
  readonly default: string | null;
  readonly example: string;
  /** For the operator, in a sentence or two. */
  readonly about: string;
  /** Never shown. */
  readonly isSecret: boolean;
  /** How it is shown, where a part of it is a secret. */
  readonly show?: (text: string) => string;
  /** May be given several times. */
  readonly isList: boolean;
  /** Where it may be given besides the environment. */
  readonly isOption: boolean;
  readonly isKey: boolean;
}

type SettingInput<T, D extends string | null> = Pick<
  Setting<T>,
  "name" | "kind" | "example" | "about"
> &
  Partial<Setting<T>> & { readonly default: D };

export function setting<T, D extends string | null>(
  given: SettingInput<T, D>,
): Setting<D extends null ? T | null : T>;
export function setting<T>(given: SettingInput<T, string | null>): Setting<T> {
  return {
    env: `POSTHORN_${given.name.toUpperCase().replaceAll("-", "_")}`,
    isSecret: false,
    isList: false,
    isOption: true,
    isKey: true,
    ...given,
  };
}
