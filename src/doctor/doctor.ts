// `posthorn doctor`: checks the machine, the settings and, if it runs, the broker, and says what
// was found and what to do. It changes nothing. core/diagnosis.ts turns facts into findings.

import { join } from "node:path";
import { type Config, type ConfigInput, listConfig, parseConfig } from "../config/config.ts";
import type { EndpointView, Overview, Page } from "../core/api/views.ts";
import { parseAzure } from "../core/azure/resources.ts";
import type { StorageAccount } from "../core/azure/storage.ts";
import {
  type Finding,
  judgeCertificate,
  judgeClock,
  judgeFolder,
  judgePort,
  judgeProfile,
  judgeReach,
  judgeStore,
} from "../core/diagnosis.ts";
import { isTarget, parseTarget } from "../core/text/connection-string.ts";
import type { Address } from "../core/text/setting-kinds.ts";
import { readKept } from "../runtime/access/kept-file.ts";
import { openToOthers } from "../runtime/access/open-to-others.ts";
import { realClock } from "../runtime/clock/real.ts";
import { oneLine } from "../store/postgres/database.ts";
import { examineServer, refusalOf } from "../store/postgres/open.ts";
import { passwordOf } from "../store/postgres/password.ts";
import { lookAtStore, storeFile } from "../store/sqlite/backup.ts";
import {
  askBroker,
  isBroker,
  lookAtCertificate,
  lookAtEndpoint,
  lookAtFolder,
  lookAtPort,
} from "./probe.ts";

/** The most endpoints that are checked, however many subscriptions there are. */
const endpointsMax = 50;

/** `now`: of this machine. `isDeep`: the whole store is read. */
export async function examine(
  input: ConfigInput,
  { now, isDeep }: { readonly now: number; readonly isDeep: boolean },
): Promise<readonly Finding[]> {
  const { problems } = listConfig(input);
  if (problems.length > 0) {
    const advice = "posthorn config list shows every setting and where it comes from.";
    return problems.map(({ message }) => ({
      ...{ check: "settings", state: "problem", found: message, advice },
    }));
  }
  const config = parseConfig(input);
  const broker = await findBroker(config);
  return [
    { check: "settings", state: "fine", found: "every setting is allowed", advice: null },
    ...judgeFolder(lookAtFolder(config.dataFolder)),
    ...modeFindings(config),
    ...judgeClock(now, broker === null ? null : Date.parse(broker.overview.now)),
    ...(await portFindings(config, broker !== null)),
    ...certificateFindings(config),
    ...(await storeFindings(config, broker, isDeep, input.env)),
    ...(broker === null ? [notRunning] : await endpointFindings(broker.endpoints)),
    ...(await accountFindings(parseAzure(config).storageAccounts)),
    ...judgeProfile(config.profile),
  ];
}

const notRunning: Finding = {
  check: "endpoints",
  state: "fine",
  found: "no broker is running with these settings, so endpoints were not checked",
  advice: null,
};

interface Seen {
  readonly overview: Overview;
  readonly endpoints: readonly EndpointView[];
}

/** The broker of these settings, if it runs: its folder has its address, and it takes the key. */
async function findBroker(config: Config): Promise<Seen | null> {
  const { http, adminKey, dataFolder } = config;
  if (http === null || !(await isBroker(urlOf(http)))) return null;
  const written = readKept(join(dataFolder, "address")) ?? "";
  if (Number(URL.parse(written)?.port || 80) !== http.port) return null;
  const key = adminKey ?? readKept(join(dataFolder, "admin.key")) ?? "";
  const base = `${urlOf(http)}/api/v1`;
  try {
    const overview = await askBroker<Overview>(`${base}/overview`, key);
    const { value } = await askBroker<Page<EndpointView>>(`${base}/endpoints`, key);
    return { overview, endpoints: value };
  } catch {
    // Another broker, one with another key, or one that does not answer: nothing more can be
    // checked.
    return null;
  }
}

function urlOf({ host, port }: Address): string {
  const everywhere = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${everywhere.includes(":") ? `[${everywhere}]` : everywhere}:${port}`;
}

function modeFindings({ dataFolder }: Config): readonly Finding[] {
  const [folder, ...files] = openToOthers(dataFolder);
  if (folder === undefined) return [];
  const inside = files.length === 0 ? "" : `, with ${files.length} files in it`;
  const found = `${folder} is open to other users of this machine${inside}; it holds keys and events`;
  return [{ check: "file modes", state: "warning", found, advice: `chmod -R go= ${folder}` }];
}

async function portFindings({ http, https }: Config, isOwn: boolean): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const [name, address] of Object.entries({ http, https })) {
    if (address === null || address.port === 0) continue;
    const facts = await lookAtPort(address);
    // Only plain HTTP can be used without trusting a certificate; both listeners belong together.
    const isTaken = facts.why !== null && http !== null && (await isBroker(urlOf(http)));
    findings.push(judgePort(name, facts, isTaken ? (isOwn ? "own" : "other") : null));
  }
  return findings;
}

function certificateFindings({ https, tlsCertFile, dataFolder }: Config): readonly Finding[] {
  if (https === null) return [];
  const path = tlsCertFile ?? join(dataFolder, "ca.pem");
  const facts = lookAtCertificate(path);
  if (facts !== null) return [judgeCertificate(facts)];
  const found = "none yet: a local authority is made at the first start";
  return [{ check: "certificate", state: "fine", found, advice: null }];
}

async function storeFindings(
  config: Config,
  broker: Seen | null,
  isDeep: boolean,
  env: ConfigInput["env"],
): Promise<readonly Finding[]> {
  const { store, dataFolder } = config;
  if (isTarget(store)) return await databaseFindings(config, env);
  if (store === "memory") {
    const found = "events are kept in memory and are lost when the broker stops";
    return [{ check: "store", state: "warning", found, advice: "Leave out --store memory." }];
  }
  if (broker !== null) {
    const { whyNotReady, waiting } = broker.overview;
    const found = whyNotReady ?? `in use by a broker that is ready; ${waiting} events wait`;
    const advice = whyNotReady === null ? null : "See its log for store.failed.";
    return [{ check: "store", state: whyNotReady === null ? "fine" : "problem", found, advice }];
  }
  const facts = lookAtStore(join(dataFolder, storeFile), isDeep);
  if (facts !== null) return [judgeStore(facts)];
  return [{ check: "store", state: "fine", found: "none yet, or in use", advice: null }];
}

/** What the database's settings mean for an event that was accepted. */
async function databaseFindings(
  config: Config,
  env: ConfigInput["env"],
): Promise<readonly Finding[]> {
  const target = parseTarget(config.store, passwordOf(config, env));
  if (typeof target === "string") return [];
  try {
    const findings = await examineServer({ target, clock: realClock() });
    return findings.map((finding) => ({
      ...finding,
      state: finding.state === "unsafe" || finding.state === "unusable" ? "problem" : finding.state,
    }));
  } catch (error) {
    const found = refusalOf(error, target)?.message ?? `it cannot be reached: ${oneLine(error)}`;
    const advice = "See store and store-password in posthorn config list.";
    return [{ check: "database", state: "problem", found, advice }];
  }
}

async function endpointFindings(endpoints: readonly EndpointView[]): Promise<readonly Finding[]> {
  const some = endpoints.slice(0, endpointsMax);
  const findings = await Promise.all(some.map((each) => endpointFinding(each)));
  if (some.length === endpoints.length) return findings;
  const found = `${some.length} of ${endpoints.length} were looked at`;
  return [...findings, { check: "endpoints", state: "fine", found, advice: null }];
}

async function endpointFinding({ endpoint, health }: EndpointView): Promise<Finding> {
  const isUrl = /^https?:/.test(endpoint);
  const reach = isUrl ? await lookAtEndpoint(endpoint, endpoint) : { name: endpoint, why: null };
  const finding = judgeReach("endpoint", reach);
  if (finding.state !== "fine" || health.kind === "healthy") return finding;
  return {
    ...{ check: "endpoint", state: "warning", found: `${endpoint}: ${health.words}` },
    advice:
      "posthorn endpoint list shows more; posthorn endpoint open lets events be sent at once.",
  };
}

async function accountFindings(accounts: readonly StorageAccount[]): Promise<readonly Finding[]> {
  const findings = accounts.map(async ({ key, store }): Promise<readonly Finding[]> => {
    if (store.kind === "folder") {
      const [folder] = judgeFolder(lookAtFolder(store.path));
      return folder === undefined ? [] : [{ ...folder, check: `storage account ${key}` }];
    }
    const url = store.kind === "identity" ? store.blobEndpoint : blobUrlIn(store.connectionString);
    return [judgeReach("storage account", await lookAtEndpoint(key, url))];
  });
  return (await Promise.all(findings)).flat();
}

/** As the storage clients parse it. */
function blobUrlIn(connectionString: string): string {
  const parts = new Map(
    connectionString.split(";").map((part) => {
      const at = part.indexOf("=");
      return [part.slice(0, at).toLowerCase(), part.slice(at + 1)];
    }),
  );
  if (parts.get("usedevelopmentstorage") === "true") return "http://127.0.0.1:10000";
  const suffix = parts.get("endpointsuffix") ?? "core.windows.net";
  const protocol = parts.get("defaultendpointsprotocol") ?? "https";
  return parts.get("blobendpoint") ?? `${protocol}://${parts.get("accountname")}.blob.${suffix}`;
}
