// The endpoints of a torture run, all on one server: a healthy one, one that fails now and then,
// and several that never answer. Each is told what it has accepted, and how often.

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Dice } from "../sim/dice.ts";

/** What is wrong with all of them at the moment. */
export type Mood = "usual" | "hang" | "cut" | "well";

export interface Endpoints {
  readonly urls: ReadonlyMap<string, string>;
  mood: Mood;
  /** How often an endpoint has accepted an event. */
  times(endpoint: string, id: string): number;
  readonly delivered: number;
  readonly repeated: number;
  close(): void;
}

const hangingCount = 10;
export const hanging: readonly string[] = Array.from(
  { length: hangingCount },
  (_, number) => `hanging-${number}`,
);
/** These get every event. */
export const answering: readonly string[] = ["healthy", "moody"];

export async function openEndpoints(dice: Dice): Promise<Endpoints> {
  const seen = new Map([...answering, ...hanging].map((name) => [name, new Map<string, number>()]));
  const left = new Set<ServerResponse>();
  let mood: Mood = "usual";
  const accept = (name: string, body: string): boolean => {
    const book = seen.get(name);
    // One of the hasty operator's.
    if (book === undefined) return true;
    if (mood !== "well") {
      if (name === "moody" && dice.isHit(0.3)) return false;
    }
    for (const { id } of JSON.parse(body) as readonly { id: string }[]) {
      book.set(id, (book.get(id) ?? 0) + 1);
    }
    return true;
  };
  const server = createServer((request, response) => {
    const name = (request.url ?? "").slice(1);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (mood === "cut") {
        request.socket.destroy();
        return;
      }
      if (mood === "hang" || (mood === "usual" && name.startsWith("hanging"))) {
        left.add(response);
        response.on("close", () => left.delete(response));
        return;
      }
      const isTaken = accept(name, Buffer.concat(chunks).toString());
      response.writeHead(isTaken ? 200 : 503).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const all = () => [...seen.values()];
  return {
    urls: new Map([...seen.keys()].map((name) => [name, `http://127.0.0.1:${port}/${name}`])),
    get mood() {
      return mood;
    },
    set mood(next: Mood) {
      mood = next;
      // Whoever still waits for an answer does not get one.
      if (next === "well") for (const response of left) response.destroy();
    },
    times: (endpoint, id) => seen.get(endpoint)?.get(id) ?? 0,
    get delivered() {
      return all().reduce((sum, book) => sum + book.size, 0);
    },
    get repeated() {
      const counts = all().flatMap((book) => [...book.values()]);
      return counts.filter((count) => count > 1).length;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
