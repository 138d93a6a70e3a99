// Ctrl-K: one box over pages, topics, subscriptions and event ids. It is loaded when it is first
// opened. What matches is found here, but for events, which the broker looks up by the beginning of
// their id.

import { type KeyboardEvent, type RefObject, useEffect, useId, useMemo, useState } from "react";
import type {
  EventSummary,
  Page,
  SearchPage,
  SubscriptionView,
  TopicView,
} from "../../src/core/api/views.ts";
import { apiPath, ask, useAsked } from "../api.ts";
import { Dialog, DialogSurface, Input, makeStyles, mergeClasses, tokens } from "../fluent.ts";
import {
  ChannelRegular,
  MailRegular,
  PulseRegular,
  SearchRegular,
  SendRegular,
} from "../icons/drawings.tsx";
import { eventPath, go, pathTo, subscriptionPath, topicPath } from "../route.ts";
import { ways } from "./navigation.tsx";

interface Found {
  readonly key: string;
  readonly icon: React.ReactNode;
  readonly title: string;
  readonly about: string;
  readonly to: string;
}

const shownMax = 9;
const eventsMax = 4;
/** After the last key, before the broker is asked. */
const restMs = 150;
const idMin = 3;

const useStyles = makeStyles({
  surface: {
    maxWidth: "600px",
    padding: 0,
    overflow: "hidden",
    // Near the top: the list grows downwards, and the box stays where it is.
    marginTop: "12vh",
    marginBottom: "auto",
  },
  input: { width: "100%", borderRadius: 0, "::after": { display: "none" } },
  list: {
    padding: tokens.spacingHorizontalXS,
    borderTop: `1px solid ${tokens.colorNeutralStroke2}`,
    maxHeight: "60vh",
    overflowY: "auto",
  },
  entry: {
    display: "flex",
    alignItems: "center",
    gap: tokens.spacingHorizontalM,
    padding: `${tokens.spacingVerticalS} ${tokens.spacingHorizontalM}`,
    borderRadius: tokens.borderRadiusMedium,
    cursor: "pointer",
    minWidth: 0,
  },
  chosen: { backgroundColor: tokens.colorNeutralBackground1Selected },
  icon: { display: "inline-flex", fontSize: "18px", color: tokens.colorNeutralForeground2 },
  title: {
    overflow: "hidden",
    textOverflow: "ellipsis",
    whiteSpace: "nowrap",
    flexShrink: 1,
    minWidth: 0,
  },
  about: {
    marginLeft: "auto",
    color: tokens.colorNeutralForeground2,
    fontSize: tokens.fontSizeBase200,
    whiteSpace: "nowrap",
    flexShrink: 0,
  },
  hint: {
    padding: `${tokens.spacingVerticalXS} ${tokens.spacingHorizontalM}`,
    borderTop: `1px solid ${tokens.colorNeutralStroke2}`,
    color: tokens.colorNeutralForeground2,
    fontSize: tokens.fontSizeBase200,
  },
});

export function Palette({
  begun,
  onClose,
}: {
  /** What was typed while this was loaded. */
  readonly begun: RefObject<string>;
  readonly onClose: () => void;
}) {
  const styles = useStyles();
  const id = useId();
  const [text, setText] = useState(begun.current);
  const [place, setPlace] = useState(0);
  const found = useFound(text);
  const chosen = Math.min(place, found.length - 1);
  const open = (entry: Found | undefined) => {
    if (entry === undefined) return;
    onClose();
    go(entry.to);
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setPlace((chosen + step + found.length) % found.length);
    else if (event.key === "Enter") open(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog open onOpenChange={(_, { open: isOpen }) => !isOpen && onClose()}>
      <DialogSurface className={styles.surface} aria-label="Go to">
        <Input
          className={styles.input}
          size="large"
          appearance="filled-lighter"
          contentBefore={<SearchRegular />}
          placeholder="Topic, subscription, event id or page"
          aria-label="Topic, subscription, event id or page"
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={chosen < 0 ? undefined : `${id}-${chosen}`}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onKeyDown={key}
          onChange={(_, { value }) => {
            setText(value);
            setPlace(0);
          }}
        />
        <div className={styles.list} id={`${id}-list`} role="listbox" aria-label="Found">
          {found.map((entry, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled in the box above.
            <div
              key={entry.key}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen}
              className={mergeClasses(styles.entry, index === chosen && styles.chosen)}
              onPointerMove={() => setPlace(index)}
              onClick={() => open(entry)}
            >
              <span className={styles.icon}>{entry.icon}</span>
              <span className={styles.title}>{entry.title}</span>
              <span className={styles.about}>{entry.about}</span>
            </div>
          ))}
        </div>
        <div className={styles.hint}>↑ ↓ to choose, Enter to open, Esc to close</div>
      </DialogSurface>
    </Dialog>
  );
}

function useFound(text: string): readonly Found[] {
  const topics = useAsked<Page<TopicView>>(apiPath(["topics"])).value?.value;
  const subscriptions = useAsked<Page<SubscriptionView>>(apiPath(["subscriptions"])).value?.value;
  const events = useEvents(text.trim());
  return useMemo(() => {
    const wanted = text.trim().toLowerCase();
    const score = (name: string) => {
      const at = name.toLowerCase().indexOf(wanted);
      return at < 0 ? null : at === 0 ? 0 : 1;
    };
    const named = [
      ...ways.map(({ title, to, icon }) => ({ key: to, icon, title, about: "page", to })),
      ...(topics ?? []).map(({ name, kind }) => ({
        key: `topic ${name}`,
        icon: <ChannelRegular />,
        title: name,
        about: kind,
        to: topicPath(name),
      })),
      ...(subscriptions ?? []).map((each) => ({
        key: each.armId,
        icon: <SendRegular />,
        title: each.name,
        about: `subscription of ${each.topic}`,
        to: subscriptionPath(each),
      })),
    ]
      .flatMap((each) => {
        const own = score(each.title);
        return own === null ? [] : [{ ...each, own }];
      })
      .sort((one, other) => one.own - other.own)
      .slice(0, shownMax - Math.min(eventsMax, events.length));
    const found: Found[] = [
      ...named,
      ...events.slice(0, eventsMax).map(({ event, id, type, topic }) => ({
        key: `event ${event}`,
        icon: <MailRegular />,
        title: id,
        about: `${type} in ${topic}`,
        to: eventPath(event),
      })),
    ];
    if (wanted !== "") {
      found.push({
        key: "search",
        icon: <PulseRegular />,
        title: `Search deliveries for “${text.trim()}”`,
        about: "search",
        to: pathTo(["deliveries"], { q: text.trim() }),
      });
    }
    return found;
  }, [text, topics, subscriptions, events]);
}

const none: readonly EventSummary[] = [];

/** By a part of the id, after a short rest. */
function useEvents(text: string): readonly EventSummary[] {
  const [held, setHeld] = useState({ text: "", value: none });
  useEffect(() => {
    if (text.length < idMin || /\s/.test(text)) return;
    const left = new AbortController();
    const timer = setTimeout(async () => {
      const path = apiPath(["events"], { q: `id:"${text.replaceAll('"', "")}"`, limit: eventsMax });
      const found = await ask<SearchPage<EventSummary>>("GET", path, undefined, left.signal).catch(
        () => null,
      );
      if (found !== null) setHeld({ text, value: found.value });
    }, restMs);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [text]);
  return held.text === text ? held.value : none;
}
