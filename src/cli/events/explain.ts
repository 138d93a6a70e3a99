// `posthorn explain`: the story of one event, from its publish to the end of each of its
// deliveries, drawn as text: each attempt with its time, its answer, and the decision.

import type { AttemptView, DeliveryState, DeliveryStory, Story } from "../../core/api/views.ts";
import { openClient } from "../client.ts";
import type { Row, Run } from "../command.ts";
import { type Paint, painter } from "../print/output.ts";

export const explainEvent: Run = async (given, outside) => {
  const id = given.operands[0] ?? "";
  const path = `/api/v1/events/${encodeURIComponent(id)}`;
  const story = (await openClient(given, outside).get(path)) as unknown as Story;
  const isDrawn = outside.form === "table" && !given.has("query");
  if (!isDrawn) return { value: story };
  outside.print(drawStory(story, painter(outside)));
  return {};
};

function drawStory(story: Story, paint: Paint): string {
  const { event, id, topic, domainTopic, type, subject, acceptedAt, acceptedWith } = story;
  const where = domainTopic === null ? topic : `${topic}/${domainTopic}`;
  const lines = [
    `${paint("bold", `event ${event}`)}  id ${id}`,
    `  topic    ${where}`,
    `  type     ${type}`,
    `  subject  ${subject}`,
    `  accepted ${acceptedAt} with ${acceptedWith}, ${story.bytes} bytes, ${story.schema}`,
    ...(story.traceparent === null ? [] : [`  trace    ${story.traceparent}`]),
    ...story.deliveryStories.flatMap((delivery) => ["", ...drawDelivery(delivery, paint)]),
    ...drawUnmatched(story, paint),
    ...(story.cut === null ? [] : ["", paint("dim", story.cut)]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Labels of the final states; all others are in progress. */
const colours: Partial<Record<DeliveryState, "green" | "red">> = {
  delivered: "green",
  deadLettering: "red",
  deadLettered: "red",
  dropped: "red",
};

function drawDelivery(delivery: DeliveryStory, paint: Paint): string[] {
  const { subscription, endpoint, state, attempts } = delivery;
  const head = `${paint("bold", subscription)} → ${endpoint}: ${paint(colours[state] ?? "yellow", state)}`;
  const ends = [
    ...delivery.remarks.map(({ at, words }) => `${at}  ${words}`),
    ...endLines(delivery),
  ];
  return [
    head,
    ...attempts.flatMap((attempt, index) => {
      const isLast = index === attempts.length - 1 && ends.length === 0;
      return drawAttempt(attempt, isLast, paint);
    }),
    ...ends.map((line, index) => `  ${index === ends.length - 1 ? "└─" : "├─"} ${line}`),
  ];
}

function drawAttempt(attempt: AttemptView, isLast: boolean, paint: Paint): string[] {
  const { stage, number, at, durationMs, outcome, status, decision, words } = attempt;
  const what = stage === "deadLetter" ? `write ${number}` : `attempt ${number}`;
  const saw = status === null ? outcome : `${status} ${outcome}`;
  const late = attempt.isLate ? ", late" : "";
  const batch = attempt.batch > 1 ? `, with ${attempt.batch - 1} others` : "";
  const colour = decision === "delivered" ? "green" : "yellow";
  const [bend, line] = isLast ? ["└─", "  "] : ["├─", "│ "];
  return [
    `  ${bend} ${at}  ${what}: ${paint(colour, saw)} in ${Math.round(durationMs)} ms${late}${batch}`,
    `  ${line}   ${words}`,
    ...(attempt.detail === null ? [] : [`  ${line}   ${paint("dim", attempt.detail)}`]),
    ...(attempt.excerpt === null
      ? []
      : [`  ${line}   ${paint("dim", firstLine(attempt.excerpt))}`]),
  ];
}

function endLines(delivery: DeliveryStory): string[] {
  const { state, nextDueAt, held, expiresAt, attemptsLeft, reason, endedAt, deadLetter } = delivery;
  if (state === "waiting") {
    const left = attemptsLeft === null ? "" : `, ${attemptsLeft} attempts left`;
    const until = expiresAt === null ? "" : `, alive until ${expiresAt}`;
    const next = nextDueAt === null ? "no next attempt" : `next attempt ${nextDueAt}`;
    return [`${next}${left}${until}`, ...(held === null ? [] : [held])];
  }
  const why = reason === null ? "" : `: ${reason}`;
  const place =
    deadLetter === null
      ? []
      : [`in ${deadLetter.account}/${deadLetter.container}/${deadLetter.blob}`];
  return [`${endedAt ?? ""}  ${state}${why}`.trim(), ...place];
}

function drawUnmatched({ unmatched }: Story, paint: Paint): string[] {
  if (unmatched.length === 0) return [];
  return [
    "",
    ...unmatched.map(
      ({ subscription, clause, because }) =>
        `${paint("dim", `${subscription}: not matched`)}, ${clause}: ${because}`,
    ),
  ];
}

function firstLine(text: string): string {
  return (text.split(/\r?\n/, 1)[0] ?? "").slice(0, 120);
}

export const listEvents: Run = async (given, outside) => {
  const query = new URLSearchParams();
  const names: Readonly<Record<string, string>> = {
    id: "id",
    subject: "subject",
    type: "type",
    "topic-name": "topic",
    name: "subscription",
    state: "state",
    from: "from",
    to: "to",
    after: "after",
    limit: "limit",
  };
  for (const [option, name] of Object.entries(names)) {
    const value = given.one(option);
    if (value !== null) query.set(name, value);
  }
  const page = await openClient(given, outside).get(`/api/v1/events?${query}`);
  const events = (Array.isArray(page.value) ? page.value : []) as Story[];
  return {
    value: page.next == null ? events : { value: events, next: page.next },
    rows: events.map(rowOf),
    wide: events.map((each) => ({ ...rowOf(each), Subject: each.subject, Event: each.event })),
  };
};

function rowOf({ id, topic, type, acceptedAt, deliveries }: Story): Row {
  return {
    Id: id,
    Topic: topic,
    Type: type,
    Accepted: acceptedAt,
    Deliveries: deliveries.map((each) => `${each.subscription}: ${each.state}`).join(", "),
  };
}
