import { chronicleContract, plainRetention } from "../../../test/contract/chronicle.ts";
import { startAt } from "../../../test/contract/fixture.ts";
import type { Instant } from "../../core/ports.ts";
import { MemoryChronicle } from "./memory.ts";

chronicleContract(
  "the chronicle in memory",
  async (retention = {}) => {
    let now = startAt;
    const cuts: number[] = [];
    const chronicle = new MemoryChronicle({
      clock: { now: () => now },
      retention: { ...plainRetention, ...retention },
      onCut: (count) => cuts.push(count),
    });
    const setNow = (next: Instant) => {
      now = next;
    };
    return { chronicle, cuts, setNow };
  },
  { sizes: { small: 200_000, each: 1_000 } },
);
