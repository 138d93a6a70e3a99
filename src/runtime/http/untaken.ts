// Answers that the system has not taken, because their clients do not read. Each may take its time
// as long as there is room for all; then those that have waited longest are closed.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../../core/ports.ts";
import { remoteOf } from "./connections.ts";

/** One of Node's responses, or the socket to which an answer was written as it is. */
type Answer = ServerResponse | Socket;

interface Wait {
  readonly bytes: number;
  readonly cut: () => void;
  readonly onClose: () => void;
}

export class Untaken {
  readonly #options: {
    readonly timeoutMs: number;
    readonly bytesMax: number;
    readonly log: Log;
  };
  /** In the order in which they came. */
  readonly #waiting = new Map<Answer, Wait>();
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
  add(answer: Answer): void {
    const { timeoutMs, bytesMax } = this.#options;
    const bytes = answer.writableLength;
    const cut = () => this.#cut(answer);
    const onClose = () => this.#forget(answer);
    this.#waiting.set(answer, { bytes, cut, onClose });
    this.#bytes += bytes;
    answer.setTimeout(timeoutMs, cut);
    answer.once("close", onClose);
    for (const [oldest] of this.#waiting) {
      if (this.#bytes <= bytesMax || oldest === answer) return;
      this.#cut(oldest);
    }
  }

  /** A socket stays when its answer has been taken. */
  taken(socket: Socket): void {
    const wait = this.#waiting.get(socket);
    if (wait === undefined) return;
    socket.setTimeout(0, wait.cut);
    socket.off("close", wait.onClose);
    this.#forget(socket);
  }

  #cut(answer: Answer): void {
    const socket = "req" in answer ? answer.req.socket : answer;
    this.#options.log.fact("info", "connection.unread", { remote: remoteOf(socket) });
    this.#forget(answer);
    socket.destroy();
  }

  #forget(answer: Answer): void {
    this.#bytes -= this.#waiting.get(answer)?.bytes ?? 0;
    this.#waiting.delete(answer);
  }
}
