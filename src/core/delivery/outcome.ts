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
    }
  | {
      readonly kind: "noReply";
      readonly why: Silence;
      /** The system's own message. */
      readonly detail?: string;
      /** With `timeout`: the answer that came before the late limit (P-3), or null. */
      readonly late?: Promise<Outcome | null>;
    };
