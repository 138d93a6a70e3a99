import assert from "node:assert/strict";
import { test } from "node:test";
import { accepted } from "../../../test/fixtures/story-notes.ts";
import { Packer } from "./pack.ts";

test("a roll that the other side has forgotten is sent again, also for what is alike", () => {
  const packer = new Packer({ charsMax: 1_000_000, notesMax: 100, texts: "all" }, 0);
  packer.add(accepted("a"));
  packer.add(accepted("b"));
  packer.forget({ rolls: [1], blocks: [1] });
  packer.add(accepted("c"));
  assert.equal(packer.take().rolls.length, 2);
});
