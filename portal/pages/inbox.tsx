// One test inbox: its address, how it answers, and requests as they come, with headers and body.

import { useRef, useState } from "react";
import type { InboxRequestView, InboxView } from "../../src/core/api/views.ts";
import { type Asked, apiPath, ask, useRead } from "../api.ts";
import type { PageProps } from "../app.tsx";
import { FigureStrip } from "../figures/strip.tsx";
import { Badge, Button, makeStyles, mergeClasses, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { DeleteRegular } from "../icons/drawings.tsx";
import { type AnswerMode, answerModes, answerWords, inboxEndpoint } from "../inbox/inbox.ts";
import { useLive, useTick } from "../live.ts";
import { Confirm } from "../parts/dialogs.tsx";
import { To } from "../parts/link.tsx";
import { Answer, Card, Empty, PageHead } from "../parts/page.tsx";
import { Code, CopyButton, Mono, When } from "../parts/texts.tsx";
import { eventPath, go, pathTo, subscriptionPath } from "../route.ts";
import { pretty } from "../story/exchange.ts";
import { sayBytes, sayLength, sayMany } from "../words.ts";

const useStyles = makeStyles({
  modes: { display: "flex", flexWrap: "wrap", gap: tokens.spacingHorizontalS },
  mode: { minWidth: "auto" },
  about: { color: tokens.colorNeutralForeground2, marginTop: tokens.spacingVerticalS },
  split: {
    display: "grid",
    gridTemplateColumns: "minmax(240px, 32%) minmax(0, 1fr)",
    gap: tokens.spacingHorizontalL,
    "@media (max-width: 800px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  list: {
    listStyleType: "none",
    margin: 0,
    padding: 0,
    maxHeight: "640px",
    overflowY: "auto",
    "@media (max-width: 800px)": { maxHeight: "260px" },
  },
  entry: {
    display: "grid",
    gridTemplateColumns: "1fr auto",
    width: "100%",
    gap: tokens.spacingHorizontalS,
    padding: tokens.spacingHorizontalS,
    border: "none",
    borderBottom: `1px solid ${tokens.colorNeutralStroke2}`,
    backgroundColor: "transparent",
    color: tokens.colorNeutralForeground1,
    font: "inherit",
    textAlign: "left",
    cursor: "pointer",
    ":hover": { backgroundColor: tokens.colorNeutralBackground1Hover },
    ":focus-visible": { outline: `2px solid ${tokens.colorStrokeFocus2}`, outlineOffset: "-2px" },
  },
  chosen: { backgroundColor: tokens.colorNeutralBackground1Selected },
  quiet: { color: tokens.colorNeutralForeground2, fontSize: tokens.fontSizeBase200 },
  headers: {
    display: "grid",
    gridTemplateColumns: "max-content minmax(0, 1fr)",
    columnGap: tokens.spacingHorizontalM,
    margin: `${tokens.spacingVerticalS} 0 ${tokens.spacingVerticalM}`,
    fontFamily: tokens.fontFamilyMonospace,
    fontSize: tokens.fontSizeBase200,
    "@media (max-width: 640px)": { gridTemplateColumns: "minmax(0, 1fr)" },
  },
  name: { color: tokens.colorNeutralForeground2 },
  value: { margin: 0, overflowWrap: "anywhere" },
  links: { display: "flex", flexWrap: "wrap", columnGap: tokens.spacingHorizontalM },
});

interface InboxPageView {
  readonly inbox: InboxView;
  readonly requests: readonly InboxRequestView[];
}

export function InboxPage({ names }: PageProps) {
  const name = names.inbox ?? "";
  const { asked, forget } = useRequests(name);
  const inbox = asked.value?.inbox;
  return (
    <>
      <PageHead
        title={name}
        subtitle={
          inbox === undefined ? (
            "Test inbox"
          ) : (
            <>
              <Mono>{inbox.url}</Mono>
              <CopyButton text={inbox.url} what="its address" />
            </>
          )
        }
        actions={inbox !== undefined && <Steering inbox={inbox} again={forget} />}
      />
      <Answer asked={asked} what="a test inbox">
        {(view) => (
          <>
            <Modes inbox={view.inbox} again={asked.again} />
            {view.inbox.subscriptions.length > 0 && (
              <FigureStrip scope={{ kind: "endpoint", name: inboxEndpoint(view.inbox) }} />
            )}
            <Requests {...view} />
          </>
        )}
      </Answer>
    </>
  );
}

/** Requests have bodies, so only those are asked for that are not here yet. */
function useRequests(name: string): {
  readonly asked: Asked<InboxPageView>;
  readonly forget: () => void;
} {
  const held = useRef<readonly InboxRequestView[]>([]);
  const asked = useRead<InboxPageView>(
    name,
    useTick(["inbox", "catalog"], 500),
    async (hold, signal) => {
      const read = (after?: number) =>
        ask<InboxPageView>("GET", apiPath(["inboxes", name], { after }), undefined, signal);
      const { inbox, requests } = await read(held.current[0]?.number ?? 0);
      const all = [...requests, ...held.current].slice(0, inbox.kept);
      // One may have come to another broker whose clock is behind.
      held.current = all.length < inbox.kept ? (await read()).requests : all;
      hold({ inbox, requests: held.current });
    },
  );
  const forget = () => {
    held.current = [];
    asked.again();
  };
  return { asked, forget };
}

function Steering({ inbox, again }: { readonly inbox: InboxView; readonly again: () => void }) {
  const say = useSay();
  const [isAsking, setAsking] = useState(false);
  const clear = async () => {
    try {
      await ask("POST", apiPath(["inboxes", inbox.name, "clear"]), {});
      say.done("Its requests are gone");
      again();
    } catch (error) {
      say.refused("It could not be cleared", error);
    }
  };
  return (
    <>
      <Button
        appearance="primary"
        onClick={() => go(pathTo(["subscriptions", "new"], { inbox: inbox.name }))}
      >
        Subscribe it
      </Button>
      <Button disabled={inbox.received === 0} onClick={() => void clear()}>
        Clear
      </Button>
      <Button icon={<DeleteRegular />} onClick={() => setAsking(true)}>
        Delete
      </Button>
      <Confirm
        title={`Delete the inbox ${inbox.name}?`}
        isOpen={isAsking}
        words="Delete it"
        onClose={() => setAsking(false)}
        onYes={async () => {
          await ask("DELETE", apiPath(["inboxes", inbox.name]));
          go("/portal/inboxes");
        }}
      >
        <p>
          {inbox.subscriptions.length === 0
            ? "Its requests are deleted with it."
            : `${sayMany(inbox.subscriptions.length, "subscription")} will get 404 from its address.`}
        </p>
      </Confirm>
    </>
  );
}

const slowMs = 5_000;

function Modes({ inbox, again }: { readonly inbox: InboxView; readonly again: () => void }) {
  const styles = useStyles();
  const say = useSay();
  const choose = async (mode: AnswerMode) => {
    try {
      const order = { mode, ...(mode === "slow" && { delayMs: slowMs }) };
      await ask("POST", apiPath(["inboxes", inbox.name, "answer"]), order);
      again();
    } catch (error) {
      say.refused("It answers as before", error);
    }
  };
  const { mode, delayMs } = inbox.answer;
  return (
    <Card title="It answers">
      <div className={styles.modes}>
        {answerModes.map(([each, words, about]) => (
          <Button
            key={each}
            className={styles.mode}
            appearance={each === mode ? "primary" : "secondary"}
            aria-pressed={each === mode}
            title={about}
            onClick={() => void choose(each)}
          >
            {words}
          </Button>
        ))}
      </div>
      <div className={styles.about}>
        {answerWords(inbox.answer)}
        {mode === "slow" && ` (${sayLength(delayMs)})`}.
        {inbox.subscriptions.length > 0 && " Subscribed: "}
        {inbox.subscriptions.map((named, index) => (
          <span key={`${named.topic} ${named.name}`}>
            {index > 0 && ", "}
            <To to={subscriptionPath(named)}>{`${named.topic} / ${named.name}`}</To>
          </span>
        ))}
      </div>
    </Card>
  );
}

const kindWords = {
  handshake: "Handshake",
  events: "Events",
  deletion: "Deletion notice",
  other: "Other",
} as const;

function Requests({ inbox, requests }: InboxPageView) {
  const styles = useStyles();
  const [wanted, setWanted] = useState<number | null>(null);
  const chosen = requests.find(({ number }) => number === wanted) ?? requests[0];
  const startedAt = useLive("overview")?.startedAt ?? null;
  const isOld = startedAt !== null && Date.parse(inbox.createdAt) < Date.parse(startedAt);
  if (chosen === undefined) {
    return (
      <Card>
        <Empty
          title={isOld ? "Nothing has come since the broker started" : "Nothing has come yet"}
          actions={
            inbox.subscriptions.length === 0 && (
              <Button
                appearance="primary"
                onClick={() => go(pathTo(["subscriptions", "new"], { inbox: inbox.name }))}
              >
                Subscribe it to a topic
              </Button>
            )
          }
        >
          Requests appear here as they come, and are kept until the broker stops.
        </Empty>
      </Card>
    );
  }
  return (
    <Card title="Requests">
      <div className={styles.split}>
        <ul className={styles.list} aria-label="Requests, the latest first">
          {requests.map((request) => (
            <li key={request.number}>
              <button
                type="button"
                className={mergeClasses(styles.entry, request === chosen && styles.chosen)}
                aria-pressed={request === chosen}
                onClick={() => setWanted(request.number)}
              >
                <span>
                  {request.kind === "events"
                    ? sayMany(request.events, "event")
                    : kindWords[request.kind]}
                </span>
                <Answered request={request} />
                <span className={styles.quiet}>
                  <When at={request.at} />
                </span>
                <span className={styles.quiet}>{sayBytes(request.bytes)}</span>
              </button>
            </li>
          ))}
        </ul>
        <Request request={chosen} />
      </div>
    </Card>
  );
}

function Answered({ request }: { readonly request: InboxRequestView }) {
  const { status } = request;
  return (
    <Badge appearance="tint" color={status < 300 ? "success" : "danger"}>
      {status}
    </Badge>
  );
}

function Request({ request }: { readonly request: InboxRequestView }) {
  const styles = useStyles();
  return (
    <div>
      <Mono>{`${request.method} ${request.kind}, answered ${request.status}`}</Mono>
      {request.eventIds.length > 0 && (
        <div className={styles.links}>
          {request.eventIds.slice(0, 10).map((id) => (
            <To key={id} to={eventPath(id)}>
              {`Story of ${id}`}
            </To>
          ))}
        </div>
      )}
      <dl className={styles.headers}>
        {request.headers.map(({ name, value }) => (
          <div key={name} style={{ display: "contents" }}>
            <dt className={styles.name}>{name}</dt>
            <dd className={styles.value}>{value}</dd>
          </div>
        ))}
      </dl>
      <Code text={pretty(request.body)} what="the body" wraps />
      {request.isCut && <span className={styles.quiet}>Only its beginning is kept.</span>}
    </div>
  );
}
