// The benchmark's own parts: a measuring rod that is wrong is worse than none. The last test lets
// some events through the whole arrangement with the relay; it asserts no speed.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { startPartner } from "../bench/intercom.ts";
import { buildRequest, readNumbers, readSentAt } from "../bench/load.ts";
import { cpuSeconds, Latencies, median, threadShares } from "../bench/measure.ts";
import { startRelay } from "../bench/peers/start.ts";
import type { Published, PublishOrder } from "../bench/publisher.ts";
import type { Received, ReceiverQuestion } from "../bench/receiver.ts";
import { renderTable } from "../bench/report.ts";
import { resultsOf } from "../bench/rounds.ts";
import { cutPieces, statusOf } from "../bench/wire.ts";

const TARGET = { port: 1, path: "/topics/orders/api/events", key: "k" };

test("a stream is cut into the same pieces however it arrives", () => {
  const stream = Buffer.from(
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc" +
      "HTTP/1.1 503 No\r\nContent-Length:0\r\n\r\nHTTP/1.1 204 OK\r\n\r\n",
  );
  const cuts = fc.array(fc.nat({ max: stream.length }), { maxLength: 8 });
  fc.assert(
    fc.property(cuts, (at) => {
      const pieces: [number, string][] = [];
      const cut = cutPieces((head, body) => pieces.push([statusOf(head), body.toString()]));
      const bounds = [0, ...at.toSorted((a, b) => a - b), stream.length];
      for (const [i, end] of bounds.slice(1).entries()) cut(stream.subarray(bounds[i], end));
      assert.deepEqual(pieces, [
        [200, "abc"],
        [503, ""],
        [204, ""],
      ]);
    }),
  );
});

test("a body of unknown length is refused loudly", () => {
  const cut = cutPieces(() => {});
  const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
  assert.throws(() => cut(Buffer.from(chunked)), /Content-Length/);
});

test("each event of a request is a kilobyte and has a number of its own", () => {
  const request = buildRequest(TARGET, 3);
  request.number(41, 1_234_567.891);
  let body = "";
  cutPieces((_head, bytes) => {
    body = bytes.toString();
    assert.deepEqual(readNumbers(bytes), [41, 42, 43]);
    assert.equal(readSentAt(bytes), 1_234_567.891);
  })(request.bytes);
  const events: { id: string }[] = JSON.parse(body);
  const ids = ["bench-0000000041", "bench-0000000042", "bench-0000000043"];
  assert.deepEqual(
    events.map(({ id }) => id),
    ids,
  );
  assert.equal(JSON.stringify(events[0]).length, 1024);
});

describe("figures", () => {
  test("the median is the middle, or the mean of the middle two", () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
  });

  test("a quantile is the latency that so many did not exceed", () => {
    const latencies = new Latencies();
    assert.equal(latencies.quantile(0.5), 0);
    for (let ms = 1; ms <= 100; ms += 1) latencies.add(ms - 0.005);
    assert.ok(Math.abs(latencies.quantile(0.5) - 50) < 0.02);
    assert.ok(Math.abs(latencies.quantile(0.99) - 99) < 0.02);
    latencies.add(1e9);
    assert.ok(latencies.quantile(1) > 1999);
  });

  const skip = process.platform === "linux" ? false : "processor time is read from /proc";
  test("processor time of a process is what the process itself says", { skip }, () => {
    const before = cpuSeconds(process.pid);
    const { user, system } = process.cpuUsage();
    const after = cpuSeconds(process.pid);
    const own = (user + system) / 1e6;
    assert.ok(before - 0.02 <= own && own <= after + 0.02, `${before} ${own} ${after}`);
  });

  test("a thread's share is its part of what all used meanwhile", () => {
    const before = new Map([["main 1", 5]]);
    const after = new Map([
      ["main 1", 8],
      ["store 2", 1],
    ]);
    const shares = threadShares(before, after);
    assert.deepEqual(shares, [
      { name: "main", percent: 75 },
      { name: "store", percent: 25 },
    ]);
  });

  test("a ratio is of neighbouring rounds, with the rounds beside it", () => {
    const round = (cpuMicros: number) => ({
      ...{ deliveries: 1, deliveredPerSecond: 1, p50Ms: 1, p99Ms: 1 },
      ...{ arrivalP50Ms: 1, arrivalP99Ms: 1, busiestPercent: 60, repeated: 0, refused: 0 },
      ...{ threads: "main 60", cpuMicros },
    });
    const rounds = new Map([
      ["relay", [round(100), round(200), round(100)]],
      ["broker", [round(150), round(300), round(400)]],
    ]);
    const [, broker, ratio] = resultsOf("steady", "x", rounds, "broker");
    assert.equal(broker?.cpuMicros, 300);
    assert.equal(ratio?.system, "broker / relay");
    assert.equal(ratio?.cpuMicros, 1.5);
    assert.equal(ratio?.cpuRatios, "1.50 1.50 4.00");
  });

  test("a row that compares two systems shows ratios", () => {
    const base = { scenario: "steady", load: "x" };
    const table = renderTable([
      { ...base, system: "broker", deliveredPerSecond: 5000.4 },
      { ...base, system: "broker / relay", deliveredPerSecond: 0.987 },
    ]);
    assert.match(table, /\| broker +\| 5000 +\|/);
    assert.match(table, /\| broker \/ relay +\| 0\.99x +\|/);
  });
});

test("every event published to the relay is counted once at the receiver", async () => {
  await using parts = new AsyncDisposableStack();
  const publisher = parts.use(startPartner<PublishOrder, Published>("publisher.ts"));
  const receiver = parts.use(startPartner<ReceiverQuestion, Received>("receiver.ts"));
  const { port } = await receiver.ask({ kind: "report" });
  const relay = parts.use(await startRelay({ port, connections: 4 }));
  const published = await publisher.ask({
    target: relay.target,
    connections: 4,
    eventsPerRequest: 1,
    first: 7,
    eventsMax: 200,
    msMax: 30_000,
    perSecond: null,
  });
  assert.equal(published.accepted, 200);
  assert.equal(published.next, 207);
  let state = await relay.state();
  while (state.forwarded + state.failed < 200) state = await relay.state();
  assert.deepEqual([state.forwarded, state.failed], [200, 0]);
  const { unique, repeated } = await receiver.ask({ kind: "report" });
  assert.deepEqual([unique, repeated], [200, 0]);
});
