// The same event under each profile, from the broker's own log: an endpoint that answers 503 to
// everything, from the publish to the end.

import { type ProfileName, profileNames, profiles } from "../../src/core/delivery/profile.ts";
import type { Scope } from "../fixtures/webhook.ts";
import { type Json, lettersBox, openScene, type Scene, sinceStart, startAt } from "./scene.ts";

/** Beyond the longest life, the attempt after it, and the writing of a dead letter. */
const longEnough = "PT40H";

export async function transcriptsPage(t: Scope): Promise<string> {
  const scene = await openScene(t, {
    terms: (name) =>
      profiles[name].deadLettering ? { more: { deadLetterDestination: lettersBox } } : {},
  });
  scene.receiver.answer = () => 503;
  await scene.publishAll();
  await scene.advance(longEnough);
  const sections: string[] = [];
  for (const name of profileNames) sections.push(await sectionOf(scene, name));
  return `${heading}\n${sections.join("\n")}`;
}

const heading = `<!-- Made by \`node test/profiles/main.ts\`, which runs it. -->

# One failing event, under each profile

An endpoint that answers 503 to everything, and one event published at ${startAt}: the log of a real broker on the
virtual clock, with the seed 1. Times are counted from the publish; the texts are those of \`delivery.attempted\` and of
the last fact about the event. [profiles.md](profiles.md) explains the differences.
`;

async function sectionOf(scene: Scene, name: ProfileName): Promise<string> {
  const isKept = profiles[name].deadLettering;
  await scene.facts(name, isKept ? "delivery.deadLettered" : "delivery.dropped", 1);
  const told = scene.program.facts.filter(({ fact, topic, endpoint }) => {
    const isOfEndpoint = fact === "endpoint.changed" && String(endpoint).endsWith(`/${name}`);
    return isOfEndpoint || (topic === name && String(fact).startsWith("delivery."));
  });
  const rows = told.map((fact) => `| ${cellsOf(fact).join(" | ")} |`);
  return [
    `## \`${name}\``,
    "",
    "| after | fact | in words |",
    "| --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

function cellsOf(fact: Json): readonly string[] {
  return [clockOf(sinceStart(fact.time)), `\`${fact.fact}\``, wordsOf(fact)];
}

function wordsOf(fact: Json): string {
  switch (fact.fact) {
    case "delivery.attempted":
      return fact.stage === "deadLetter"
        ? `the dead letter, attempt ${fact.attempt}: ${fact.decision}`
        : `attempt ${fact.attempt}, ${fact.outcome}: ${fact.words}`;
    case "delivery.deadLettered":
      return `${fact.reason}: written to \`${String(fact.blob).replace(/[^/]+$/, "…json")}\``;
    case "endpoint.changed":
      return `${fact.from} → ${fact.to}`;
    default:
      return String(fact.words);
  }
}

/** `01:46:40.123` */
function clockOf(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const rest = String(ms % 1_000).padStart(3, "0");
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1_000) % 60)}.${rest}`;
}
