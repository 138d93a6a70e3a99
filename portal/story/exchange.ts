// What was sent with an attempt and what came back, as the broker keeps it.

interface Exchanged {
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly body: string | null;
}

interface SentRequest extends Exchanged {
  readonly method: string;
  readonly url?: string;
  readonly bytes?: number;
}

interface CameAnswer extends Exchanged {
  readonly status: number;
}

function headerLines({ headers }: Exchanged): string {
  return headers.map(({ name, value }) => `${name}: ${value}`).join("\n");
}

export function requestText(request: SentRequest): string {
  const { method, url = "" } = request;
  return `${method} ${url}\n${headerLines(request)}\n\n${pretty(request.body ?? "")}`;
}

export function answerText(answer: CameAnswer): string {
  return `${answer.status}\n${headerLines(answer)}\n\n${pretty(answer.body ?? "")}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The same request from a shell. */
export function requestAsCurl({ method, url = "", headers, body }: SentRequest): string {
  const own = headers.filter(({ name }) => !/^(host|content-length|connection)$/i.test(name));
  const lines = own.map(({ name, value }) => `-H ${quoted(`${name}: ${value}`)}`);
  return [`curl -X ${method} ${quoted(url)}`, ...lines, `--data-binary ${quoted(body ?? "")}`].join(
    " \\\n  ",
  );
}

export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
