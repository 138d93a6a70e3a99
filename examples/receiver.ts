// An endpoint to try things with: it listens on port 9000, prints every event it is sent and
// answers 200. With `--fail N` it answers the first N requests with 503, so that retries can be
// watched.
//
//   node examples/receiver.ts --fail 2

import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { fail: { type: "string", default: "0" }, port: { type: "string", default: "9000" } },
});
let failuresLeft = Number(values.fail);

const server = createServer(async (request, response) => {
  const events = (await json(request)) as readonly { readonly id: string }[];
  const status = failuresLeft-- > 0 ? 503 : 200;
  // The service counts the attempts that went before this one.
  const attempt = Number(request.headers["aeg-delivery-count"] ?? 0) + 1;
  for (const { id } of events) console.log(`event ${id}, attempt ${attempt}: answered ${status}`);
  response.writeHead(status).end();
});

server.listen(Number(values.port), "127.0.0.1", () => {
  console.log(`waiting for events at http://127.0.0.1:${values.port}/hook`);
});
