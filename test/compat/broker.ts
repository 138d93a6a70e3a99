// A real broker for official clients: the program itself, with topics of every schema, listening in
// plain HTTP and over TLS, and a real endpoint that gets everything they publish.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Program, startProgram } from "../fixtures/program.ts";
import { openReceiver, type Received } from "../fixtures/receiver.ts";

export interface CompatBroker {
  readonly http: string;
  readonly https: string;
  /** What clients have to trust. */
  readonly ca: string;
  readonly adminKey: string;
  readonly program: Program;
  /** What has come for a topic, once there are that many requests. */
  arrived(topic: string, count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

export const key1 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
export const key2 = "HxwdHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=";

/** Properties of a topic as a file declares them; keys and a subscription are added to each. */
export type Topics = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export async function openCompatBroker(
  topics: Topics,
  options: readonly string[] = [],
  sections: Readonly<Record<string, unknown>> = {},
): Promise<CompatBroker> {
  const ends: (() => unknown)[] = [];
  const receiver = await openReceiver({ after: (end) => void ends.push(end) });
  const folder = mkdtempSync(join(tmpdir(), "posthorn-compat-"));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, "data");
  const file = join(folder, "config.json");
  const declared = Object.entries(topics).map(([name, properties]) => {
    const endpointUrl = `${receiver.url}/${name}`;
    const destination = { endpointType: "WebHook", properties: { endpointUrl } };
    const { subscription = {}, ...rest } = properties;
    const all = { destination, ...(subscription as object) };
    return [name, { key1, key2, subscriptions: { all }, ...rest }];
  });
  writeFileSync(file, JSON.stringify({ ...sections, topics: Object.fromEntries(declared) }));
  const program = await startProgram([
    ...["--config", file, "--data", data, "--https", "127.0.0.1:0", "--handshake", "off"],
    ...options,
  ]);
  const started = program.facts.find(({ fact }) => fact === "broker.started");
  return {
    http: program.url,
    https: String(started?.https),
    ca: readFileSync(String(started?.ca), "utf8"),
    adminKey: readFileSync(join(data, "admin.key"), "utf8").trim(),
    program,
    arrived: (topic, count) => receiver.came(count, `/${topic}`),
    async close() {
      await program.end("SIGTERM");
      for (const end of ends) await end();
    },
  };
}

/** A token of the broker's own sign-in, asked for as a client does. */
export async function signIn({ http, adminKey }: CompatBroker): Promise<string> {
  const answer = await fetch(`${http}/adfs/oauth2/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_id: "app",
      client_secret: adminKey,
      scope: "https://eventgrid.azure.net/.default",
    }),
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  return access_token;
}
