// Ports of loopback for what the bench starts.

import { createServer } from "node:net";

/** A port at which nobody listens: one that was free a moment ago. */
export function findClosedPort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
