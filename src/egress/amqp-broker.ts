// Queues and topics of any broker that speaks AMQP 1.0 (RabbitMQ, Artemis), in the place of Service
// Bus: one connection for the broker, one link for each address. Azure's own client cannot be used:
// it first sends a token to a node that only Azure has, and waits for an answer.
//
// A message is the one that Service Bus would get. Its settlement by the broker is the outcome.

import type { AmqpError, Connection, EventContext, Message, Sender } from "rhea";
import type { AmqpBroker } from "../core/azure/resources.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import { busMeaning, type Load, loadsOf, taken } from "./azure/bus-message.ts";
import { inTurn, once } from "./azure/client.ts";
import { type Bus, busAnnotations, meantByBus } from "./azure/servicebus.ts";
import { silent } from "./http/exchange.ts";
import { silenceOf, wordsOf } from "./http/message.ts";

type Rhea = typeof import("rhea");

/** AMQP's own names of what subscriptions may set, by the service's names in lower case. */
const slots = {
  messageid: "message_id",
  sessionid: "group_id",
  correlationid: "correlation_id",
  label: "subject",
  replyto: "reply_to",
  replytosessionid: "reply_to_group_id",
  to: "to",
} as const;

/** What ends everything on a connection. */
const endings = ["session_close", "connection_close", "disconnected"];

/** What went wrong on a connection or a link. */
class AmqpFailure extends Error {
  readonly condition: string;

  constructor(condition: string, description: string) {
    super(description || condition);
    this.condition = condition;
  }
}

export function openAmqpBroker(broker: AmqpBroker): Bus {
  let connection: Connection | null = null;
  const links = new Map<string, Promise<Sender>>();
  const rhea = once(async () => {
    const { default: loaded } = await inTurn(() => import("rhea"));
    return loaded as unknown as Rhea;
  });
  const forget = () => {
    connection = null;
    links.clear();
  };
  const connected = async (library: Rhea): Promise<Connection> => {
    if (connection !== null) return connection;
    const container = library.create_container({ id: `posthorn-${broker.name}` });
    const opened = container.connect(optionsFor(broker));
    connection = opened;
    // Some brokers end the session with all its links for what is wrong with one of them.
    for (const name of endings) {
      opened.on(name, () => {
        if (connection === opened) forget();
        if (name === "session_close") opened.close();
      });
    }
    // What is wrong with a connection reaches its links, too; unheard it would be thrown.
    for (const name of ["connection_error", "session_error", "protocol_error", "error"]) {
      opened.on(name, () => {});
    }
    return opened;
  };
  const linkTo = async (address: string): Promise<Sender> => {
    const known = links.get(address);
    if (known !== undefined) return await known;
    const opening = connected(await rhea()).then((open) => openLink(open, address));
    links.set(address, opening);
    const drop = () => {
      if (links.get(address) === opening) links.delete(address);
    };
    opening.then((sender) => sender.once("sender_close", drop), drop);
    return await opening;
  };
  return {
    async send(parcel, address, signal) {
      try {
        const library = await rhea();
        for (const load of loadsOf(parcel, meantByBus)) {
          const sender = await linkTo(address);
          const outcome = await sendOne(sender, messageOf(library, load), library, signal);
          if (outcome !== taken) return outcome;
        }
        return taken;
      } catch (error) {
        return outcomeOf(error as Error);
      }
    },
    async close() {
      const open = connection;
      forget();
      if (open === null || open.is_closed() || !open.is_open()) return;
      const closed = new Promise<void>((resolve) => {
        open.once("connection_close", () => resolve());
        open.once("disconnected", () => resolve());
      });
      open.close();
      await closed;
    },
  };
}

/** Without a name of a user the broker is asked to take us as nobody (SASL ANONYMOUS). */
function optionsFor({ host, port, isTls, user, password }: AmqpBroker) {
  return {
    host,
    port,
    reconnect: false,
    idle_time_out: 60_000,
    username: user ?? "anonymous",
    ...(password !== null && { password }),
    ...(isTls && { transport: "tls" as const, servername: host }),
  };
}

/** Resolves when the broker has opened the link, and rejects with why it has not. */
async function openLink(connection: Connection, address: string): Promise<Sender> {
  const sender = connection.open_sender({ target: { address }, snd_settle_mode: 0 });
  sender.on("sender_error", () => {});
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (context: EventContext) => reject(failureIn(context));
  // A link that is refused is opened for a moment, with no target, and then closed.
  sender.once("sender_open", () => {
    if ((sender as { target?: { address?: string } }).target?.address) resolve();
  });
  sender.once("sender_close", fail);
  for (const name of endings) connection.on(name, fail);
  try {
    await promise;
    return sender;
  } finally {
    sender.removeListener("sender_close", fail);
    for (const name of endings) connection.removeListener(name, fail);
  }
}

function failureIn(context: EventContext): Error {
  const { sender, session, connection } = context;
  const error = (sender?.error ?? session?.error ?? connection?.error ?? context.error) as
    | AmqpError
    | undefined;
  const { condition = "", description = "" } = error ?? {};
  if (condition !== "") return new AmqpFailure(condition, description);
  const cause = context.error;
  return cause instanceof Error ? cause : new Error("The connection was closed.");
}

function messageOf(rhea: Rhea, { body, contentType, id, properties, known }: Load): Message {
  const valuesIn = (names: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(names).flatMap(([name, slot]) => {
        const value = known.get(name);
        return value === undefined ? [] : [[slot, value]];
      }),
    );
  const noted = valuesIn(busAnnotations);
  return {
    durable: true,
    message_id: id,
    content_type: contentType,
    ...valuesIn(slots),
    ...(Object.keys(noted).length > 0 && { message_annotations: noted }),
    application_properties: properties,
    body: rhea.message.data_section(body),
  };
}

/** One message, until the broker has settled it. What is aborted is nobody's business any more. */
async function sendOne(
  sender: Sender,
  message: Message,
  rhea: Rhea,
  signal: AbortSignal,
): Promise<Outcome> {
  const bytes = rhea.message.encode(message);
  const { max_message_size: largest = 0 } = sender as { max_message_size?: number };
  if (largest > 0 && bytes.length > largest) {
    return { kind: "answered", status: 413, detail: "amqp:link:message-size-exceeded" };
  }
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const ends: (() => void)[] = [];
  const on = (source: Sender | Connection, name: string, hear: (context: EventContext) => void) => {
    source.on(name, hear);
    ends.push(() => source.removeListener(name, hear));
  };
  const fail = (context: EventContext) => reject(failureIn(context));
  on(sender, "sender_close", fail);
  for (const name of endings) on(sender.connection, name, fail);
  const stop = () => resolve(silent("timeout", "The send was aborted."));
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (!sender.sendable()) {
      const ready = new Promise<void>((go) => on(sender, "sendable", () => go()));
      await Promise.race([ready, promise]);
      if (signal.aborted) return await promise;
    }
    const delivery = sender.send(bytes as unknown as Message, undefined, 0);
    const isOurs = (context: EventContext) => context.delivery?.id === delivery.id;
    on(sender, "accepted", (context) => isOurs(context) && resolve(taken));
    on(sender, "rejected", (context) => {
      if (isOurs(context)) resolve(rejection(context.delivery?.remote_state?.error));
    });
    for (const name of ["released", "modified"]) {
      on(sender, name, (context) => isOurs(context) && resolve(notRouted));
    }
    return await promise;
  } finally {
    signal.removeEventListener("abort", stop);
    for (const end of ends) end();
  }
}

const notRouted: Outcome = { kind: "answered", status: 503, detail: "amqp:released" };

/** Without an error it is a queue that takes no more. */
function rejection(error: unknown): Outcome {
  const { condition } = (error ?? {}) as { condition?: unknown };
  if (typeof condition === "string") return outcomeOfCondition(condition);
  return { kind: "answered", status: 503, name: "Full", detail: "amqp:rejected" };
}

function outcomeOf(error: Error): Outcome {
  if (error instanceof AmqpFailure) return outcomeOfCondition(error.condition);
  return silent(silenceOf(error), wordsOf(error));
}

function outcomeOfCondition(condition: string): Outcome {
  return { kind: "answered", ...busMeaning(condition), detail: condition };
}
