// A backup of a running broker's store, and a link to its portal.

import type { BackupView } from "../../core/api/views.ts";
import { Refusal } from "../../core/refusal.ts";
import { openClient } from "../client.ts";
import type { Run } from "../command.ts";

/** Made on the broker's machine, downloaded and deleted there; without a file it stays there. */
export const backUp: Run = async (given, outside) => {
  const client = openClient(given, outside);
  const [file] = given.operands;
  const replaces = given.isOn("overwrite") === true;
  if (file !== undefined && !replaces && outside.exists(file)) {
    throw new Refusal("Conflict", `${file} exists already; --overwrite replaces it`);
  }
  const { body } = await client.send("POST", "/api/v1/backups");
  const taken = body as unknown as BackupView;
  if (file === undefined) return { value: taken };
  const path = `/api/v1/backups/${taken.name}`;
  await outside.save(file, await client.download(path), replaces);
  await client.send("DELETE", path);
  const { takenAt, bytes } = taken;
  return { value: { file, bytes, takenAt } };
};

export const openPortal: Run = async (given, outside) => {
  const { body } = await openClient(given, outside).send("POST", "/api/v1/links");
  outside.print(`${body.url}\n`);
  return {};
};
