// Answers that the system has not taken, because their clients do not read. Each may take its time
// as long as there is room for all; then those that have waited longest are closed.

import type { ServerResponse } from "node:http";
import type { Log } from "../../core/ports.ts";
import { remoteOf } from "./connections.ts";

export class Untaken {
  readonly #options: {
    readonly timeoutMs: number;
    readonly bytesMax: number;
    readonly log: Log;
  };
  /** In the order in which they came, with their bytes. */
  readonly #waiting = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(options: {
    /** How long a client may read nothing of an answer. */
    readonly timeoutMs: number;
    /** Over all connections. */
    readonly bytesMax: number;
    readonly log: Log;
  }) {
    this.#options = options;
  }

  /** Called when the whole answer has been written, or as much as is in memory at once. */
  add(response: ServerResponse): void {
    const { timeoutMs, bytesMax } = this.#options;
    const bytes = response.writableLength;
    this.#waiting.set(response, bytes);
    this.#bytes += bytes;
    response.once("close", () => this.#forget(response));
    response.setTimeout(timeoutMs, () => this.#cut(response));
    for (const [oldest] of this.#waiting) {
      if (this.#bytes <= bytesMax || oldest === response) return;
      this.#cut(oldest);
    }
  }

  #cut(response: ServerResponse): void {
    const { socket } = response.req;
    this.#options.log.fact("info", "connection.unread", { remote: remoteOf(socket) });
    this.#forget(response);
    socket.destroy();
  }

  #forget(response: ServerResponse): void {
    this.#bytes -= this.#waiting.get(response) ?? 0;
    this.#waiting.delete(response);
  }
}
