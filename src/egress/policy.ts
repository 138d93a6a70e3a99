// Which addresses we connect to at all. Anyone who may write a subscription chooses where the
// broker sends requests; without a policy these reach the machine's own services, the private
// network and the metadata service of a cloud.
//
// The address of the actual connection is checked, after its name was resolved and for every
// connection again, so that changing the address of a name does not help. Unusual spellings of an
// address need no rules: parsing the URL has normalised them.

import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import { lookup as lookUp } from "node:dns";
import { BlockList, isIP, type LookupFunction, type Socket } from "node:net";
import { Refusal } from "../core/refusal.ts";

const loopback = ["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"];
/** With the metadata services of clouds, which are not all link-local. */
const linkLocal = [
  "169.254.0.0/16",
  "fe80::/10",
  "168.63.129.16/32",
  "100.100.100.200/32",
  "fd00:ec2::254/128",
  "fd20:ce::254/128",
];
const privateUse = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"];
/**
 * Several receivers, tests, documentation, IPv4 in disguise (6to4, Teredo, NAT64 and others), and
 * all of IPv6 but 2000::/3. A plain IPv4 address is ::ffff:0:0/96 to a list of IPv6 networks.
 */
const special = [
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24"],
  ...["203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
  ...["::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/8", "200::/7"],
  ...["400::/6", "800::/5", "1000::/4", "4000::/2", "8000::/1"],
  ...["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
];

export const networkSets: Readonly<Record<string, readonly string[]>> = {
  loopback,
  "link-local": linkLocal,
  private: privateUse,
  "public-only": [...loopback, ...linkLocal, ...privateUse, ...special],
};

/** The error code of a connection that is not allowed. */
export const blockedCode = "EBLOCKED";

export interface EgressPolicy {
  /** Null: the address is allowed. */
  whyBlocked(address: string): Error | null;
  /** As `dns.lookup`, for `net.connect`. */
  readonly lookup: LookupFunction;
  /** Where the test inboxes of this broker are, whose address is always allowed. */
  readonly inboxes?: OwnInboxes;
}

export interface OwnInboxes {
  /** `http://127.0.0.1:5888`; null: there are none. */
  origin(): string | null;
  /** What their paths begin with: nothing else of ours is allowed by them. */
  readonly path: string;
}

/** Null: it may be sent to. Only the inboxes of our own listener are reached without a check. */
export function whyNotThere(
  policy: EgressPolicy | undefined,
  { origin, path }: { readonly origin: string; readonly path: string },
): Error | null {
  if (policy === undefined || !isOwn(policy, origin)) return null;
  if (path.startsWith(policy.inboxes?.path ?? "/")) return null;
  return policy.whyBlocked(URL.parse(origin)?.hostname.replace(/^\[|\]$/g, "") ?? "");
}

export function isOwn({ inboxes }: EgressPolicy, origin: string): boolean {
  return inboxes !== undefined && inboxes.origin() === origin;
}

/**
 * Each a set by its name, or a network such as `10.0.0.0/8`; allowed ones override blocked ones.
 * Refusal: InvalidSetting.
 */
export function openEgressPolicy(given: {
  readonly blocked: readonly string[];
  readonly allowed: readonly string[];
  readonly inboxes?: OwnInboxes;
}): EgressPolicy {
  const blocked = listOf(given.blocked, "egress-block");
  const allowed = listOf(given.allowed, "egress-allow");
  const whyBlocked = (address: string): Error | null => {
    const [bare = ""] = address.split("%", 1);
    const family = isIP(bare) === 6 ? "ipv6" : "ipv4";
    if (!blocked.check(bare, family) || allowed.check(bare, family)) return null;
    const words = `The address ${bare} is blocked by the egress policy of this broker`;
    return Object.assign(new Error(words), { code: blockedCode });
  };
  return {
    ...(given.inboxes && { inboxes: given.inboxes }),
    whyBlocked,
    lookup: (host, options, done) =>
      lookUp(host, { ...options, all: true }, (error, found) => {
        if (error !== null) return done(error, []);
        // One address that is not allowed blocks a name: which one is used would be random.
        const why = found.map(({ address }) => whyBlocked(address)).find((one) => one !== null);
        if (why !== undefined) return done(why, []);
        if (options.all === true) return done(null, found);
        const [first] = found;
        if (first === undefined) return done(new Error(`There is no address of ${host}`), []);
        done(null, first.address, first.family);
      }),
  };
}

const guarded = new AsyncLocalStorage<EgressPolicy>();
let isGuarding = false;

/**
 * Runs foreign code, such as a client of Azure's, whose connections we do not make. One to an
 * address that is not allowed is closed when it is established, before anything is sent on it.
 */
export function guard<T>(policy: EgressPolicy | undefined, work: () => T): T {
  if (policy === undefined) return work();
  if (!isGuarding) subscribe("net.client.socket", judge);
  isGuarding = true;
  return guarded.run(policy, work);
}

function judge(message: unknown): void {
  const policy = guarded.getStore();
  if (policy === undefined) return;
  const { socket } = message as { readonly socket: Socket };
  socket.once("connect", () => {
    const why = policy.whyBlocked(socket.remoteAddress ?? "");
    if (why !== null) socket.destroy(why);
  });
}

/** Refusal: InvalidSetting. */
function listOf(networks: readonly string[], field: string): BlockList {
  const list = new BlockList();
  for (const network of networks.flatMap((name) => networkSets[name] ?? [name])) {
    const [address = "", bits, ...rest] = network.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const bitsMax = family === "ipv6" ? 128 : 32;
    const length = bits === undefined ? bitsMax : /^\d{1,3}$/.test(bits) ? Number(bits) : 999;
    if (isIP(address) === 0 || length > bitsMax || rest.length > 0) {
      const known = Object.keys(networkSets).join(", ");
      const allowed = `a network such as 10.0.0.0/8, or one of ${known}`;
      throw new Refusal("InvalidSetting", `${field} must be ${allowed}, and is "${network}"`);
    }
    list.addSubnet(address, length, family);
  }
  return list;
}
