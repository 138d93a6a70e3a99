// Server-sent events, parsed from text in arbitrary pieces.

export interface ServerSent {
  /** The value of `event:`; `message` without one. */
  readonly kind: string;
  readonly text: string;
}

export async function* serverSent(chunks: AsyncIterable<string>): AsyncIterable<ServerSent> {
  let rest = "";
  for await (const chunk of chunks) {
    const blocks = (rest + chunk).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const read = readBlock(block);
      if (read !== null) yield read;
    }
  }
}

/** Null for one that only keeps the connection alive. */
function readBlock(block: string): ServerSent | null {
  let kind = "message";
  const lines: string[] = [];
  for (const line of block.split("\n")) {
    const [, field = "", value = ""] = /^([^:]*):? ?([\s\S]*)$/.exec(line) ?? [];
    if (field === "event") kind = value;
    else if (field === "data") lines.push(value);
  }
  return lines.length === 0 ? null : { kind, text: lines.join("\n") };
}
