// Words between brokers, as rows that the receiver takes away: on a notice, and with each
// heartbeat.

import type { Parts } from "./parts.ts";

const post = { name: "post", text: "insert into mail (to_broker, text) values ($1, $2)" };
const fetch = {
  name: "fetch_mail",
  text: "delete from mail where to_broker = $1 returning number, text",
};
const notify = { name: "notify", text: "select pg_notify('posthorn', $1)" };

export class Mail {
  readonly #parts: Pick<Parts, "database" | "self">;
  readonly #isNotifying: boolean;
  readonly #listeners: ((text: string) => void)[] = [];
  #fetching: Promise<void> = Promise.resolve();

  constructor(parts: Pick<Parts, "database" | "self">, isNotifying: boolean) {
    this.#parts = parts;
    this.#isNotifying = isNotifying;
  }

  onPost(listener: (text: string) => void): void {
    this.#listeners.push(listener);
  }

  async post(to: string, text: string): Promise<void> {
    const { database } = this.#parts;
    await database.query(post, [to, text]);
    if (this.#isNotifying) await database.query(notify, [`m${to}`]);
  }

  /** There is some; what cannot be fetched now is fetched later. */
  hear(): void {
    this.#fetching = this.#fetching.then(() => this.#fetch()).catch(() => {});
  }

  async #fetch(): Promise<void> {
    const { database, self } = this.#parts;
    const rows = await database.query(fetch, [self.broker]);
    for (const [, text] of rows.toSorted((a, b) => a[0] - b[0])) {
      for (const listener of this.#listeners) listener(text);
    }
  }
}
