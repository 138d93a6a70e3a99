// The port of `posthorn listen`, a receiver of deliveries: plain requests come in, and each gets
// its reply. The listener itself is runtime/http/receiver.ts.

export interface Arrived {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case; several values are joined with commas. */
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
  /** The connection is closed without an answer. */
  | { readonly kind: "drop" };

export interface Receiver {
  /** Where it can be reached: `http://127.0.0.1:9000`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Rejects with the system's error when the address cannot be used. */
export type OpenReceiver = (options: {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly respond: (arrived: Arrived) => Promise<Response>;
}) => Promise<Receiver>;
