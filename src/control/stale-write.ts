// A change that begins with reading, and writes by the revision it has read. When someone else's
// write came in between, it starts over.

import { Refusal } from "../core/refusal.ts";

/** How often a change is tried before it is refused. */
export const triesMax = 5;

/**
 * `readAgain`: called after each collision, so that the next try sees the other write. Refusal:
 * Conflict, when every try has collided.
 */
export async function retryStale<T>(
  change: () => Promise<T>,
  readAgain: () => Promise<void> = async () => {},
): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "PreconditionFailed") throw error;
      if (tried === triesMax) {
        const words = "The resource is being changed by others all the time; try again.";
        throw new Refusal("Conflict", words, { cause: error });
      }
      await readAgain();
    }
  }
}
