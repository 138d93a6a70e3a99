// The outcome of one send, as a value. The sink reports what happened; whether that is a success is
// decided by the profile (P-1), not by the sink.

/** Why there was no answer. */
export type Silence =
  /** No answer within the profile's wait (P-2). */
  | "timeout"
  /** The connection was refused, reset or closed early. */
  | "connection"
  | "dns"
  | "tls"
  /** We aborted it ourselves, because the broker stops. */
  | "canceled";

/** A blob in its store. */
export interface Written {
  readonly container: string;
  readonly path: string;
  readonly url: string;
  readonly etag: string;
  readonly bytes: number;
}

/** What was sent and what came back, as it was on the wire; for people, and only by reference. */
export interface Exchanged {
  readonly request: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  /** The lines of the answer's head; null: there was none. */
  readonly head: string | null;
}

export type Outcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** From `Retry-After`, in milliseconds from the answer. */
      readonly retryAfterMs?: number;
      /** The first bytes of the answer, for people. */
      readonly excerpt?: string;
      /** The store's own error code: `ContainerNotFound`. */
      readonly detail?: string;
      /** Event Grid's name for it, where the status alone is not enough: `Disabled`. */
      readonly name?: string;
      /** For dead letters that were written: where they are. */
      readonly written?: Written;
      /** Of every answer that is no success, and of a success now and then. */
      readonly exchanged?: Exchanged;
    }
  | {
      readonly kind: "noReply";
      readonly why: Silence;
      /** The system's own message. */
      readonly detail?: string;
      readonly exchanged?: Exchanged;
      /** With `timeout`: the answer that came before the late limit (P-3), or null. */
      readonly late?: Promise<Outcome | null>;
    };
