// The certificate of a TLS listener: the operator's own, or one of a local authority in the data
// folder, created on first use and renewed before it expires.
//
// Keys are created once. Everything else follows from them: an authority made again from the same
// key and name is valid for the same certificates, so a lost or old file is recreated and clients
// need not trust a new one. Dates are real even if the broker's clock is virtual, because clients
// use theirs.

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { createSecureContext, getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Extension } from "@peculiar/x509";
import { Refusal } from "../../core/refusal.ts";
import type { Memos } from "../../core/steering.ts";
import type { Identity } from "../http/connections.ts";
import { keepSecret, keepText, readKept, shareSecret } from "./kept-file.ts";

export interface Certificates {
  /** The authority to trust, as a path; null if the operator has their own. */
  readonly caFile: string | null;
  /** The current certificate. */
  identity(): Promise<Identity>;
}

/** Refusal: InvalidSetting, when the files are not a certificate and its key. */
export function givenCertificates(files: {
  readonly certFile: string;
  readonly keyFile: string;
}): Certificates {
  return {
    caFile: null,
    async identity() {
      const cert = readGiven("tls-cert", files.certFile);
      const key = readGiven("tls-key", files.keyFile);
      try {
        createSecureContext({ cert, key });
        return { cert, key };
      } catch (cause) {
        const words = "tls-cert and tls-key must be PEM files of a certificate and its key";
        const { certFile, keyFile } = files;
        throw new Refusal("InvalidSetting", `${words}, and ${certFile} and ${keyFile} are not`, {
          cause,
        });
      }
    },
  };
}

function readGiven(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
    const words = `${name} must be a PEM file, and ${path} cannot be read (${code})`;
    throw new Refusal("InvalidSetting", words, { cause });
  }
}

const dayMs = 86_400_000;
const authorityMs = 3650 * dayMs;
/** The longest lifetime that browsers accept. */
const certificateMs = 397 * dayMs;
const renewBeforeMs = 30 * dayMs;
/** For clients whose clock is a little behind ours. */
const backdatedMs = dayMs;

const ownHosts = ["localhost", "*.localhost", "127.0.0.1", "::1"];

export function keptCertificates(options: {
  readonly folder: string;
  /** Names and addresses besides those of this machine. */
  readonly hosts?: readonly string[];
  /** Whether a topic has this name; others get no certificate of their own. Default: all do. */
  readonly isTopic?: (name: string) => boolean;
  readonly now?: () => number;
  /** Where brokers of a cluster keep the authority's key; without it the folder does. */
  readonly shared?: Memos | undefined;
}): Certificates {
  const { folder, isTopic = () => true, now = Date.now } = options;
  const hosts = [...new Set([...ownHosts, ...(options.hosts ?? [])])];
  const caFile = join(folder, "ca.pem");
  const caKeyFile = join(folder, "ca.key");
  return {
    caFile,
    async identity() {
      if (options.shared !== undefined) await shareSecret(options.shared, caKeyFile, makeKeyText);
      const authority = await keepAuthority(caFile, keepKey(caKeyFile), now());
      const key = keepKey(join(folder, "server.key"));
      const path = join(folder, "server.pem");
      const kept = parsed(readKept(path));
      const forName = async (name: string) => {
        const topic = topicIn(name, hosts);
        if (topic === null || !isTopic(topic)) return null;
        return identityOf(await issue({ authority, key, hosts: [name], now: now() }), key);
      };
      if (kept !== null && isGood(kept, { authority, key, hosts, now: now() })) {
        return { ...identityOf(kept.toString(), key), forName };
      }
      const cert = await issue({ authority, key, hosts, now: now() });
      keepText(path, cert);
      return { ...identityOf(cert, key), forName };
    },
  };
}

/**
 * A topic's own name under one of the broker's: `orders.localhost`. Most clients require two dots
 * after the wildcard of a certificate, so each of these gets its own.
 */
function topicIn(name: string, hosts: readonly string[]): string | null {
  const [, topic = "", host = ""] = /^([a-z0-9-]{1,63})\.(.+)$/.exec(name) ?? [];
  return isIP(host) === 0 && hosts.includes(host) ? topic : null;
}

interface Authority {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
}

/** Never renewed by itself: clients trust it. */
function keepKey(path: string): KeyObject {
  const kept = keepSecret(path, makeKeyText);
  try {
    return createPrivateKey(kept);
  } catch (cause) {
    const words = `data must have a private key in ${path}, and the file is not one`;
    throw new Refusal("InvalidSetting", `${words}: remove it to have one made`, { cause });
  }
}

const pem = { type: "pkcs8", format: "pem" } as const;

function makeKeyText(): string {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export(pem).toString();
}

function identityOf(cert: string, key: KeyObject): Identity {
  return { cert, key: key.export(pem).toString() };
}

async function keepAuthority(path: string, key: KeyObject, now: number): Promise<Authority> {
  const kept = parsed(readKept(path));
  const isKept =
    kept?.ca && kept.checkPrivateKey(key) && isValidFor(kept, now, certificateMs + backdatedMs);
  if (isKept) return { certificate: kept, key };
  const made = await makeAuthority(key, now);
  keepText(path, made);
  return { certificate: new X509Certificate(made), key };
}

function parsed(text: string | null): X509Certificate | null {
  try {
    return text === null ? null : new X509Certificate(text);
  } catch {
    return null;
  }
}

interface Leaf {
  readonly authority: Authority;
  readonly key: KeyObject;
  readonly hosts: readonly string[];
  readonly now: number;
}

function isGood(certificate: X509Certificate, { authority, key, hosts, now }: Leaf): boolean {
  const names = certificate.subjectAltName?.split(", ") ?? [];
  return (
    certificate.checkPrivateKey(key) &&
    certificate.checkIssued(authority.certificate) &&
    certificate.verify(authority.certificate.publicKey) &&
    isValidFor(certificate, now, renewBeforeMs) &&
    hosts.every((host) =>
      isIP(host) ? certificate.checkIP(host) !== undefined : names.includes(`DNS:${host}`),
    )
  );
}

function isValidFor({ validFrom, validTo }: X509Certificate, now: number, ms: number): boolean {
  return Date.parse(validFrom) <= now && Date.parse(validTo) - now > ms;
}

async function makeAuthority(key: KeyObject, now: number): Promise<string> {
  const x509 = await loadX509();
  const keys = pairOf(key);
  const extensions = [
    new x509.BasicConstraintsExtension(true, 0, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
  ];
  const name = nameOf(key);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    ...{ name, keys, extensions, signingAlgorithm },
    notBefore: new Date(now - backdatedMs),
    notAfter: new Date(now + authorityMs),
  });
  return `${made.toString("pem")}\n`;
}

/** Two authorities on one machine have different names. */
function nameOf(key: KeyObject): string {
  const spki = createPublicKey(key).export({ type: "spki", format: "der" });
  return `CN=Posthorn local authority ${hash("sha256", spki).slice(0, 8)}`;
}

async function issue({ authority, key, hosts, now }: Leaf): Promise<string> {
  const x509 = await loadX509();
  const ours = pairOf(key);
  const theirs = pairOf(authority.key);
  const extensions: Extension[] = [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension(
      hosts.map((value) => ({ type: isIP(value) ? "ip" : "dns", value })),
    ),
    await x509.SubjectKeyIdentifierExtension.create(ours.publicKey),
    await x509.AuthorityKeyIdentifierExtension.create(theirs.publicKey),
  ];
  const made = await x509.X509CertificateGenerator.create({
    ...{ subject: "CN=localhost", issuer: nameOf(authority.key) },
    ...{ publicKey: ours.publicKey, signingKey: theirs.privateKey, extensions, signingAlgorithm },
    notBefore: new Date(now - backdatedMs),
    notAfter: new Date(now + certificateMs),
  });
  return `${made.toString("pem")}\n`;
}

const ecdsa = { name: "ECDSA", namedCurve: "P-256" };
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" };

function pairOf(privateKey: KeyObject) {
  const publicKey = createPublicKey(privateKey);
  return {
    privateKey: privateKey.toCryptoKey(ecdsa, true, ["sign"]),
    publicKey: publicKey.toCryptoKey(ecdsa, true, ["verify"]),
  };
}

/** Takes longer than the rest of the start, and is rarely needed. */
async function loadX509() {
  await import("reflect-metadata");
  return await import("@peculiar/x509");
}

/**
 * Checks once a day for a newer certificate. The result ends that. If renewal fails, it is logged,
 * and the old one stays in use.
 */
export function renewDaily(
  certificates: Certificates,
  tell: {
    readonly renewed: (identity: Identity) => void;
    readonly failed: (error: unknown) => void;
  },
  everyMs: number = dayMs,
): () => void {
  const look = () => certificates.identity().then(tell.renewed).catch(tell.failed);
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

// Authorities to trust in addition to the usual ones, for the whole process. The webhook sink gets
// its own list, but Azure's clients only use Node's.

/** `ca` as PEM. Throws for what is no certificate. */
export function trustAlso(ca: readonly string[]): void {
  if (ca.length === 0) return;
  createSecureContext({ ca: [...ca] });
  setDefaultCACertificates([...getCACertificates("default"), ...ca]);
}
