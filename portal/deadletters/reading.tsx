// One dead letter: its facts, and the record as written.

import type { DeadLetterView } from "../../src/core/api/views.ts";
import { apiPath, useAsked } from "../api.ts";
import {
  Button,
  Dialog,
  DialogActions,
  DialogBody,
  DialogContent,
  DialogSurface,
  DialogTitle,
  makeStyles,
} from "../fluent.ts";
import { To } from "../parts/link.tsx";
import { Answer } from "../parts/page.tsx";
import { Code, Facts, Mono, When } from "../parts/texts.tsx";
import { pathTo } from "../route.ts";
import { pretty } from "../story/exchange.ts";
import { sayMany } from "../words.ts";

const useStyles = makeStyles({ surface: { maxWidth: "820px" } });

export function Reading({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const styles = useStyles();
  const asked = useAsked<DeadLetterView>(apiPath(["dead-letters", id]));
  return (
    <Dialog open onOpenChange={(_, { open }) => !open && onClose()}>
      <DialogSurface className={styles.surface}>
        <DialogBody>
          <DialogTitle>Dead letter</DialogTitle>
          <DialogContent>
            <Answer asked={asked} what="one dead letter">
              {(letter) => (
                <>
                  <Facts
                    facts={[
                      [
                        "Event",
                        <To key="event" to={pathTo(["deliveries"], { id: letter.eventId })}>
                          {letter.eventId}
                        </To>,
                      ],
                      ["Type", letter.type],
                      ["Subject", letter.subject],
                      ["Subscription", letter.subscription],
                      ["Reason", letter.reason],
                      [
                        "Last outcome",
                        letter.status === null
                          ? letter.outcome
                          : `${letter.status} ${letter.outcome}`,
                      ],
                      ["Attempts", `${letter.attempts}`],
                      ["Published", <When key="published" at={letter.publishedAt} />],
                      ["Last attempt", <When key="last" at={letter.lastAttemptAt} />],
                      ["Written", <When key="written" at={letter.writtenAt} />],
                      ["Sent again", sayMany(letter.redriven, "time")],
                      [
                        "In",
                        <Mono key="blob">{`${letter.account}/${letter.container}/${letter.blob}`}</Mono>,
                      ],
                    ]}
                  />
                  <br />
                  {letter.record !== undefined && (
                    <Code text={pretty(letter.record)} what="the record" wraps />
                  )}
                </>
              )}
            </Answer>
          </DialogContent>
          <DialogActions>
            <Button appearance="primary" onClick={onClose}>
              Close
            </Button>
          </DialogActions>
        </DialogBody>
      </DialogSurface>
    </Dialog>
  );
}
