// One request at a time: what is requested again meanwhile is requested once more afterwards, so
// that every answer is used however slowly they come, and a slow broker gets no pile of requests.

/** The result runs `act`, which never rejects, now or once more after the current run. */
export function inTurn(act: () => Promise<void>): () => void {
  let isRunning = false;
  let isAgain = false;
  const run = async () => {
    isRunning = true;
    do {
      isAgain = false;
      await act();
    } while (isAgain);
    isRunning = false;
  };
  return () => {
    if (isRunning) isAgain = true;
    else void run();
  };
}
