// The topics' own ports: each opened when a topic has it, and closed when it no longer does. They
// are for clients that keep only host and port of an address.
//
// A port that cannot be opened is logged and tried again with the next change of any topic; the
// broker works without it. One pass at a time, and what changed meanwhile waits for the next.

import type { Log } from "../../core/ports.ts";
import type { Identity } from "./connections.ts";
import type { Listener } from "./listener.ts";

export interface OwnPort {
  readonly topic: string;
  readonly port: number;
}

export class TopicPorts {
  readonly #open: (own: OwnPort) => Promise<Listener>;
  readonly #log: Log;
  readonly #listeners = new Map<string, Listener>();
  #wanted: readonly OwnPort[] = [];
  #pass: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(deps: {
    readonly open: (own: OwnPort) => Promise<Listener>;
    readonly log: Log;
  }) {
    this.#open = deps.open;
    this.#log = deps.log;
  }

  /**
   * From now on exactly these ports are wanted. Resolves when each is open or its failure is
   * logged.
   */
  async sync(wanted: readonly OwnPort[]): Promise<void> {
    if (this.#isClosed) return;
    this.#wanted = wanted;
    this.#pass = this.#pass.then(() => this.#settle());
    await this.#pass;
  }

  /** The certificate for TLS connections from now on. */
  present(identity: Identity): void {
    for (const listener of this.#listeners.values()) listener.present(identity);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wanted = [];
    this.#pass = this.#pass.then(() => this.#settle());
    await this.#pass;
  }

  async #settle(): Promise<void> {
    const wanted = new Map(this.#wanted.map((own) => [nameOf(own), own]));
    const unwanted = [...this.#listeners].filter(([name]) => !wanted.has(name));
    // A port may move from one topic to another, so it is closed first.
    await Promise.all(unwanted.map(([name, listener]) => this.#letGo(name, listener)));
    for (const [name, own] of wanted) if (!this.#listeners.has(name)) await this.#take(name, own);
  }

  async #letGo(name: string, listener: Listener): Promise<void> {
    this.#listeners.delete(name);
    await listener.close();
  }

  async #take(name: string, own: OwnPort): Promise<void> {
    try {
      const listener = await this.#open(own);
      this.#listeners.set(name, listener);
      const { port } = listener;
      this.#log.fact("info", "topic.portOpened", { topic: own.topic, port, url: listener.url });
    } catch (error) {
      this.#log.fact("error", "topic.portFailed", { ...own, error: String(error) });
    }
  }
}

function nameOf({ topic, port }: OwnPort): string {
  return `${port} ${topic}`;
}
