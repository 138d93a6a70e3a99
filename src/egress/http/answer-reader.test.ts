import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type AnswerHead,
  AnswerReader,
  BadAnswer,
  HeadMemory,
  headersIn,
} from "./answer-reader.ts";

interface Read {
  readonly status: number | null;
  readonly retryAfter: string | undefined;
  readonly body: string;
  readonly isOver: boolean;
  readonly mayReuse: boolean;
}

/** What is made of an answer that comes in these pieces; `isClosed`: and then the peer closes. */
function readIn(
  pieces: readonly string[],
  isClosed = false,
  memory = new HeadMemory(),
): Read | "bad" {
  let head: AnswerHead | null = null;
  let body = "";
  const listener = {
    onHead: (given: AnswerHead) => {
      assert.equal(head, null, "one head");
      head = given;
    },
    onData: (chunk: Buffer) => {
      assert.notEqual(chunk.length, 0);
      body += chunk.toString("latin1");
    },
  };
  const reader = new AnswerReader(listener, memory);
  try {
    for (const piece of pieces) {
      if (piece !== "") reader.read(Buffer.from(piece, "latin1"));
      if (reader.isOver) break;
    }
  } catch (error) {
    assert.ok(error instanceof BadAnswer);
    return "bad";
  }
  if (isClosed) reader.end();
  const { isOver, mayReuse } = reader;
  const known = head as AnswerHead | null;
  const { status = null, retryAfter } = known ?? {};
  return { status, retryAfter, body, isOver, mayReuse };
}

/** The same text, cut at these places. */
function cut(text: string, places: readonly number[]): string[] {
  const ends = [0, ...places.toSorted((a, b) => a - b), text.length];
  return ends.slice(1).map((end, index) => text.slice(ends[index], end));
}

const answers: readonly [what: string, text: string, isClosed: boolean, read: Partial<Read>][] = [
  ["no body", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false, { mayReuse: true }],
  ["no reason", "HTTP/1.1 202\r\nContent-Length:0\r\n\r\n", false, { status: 202, mayReuse: true }],
  [
    "a length",
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    false,
    { body: "hello", mayReuse: true },
  ],
  [
    "the same length twice",
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok",
    false,
    { body: "ok", mayReuse: true },
  ],
  [
    "chunks, with an extension and a trailer",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nx: y\r\n\r\n",
    false,
    { body: "abc0123456789", mayReuse: true },
  ],
  [
    "chunks and a length",
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    false,
    { body: "a", mayReuse: false },
  ],
  [
    "another coding, until the end",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nabc",
    true,
    { body: "abc", mayReuse: false },
  ],
  ["until the end", "HTTP/1.1 200 OK\r\n\r\nabc", true, { body: "abc", mayReuse: false }],
  ["nothing until the end", "HTTP/1.1 500 Oh\r\n\r\n", true, { status: 500, mayReuse: false }],
  ["204", "HTTP/1.1 204 No Content\r\n\r\n", false, { status: 204, mayReuse: true }],
  [
    "304 with the length of what is not sent",
    "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n",
    false,
    { status: 304, mayReuse: true },
  ],
  [
    "a close",
    "HTTP/1.1 200 OK\r\nConnection: Close\r\ncontent-length: 0\r\n\r\n",
    false,
    { mayReuse: false },
  ],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", false, { mayReuse: false }],
  [
    "HTTP/1.0 that stays",
    "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n",
    false,
    { mayReuse: true },
  ],
  [
    "answers before the answer",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    false,
    { mayReuse: true },
  ],
  [
    "Retry-After",
    "HTTP/1.1 503 Busy\r\nRetry-After:  120 \r\ncontent-length: 0\r\n\r\n",
    false,
    { status: 503, retryAfter: "120", mayReuse: true },
  ],
];

for (const [what, text, isClosed, read] of answers) {
  test(`an answer with ${what} is read the same in whatever pieces it comes (D-5)`, () => {
    const whole = { status: 200, retryAfter: undefined, body: "", isOver: true, ...read };
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (places) => {
        assert.deepEqual(readIn(cut(text, places), isClosed), whole);
      }),
    );
    assert.deepEqual(readIn([...text], isClosed), whole, "byte by byte");
  });
}

test("what comes after an answer ends the use of its connection", () => {
  const read = readIn(["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200"]);
  assert.deepEqual(read !== "bad" && [read.body, read.isOver, read.mayReuse], ["ok", true, false]);
});

test("an answer that is not all there is not over", () => {
  const texts = [
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
    "HTTP/1.1 200 OK\r\ncontent-le",
  ];
  for (const text of texts) {
    const read = readIn([text], true);
    assert.equal(read !== "bad" && read.isOver, false, text);
  }
});

const wrong: readonly [what: string, text: string][] = [
  ["another protocol", "SSH-2.0-OpenSSH\r\n\r\n"],
  ["another version", "HTTP/2 200\r\n\r\n"],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n"],
  ["a change of protocol", "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n"],
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"],
  ["a length that is none", "HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\n"],
  ["a negative length", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"],
  ["a folded line", "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n"],
  ["a space before a colon", "HTTP/1.1 200 OK\r\ncontent-length : 1\r\n\r\n"],
  ["a line without a colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"],
  ["a head without end", `HTTP/1.1 200 OK\r\na: ${"x".repeat(20_000)}`],
  ["a chunk without size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n"],
  [
    "a chunk longer than it says",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
  ],
  [
    "a size without end",
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${"x".repeat(5_000)}`,
  ],
  ["answers before the answer, without end", "HTTP/1.1 103 Hints\r\na: b\r\n\r\n".repeat(6_000)],
  [
    "more about chunks than in them",
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${`1;${"x".repeat(4_000)}\r\na\r\n`.repeat(40)}`,
  ],
  [
    "trailers without end",
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"a: b\r\n".repeat(2_000)}`,
  ],
];

for (const [what, text] of wrong) {
  test(`${what} is no answer (D-5)`, () => {
    assert.equal(readIn([text]), "bad");
    assert.equal(readIn([...text]), "bad", "byte by byte");
  });
}

test("no bytes at all make it throw anything else, or read what is not there", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "HTTP/1.1 200 OK\r\n",
      "content-length: 3\r\n",
      "\r\n",
      "3\r\nabc\r\n",
      "0\r\n",
    ),
    fc.constantFrom("transfer-encoding: chunked\r\n", "HTTP/1.1 100 C\r\n\r\n", "abc", "\0", ":"),
    fc.string({ maxLength: 20 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const read = readIn(pieces, true);
      if (read !== "bad") assert.ok(read.body.length <= pieces.join("").length);
    }),
    { numRuns: 2_000 },
  );
});

test("headers are found by lower-case name, and several of one name are a list", () => {
  const head = "HTTP/1.1 200 OK\r\nA: 1\r\nb:2\r\na: 3\r\nA:\t4 \r\n__proto__: x";
  const headers = headersIn(head);
  assert.deepEqual(Object.entries(headers), [
    ["a", ["1", "3", "4"]],
    ["b", "2"],
    ["__proto__", "x"],
  ]);
});

test("whatever head a connection remembers, the next answer is read as on a new one", () => {
  const heads = [
    ...answers.map(([, text]) => text),
    "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nworld",
    "HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\nmore",
  ];
  const places = fc.array(fc.nat({ max: 60 }), { maxLength: 3 });
  const one = fc.tuple(fc.constantFrom(...heads), places, fc.boolean());
  fc.assert(
    fc.property(fc.array(one, { minLength: 2, maxLength: 6 }), (sequence) => {
      const memory = new HeadMemory();
      for (const [text, at, isClosed] of sequence) {
        const pieces = cut(text, at);
        assert.deepEqual(readIn(pieces, isClosed, memory), readIn(pieces, isClosed));
      }
    }),
  );
});
