// One request at a time on each connection. A client may send more before it has read an answer
// (pipelining); each of them waits until the system has taken the answer before it, so that a
// client that does not read costs one answer and no more. Meanwhile the connection is not read.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** More than these are not answered: the connection ends with the answer to the last of them. */
const waitingMax = 100;

interface Line {
  waiting: number;
  isFull: boolean;
}

export function openTurns(): (response: ServerResponse, serve: () => void) => void {
  const lines = new WeakMap<Socket, Line>();
  return (response, serve) => {
    // Node gives a response its socket when the one before it has been taken.
    if (response.socket !== null) return serve();
    const { socket } = response.req;
    const line = lines.get(socket) ?? { waiting: 0, isFull: false };
    if (line.isFull) return;
    lines.set(socket, line);
    line.waiting += 1;
    line.isFull = line.waiting === waitingMax;
    response.shouldKeepAlive &&= !line.isFull;
    socket.pause();
    response.once("socket", () => {
      line.waiting -= 1;
      // How long the answer before this one might take is no longer of interest.
      socket.setTimeout(0);
      if (line.waiting === 0) socket.resume();
      serve();
    });
  };
}
