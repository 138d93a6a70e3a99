// The port of `posthorn listen`, a receiver of deliveries: plain requests come in, and for each it
// is said what to do with it. Who really listens is runtime/http/receiver.ts, handed in by the
// process.

export interface Arrived {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case; of several values, all with commas between. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Response =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  /** The connection is broken off without an answer. */
  | { readonly kind: "drop" };

export interface Receiver {
  /** Where it can be reached: `http://127.0.0.1:9000`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Rejects with the system's error when the address cannot be had. */
export type OpenReceiver = (options: {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly respond: (arrived: Arrived) => Promise<Response>;
}) => Promise<Receiver>;
