// Where the password of the database comes from, if it is not in the connection string.

import { readFileSync } from "node:fs";
import { Refusal } from "../../core/refusal.ts";

export interface PasswordSettings {
  readonly storePassword: string | null;
  readonly storePasswordFile: string | null;
}

/** Null: none is given. Refusal: InvalidSetting, when its file cannot be read. */
export function passwordOf(
  { storePassword, storePasswordFile }: PasswordSettings,
  env: Readonly<Record<string, string | undefined>> | undefined,
): string | null {
  if (storePasswordFile === null) return storePassword ?? env?.PGPASSWORD ?? null;
  try {
    return readFileSync(storePasswordFile, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    const { code } = error as { code?: string };
    const words = `store-password-file must be a file that can be read, and is not (${code}).`;
    throw new Refusal("InvalidSetting", words, { cause: error });
  }
}
