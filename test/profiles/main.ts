// Writes what docs/profiles.md and docs/transcripts.md show of the profiles: the table from the
// profiles themselves, the transcripts from a run of the real broker. Run it after a change of
// either; a test fails while the pages differ.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { conformanceTable } from "./conformance.ts";
import { transcriptsPage } from "./transcript.ts";

const docs = join(import.meta.dirname, "../../docs");
const table = /\| +\| `preview-2017`.*?(?=\n\n)/s;
const endings: (() => unknown)[] = [];

const profilesPage = join(docs, "profiles.md");
const text = readFileSync(profilesPage, "utf8");
writeFileSync(profilesPage, text.replace(table, conformanceTable()));
const transcripts = await transcriptsPage({ after: (end) => endings.push(end) });
writeFileSync(join(docs, "transcripts.md"), transcripts);
for (const end of endings.toReversed()) await end();
