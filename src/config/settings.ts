// The table of settings: the name of each setting, how it is read, its default and a sentence for
// the operator. The configuration (config.ts), the help and the page docs/configuration.md
// (manual.ts) are made from it.
//
// A setting is in the table only if something reads it.

import { batchRanges } from "../core/delivery/batch.ts";
import { profileNames } from "../core/delivery/profile.ts";
import { shownTarget, storePlace } from "../core/text/connection-string.ts";
import {
  address,
  duration,
  hostName,
  instant,
  listOf,
  oneOf,
  onOrOff,
  path,
  text,
  wholeNumber,
} from "../core/text/setting-kinds.ts";
import { moduleKeys } from "../edge/environment-keys.ts";
import { type Setting, setting } from "./setting.ts";

/** By the broker's own name of each. */
export const settings = {
  http: setting({
    name: "http",
    kind: address(),
    default: "127.0.0.1:5888",
    example: "0.0.0.0:5888",
    about: "Address for publishers and operators; port 0 takes a free one.",
  }),
  https: setting({
    name: "https",
    kind: address(),
    default: "127.0.0.1:4438",
    example: "0.0.0.0:4438",
    about: "The same over TLS, which clients require for bearer tokens.",
  }),
  tlsCertFile: setting({
    name: "tls-cert",
    kind: path(),
    default: null,
    example: "/etc/posthorn/server.pem",
    about:
      "PEM file with the broker's certificate and its chain; read again every day. Without it a " +
      "local certificate authority is created in the data folder; clients trust its `ca.pem`.",
  }),
  tlsKeyFile: setting({
    name: "tls-key",
    kind: path(),
    default: null,
    example: "/etc/posthorn/server.key",
    about: "PEM file with the key of that certificate.",
  }),
  tlsNames: setting({
    name: "tls-names",
    kind: listOf(hostName()),
    default: null,
    example: "eventgridmodule,10.0.0.5",
    about:
      "Host names and addresses that clients reach the broker by, for the local certificate. " +
      "`localhost`, the machine's own host name and the address of `https` are always in it.",
    isList: true,
  }),
  dataFolder: setting({
    name: "data",
    kind: path(),
    default: "./posthorn-data",
    example: "/var/lib/posthorn",
    about:
      "Folder for the embedded store, keys and certificates (also with `--store memory`); created " +
      "if missing. Only one broker at a time can use it.",
  }),
  store: setting({
    name: "store",
    kind: storePlace(),
    default: "sqlite",
    example: "postgres://posthorn@db1,db2/posthorn",
    about:
      "Where events are kept. With `memory` they are lost when the broker stops. All brokers with " +
      "the same database are one cluster (docs/cluster.md); the data folder then holds only what " +
      "is this broker's own.",
    show: shownTarget,
  }),
  storePassword: setting({
    name: "store-password",
    kind: text("a password", /^[^\0]+$/),
    default: null,
    example: "correct-horse",
    about:
      "The password of the database's user, if it is not in `store`. Default: what is in " +
      "`store-password-file`, else `PGPASSWORD` in the environment. As an option it can be seen " +
      "in the list of processes.",
    isSecret: true,
  }),
  storePasswordFile: setting({
    name: "store-password-file",
    kind: path(),
    default: null,
    example: "/run/secrets/database",
    about: "A file with that password.",
  }),
  storeConnections: setting({
    name: "store-connections",
    kind: wholeNumber({ min: 3, max: 100 }),
    default: "6",
    example: "10",
    about:
      "Connections of this broker to the database: one for heartbeats, one for notices, the others " +
      "for events.",
  }),
  storeNotify: setting({
    name: "store-notify",
    kind: onOrOff(),
    default: "on",
    example: "off",
    about:
      "Whether brokers of a cluster tell each other of new events with LISTEN and NOTIFY. With " +
      "`off`, for databases without these, they look for events twice a second, and less often with " +
      "more than 2,500 subscriptions each.",
  }),
  storeLeaseMs: setting({
    name: "store-lease",
    kind: duration("PT1M"),
    default: "PT6S",
    example: "PT10S",
    about:
      "How long a broker of a cluster counts as alive after its last heartbeat; it sends four in " +
      "that time. Must be the same for all brokers.",
  }),
  storeUnsafe: setting({
    name: "store-unsafe",
    kind: onOrOff(),
    default: "off",
    example: "on",
    about:
      "With `on`, a database that may lose what was answered with 200 is accepted: one with `fsync`, " +
      "`full_page_writes` or `synchronous_commit` off.",
  }),
  profile: setting({
    name: "profile",
    kind: oneOf(profileNames),
    default: "azure",
    example: "azure-2020",
    about: "Which version of the service to behave like; a topic may choose another.",
  }),
  clock: setting({
    name: "clock",
    kind: oneOf(["real", "virtual"]),
    default: "real",
    example: "virtual",
    about: "With `virtual`, time stands still until `POST /clock` moves it. For tests.",
  }),
  clockStartAt: setting({
    name: "clock-start",
    kind: instant(),
    default: null,
    example: "2030-01-01T00:00:00Z",
    about:
      "The start of the virtual clock, but never before what the store has seen. Default: the real time.",
  }),
  clockPatienceMs: setting({
    name: "clock-patience",
    kind: duration("PT10M"),
    default: "PT2S",
    example: "PT5S",
    about: "How long, in real time, the virtual clock waits for an endpoint to answer.",
  }),
  seed: setting({
    name: "seed",
    kind: wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    default: null,
    example: "42",
    about: "Makes the random additions to waits repeatable.",
  }),
  auth: setting({
    name: "auth",
    kind: onOrOff(),
    default: "on",
    example: "off",
    about: "Whether keys and tokens are required. `off` needs every listener on loopback.",
  }),
  adminKey: setting({
    name: "admin-key",
    kind: text("1 to 256 visible ASCII characters without blanks", /^[\x21-\x7e]{1,256}$/),
    default: null,
    example: "c29tZXRoaW5nIGxvbmcgYW5kIHJhbmRvbQ==",
    about:
      "The key of the control plane, and the secret to sign in with. Without it one is created " +
      "once and kept in the data folder as `admin.key`. As an option it can be seen in the list " +
      "of processes: prefer the environment or the file.",
    isSecret: true,
  }),
  entraIssuer: setting({
    name: "entra-issuer",
    kind: text("a URL", /^https?:\/\/\S+$/),
    default: null,
    example: "https://sts.windows.net/11111111-2222-3333-4444-555555555555/",
    about: "The issuer whose bearer tokens may publish, exactly as in the tokens' `iss`.",
  }),
  entraAudiences: setting({
    name: "entra-audience",
    kind: listOf(text("a text without blanks", /^\S+$/)),
    default: "https://eventgrid.azure.net",
    example: "https://eventgrid.azure.net,11111111-2222-3333-4444-555555555555",
    about: "The audiences that such tokens may have (`aud`).",
    isList: true,
  }),
  entraJwks: setting({
    name: "entra-jwks",
    kind: path("a path or a URL"),
    default: null,
    example: "https://login.microsoftonline.com/common/discovery/keys",
    about: "The issuer's public keys, as a JSON Web Key Set; read with the first token.",
  }),
  configFile: setting({
    name: "config",
    kind: path(),
    default: null,
    example: "examples/first.json",
    about: "A JSON file with any of these settings, and with topics and subscriptions.",
    isKey: false,
  }),
  logLevel: setting({
    name: "log-level",
    kind: oneOf(["debug", "info", "warn", "error"]),
    default: "info",
    example: "debug",
    about: "The lowest level to log. Successful deliveries are logged at `debug`.",
  }),
  logFormat: setting({
    name: "log-format",
    kind: oneOf(["auto", "json", "text"]),
    default: "auto",
    example: "json",
    about: "JSON, one object per line, or text; `auto` writes text to a terminal only.",
  }),
  metricsNames: setting({
    name: "metrics-names",
    kind: oneOf(["local", "all", "admin"]),
    default: "local",
    example: "all",
    about:
      "Who sees the names of topics and subscriptions in `/metrics`: programs on this machine " +
      "(`local`), everybody (`all`), or only requests with the admin key (`admin`), which always " +
      "see them. Others get sums.",
  }),
  failureLog: setting({
    name: "failure-log",
    kind: path("a path, stdout or off"),
    default: "off",
    example: "/var/log/posthorn/failures.jsonl",
    about:
      "Where to log failed attempts and refused publishes in the shape of Azure's diagnostic " +
      "logs: a file, which is appended to, or `stdout`.",
  }),
  sendsMax: setting({
    name: "sends-max",
    kind: wholeNumber({ min: 8, max: 100_000 }),
    default: "1000",
    example: "200",
    about:
      "How many requests to all endpoints together may be in flight; never more than a fifth of the " +
      "files that the system lets the broker open. A quarter is kept for endpoints that answer.",
  }),
  endpointSendsMax: setting({
    name: "endpoint-concurrency",
    kind: wholeNumber({ min: 1, max: 10_000 }),
    default: "64",
    example: "8",
    about: "How many requests to one endpoint may be in flight at once.",
  }),
  healthFailuresMax: setting({
    name: "health-failures",
    kind: wholeNumber({ min: 1, max: 10_000 }),
    default: "10",
    example: "25",
    about: "How many failures in a row make an endpoint unhealthy, so that deliveries wait.",
  }),
  healthFirstWaitMs: setting({
    name: "health-first-wait",
    kind: duration("P1D"),
    default: "PT30S",
    example: "PT10S",
    about: "How long an unhealthy endpoint gets nothing before the first probe.",
  }),
  healthWaitGrowth: setting({
    name: "health-wait-growth",
    kind: wholeNumber({ min: 1, max: 10 }),
    default: "2",
    example: "3",
    about: "The wait is multiplied by this after each failed probe.",
  }),
  healthWaitMaxMs: setting({
    name: "health-wait-max",
    kind: duration("P7D"),
    default: "PT2H",
    example: "PT15M",
    about: "The longest wait between two probes of an unhealthy endpoint.",
  }),
  healthRecoverAtOnce: setting({
    name: "health-recover-at-once",
    kind: wholeNumber({ min: 1, max: 10_000 }),
    default: "16",
    example: "64",
    about:
      "A recovering endpoint gets one send at a time, then two, four and so on; with this many " +
      "at once it is healthy.",
  }),
  handshake: setting({
    name: "handshake",
    kind: onOrOff(),
    default: "on",
    example: "off",
    about: "Whether webhooks must agree before they get events. Those in the file never need to.",
  }),
  handshakePersistMs: setting({
    name: "handshake-persist",
    kind: duration("PT1H"),
    default: "PT2M",
    example: "PT15S",
    about: "How long a failing handshake is retried.",
  }),
  handshakeRefusedPersistMs: setting({
    name: "handshake-refused-persist",
    kind: duration("PT1H"),
    default: "PT15S",
    example: "PT2M",
    about:
      "The same when the endpoint says no: an unknown host, a refused connection, or a 4xx other " +
      "than 408 and 429. Never longer than handshake-persist.",
  }),
  defaultMaxEventsPerBatch: setting({
    name: "default-max-events-per-batch",
    kind: wholeNumber(batchRanges.maxEventsPerBatch),
    default: null,
    example: "25",
    about:
      "Events per batch for subscriptions that only give a preferred size. Default: 100, and 10 " +
      "in the API of the IoT Edge module.",
  }),
  defaultPreferredBatchKilobytes: setting({
    name: "default-preferred-batch-size",
    kind: wholeNumber(batchRanges.preferredBatchSizeInKilobytes),
    default: null,
    example: "256",
    about:
      "Preferred kilobytes per batch for subscriptions that only give the events per batch. " +
      "Default: 64, and 1,033.77 in the API of the IoT Edge module.",
  }),
  handshakeWindowMs: setting({
    name: "handshake-window",
    kind: duration("P1D"),
    default: "PT10M",
    example: "PT1H",
    about: "How long the validation URL can be used, by a person or by the webhook itself.",
  }),
  deadLetterPauseMs: setting({
    name: "dead-letter-pause",
    kind: duration("P1D"),
    default: "PT5M",
    example: "PT10S",
    about: "How long dead letters are collected before they are written to one blob.",
  }),
  deadLetterLimitMs: setting({
    name: "dead-letter-limit",
    kind: duration("P30D"),
    default: "PT4H",
    example: "P2D",
    about: "How long the write of a dead letter is retried before it is dropped.",
  }),
  bodiesBytesMax: setting({
    name: "request-bodies-bytes",
    kind: wholeNumber({ min: 8_388_608, max: 17_179_869_184 }),
    default: "134217728",
    example: "536870912",
    about:
      "How many bytes of request bodies may be in memory, over all connections, before requests " +
      "are refused with 429. Requests that need no credential get an eighth of it.",
  }),
  publishQueueBytesMax: setting({
    name: "publish-queue-bytes",
    kind: wholeNumber({ min: 1_048_576, max: 17_179_869_184 }),
    default: "67108864",
    example: "268435456",
    about: "How many bytes may wait for the disk before publishes are refused with 429.",
  }),
  publishWaitMaxMs: setting({
    name: "publish-wait-max",
    kind: duration("PT10M"),
    default: "PT2S",
    example: "PT10S",
    about:
      "How long a publish may have to wait for the disk: beyond that, further ones are refused " +
      "with 429 until the wait is below half of it.",
  }),
  story: setting({
    name: "story",
    kind: onOrOff(),
    default: "on",
    example: "off",
    about: "Whether the story of each event is kept: who matched, and every attempt.",
  }),
  storyTexts: setting({
    name: "story-texts",
    kind: oneOf(["all", "unmatched"]),
    default: "all",
    example: "unmatched",
    about:
      "Which events are kept whole with their story, so that they can be read and sent again: all, " +
      "or only those that some subscription did not match, to explain its filter.",
  }),
  storyKeptMs: setting({
    name: "story-keep",
    kind: duration("P3650D"),
    default: "P7D",
    example: "P30D",
    about:
      "How long stories of delivered events are kept, counted from their publish. Those of " +
      "waiting and undeliverable events are kept longer.",
  }),
  storyBytesMax: setting({
    name: "story-bytes",
    kind: wholeNumber({ min: 16_777_216, max: 1_099_511_627_776 }),
    default: "1073741824",
    example: "268435456",
    about:
      "How many bytes all stories may take: the oldest delivered ones are removed first, then " +
      "undeliverable ones, never waiting ones. With `--store memory` at most 64 MB.",
  }),
  stopGraceMs: setting({
    name: "stop-grace",
    kind: duration("PT1H"),
    default: "PT8S",
    example: "PT30S",
    about: "How long requests in flight may take when the broker stops.",
  }),
  egressBlocked: setting({
    name: "egress-block",
    kind: listOf(text("auto, off, a set of networks or a network", /^[0-9A-Za-z.:/-]+$/)),
    default: "auto",
    example: "public-only",
    about:
      "Networks that the broker never connects to: for events, handshakes, dead letters and " +
      "redrives. Sets: `loopback`, `link-local` (with metadata services), `private`, and " +
      "`public-only`, which blocks everything that is not the public network. `auto`: " +
      "`link-local` when a listener is not on loopback, else nothing.",
    isList: true,
  }),
  egressAllowed: setting({
    name: "egress-allow",
    kind: listOf(text("a set of networks or a network", /^[0-9A-Za-z.:/-]+$/)),
    default: null,
    example: "10.20.0.0/16",
    about: "Exceptions to `egress-block`.",
    isList: true,
  }),
  tlsCaFiles: setting({
    name: "tls-ca",
    kind: listOf(path()),
    default: null,
    example: "/etc/posthorn/own-ca.pem",
    about: "PEM files of authorities to trust at https endpoints, in addition to the usual ones.",
    isList: true,
  }),
  ...moduleKeys,
} as const;

/** In the order of the table. */
export const settingList: readonly Setting<unknown>[] = Object.values(settings);
