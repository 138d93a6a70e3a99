// Where events go: a webhook that can be tested while the form is filled, a test inbox inside the
// broker, or an Azure resource by its id.

import { useState } from "react";
import type { InboxView, Page, TriedUrl } from "../../src/core/api/views.ts";
import { idWords } from "../../src/core/azure/resource-id.ts";
import { resourceForms } from "../../src/core/azure/resources.ts";
import { apiPath, ask, useAsked } from "../api.ts";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { bound, ChoiceField, FieldRow, TextField, useOrder } from "../parts/form.tsx";
import { Note, Refusal } from "../parts/page.tsx";
import { Fold } from "../parts/steps.tsx";
import { Code } from "../parts/texts.tsx";
import { answerText, requestText } from "../story/exchange.ts";
import { sayTook } from "../words.ts";
import { type Draft, type FieldsProps, inboxType, isWebHook } from "./draft.ts";

const useStyles = makeStyles({
  test: { display: "flex", flexDirection: "column", gap: tokens.spacingVerticalS },
});

const to = "properties.destination.properties";

const endpointTypes = [
  ["WebHook", "Webhook"],
  ...Object.values(resourceForms).map(({ endpointType }) => [endpointType, endpointType] as const),
] as const;

export function Destination({
  draft,
  change,
  keptUrl,
}: FieldsProps & { readonly keptUrl: string | null }) {
  const own = bound(draft, change);
  const choices =
    keptUrl === null
      ? [...endpointTypes, [inboxType, "Test inbox in Posthorn"] as const]
      : endpointTypes;
  return (
    <>
      <ChoiceField
        label="Endpoint type"
        path="properties.destination.endpointType"
        {...own("endpointType")}
        choices={choices}
      />
      {draft.endpointType === inboxType && <InboxField draft={draft} change={change} />}
      {isWebHook(draft) && (
        <>
          <TextField
            label="URL"
            path={`${to}.endpointUrl`}
            isRequired={keptUrl === null}
            {...own("endpointUrl")}
            placeholder={keptUrl ?? "https://example.com/hook"}
            hint={
              keptUrl === null
                ? "It must pass a handshake before the first event."
                : "Leave empty to keep it. Its query is not shown, because it often is a secret."
            }
          />
          <TestNow draft={draft} />
        </>
      )}
      {!isWebHook(draft) && draft.endpointType !== inboxType && (
        <ResourceFields draft={draft} change={change} />
      )}
    </>
  );
}

function InboxField({ draft, change }: FieldsProps) {
  const own = bound(draft, change);
  const { value } = useAsked<Page<InboxView>>(apiPath(["inboxes"]));
  const names = (value?.value ?? []).map(({ name }) => name);
  return (
    <TextField
      label="Test inbox"
      path="name"
      isRequired
      {...own("inbox")}
      hint={
        names.length === 0
          ? "It is made if there is none of this name. Its page shows every request."
          : `There are: ${names.join(", ")}. Another name makes a new one.`
      }
    />
  );
}

const intents = { agreed: "success", heard: "warning", failed: "error" } as const;

/** The handshake, as the broker would make it, with what came back. */
function TestNow({ draft }: { readonly draft: Draft }) {
  const styles = useStyles();
  const { refused, run } = useOrder();
  const [tested, setTested] = useState<(TriedUrl & { readonly url: string }) | null>(null);
  const url = draft.endpointUrl.trim();
  const test = () =>
    void run(async () => {
      setTested(null);
      const deliverySchema = draft.deliverySchema || undefined;
      const answer = await ask<TriedUrl>("POST", apiPath(["try-url"]), { url, deliverySchema });
      setTested({ ...answer, url });
    });
  return (
    <div className={styles.test}>
      <div>
        <Button size="small" disabled={url === ""} onClick={test}>
          Test now
        </Button>
      </div>
      <div aria-live="polite">
        {refused !== null && <Refusal refused={refused} />}
        {tested !== null && tested.url === url && (
          <>
            <Note intent={intents[tested.verdict]}>
              {tested.words} ({sayTook(tested.durationMs)})
            </Note>
            <Fold title="What was said" summary="request and answer">
              <Code
                text={requestText({ ...tested.request, url: tested.url })}
                what="the request"
                wraps
              />
              {tested.answer !== null && (
                <Code text={answerText(tested.answer)} what="the answer" wraps />
              )}
            </Fold>
          </>
        )}
      </div>
    </div>
  );
}

function ResourceFields({ draft, change }: FieldsProps) {
  const own = bound(draft, change);
  const form = Object.values(resourceForms).find(
    ({ endpointType }) => endpointType === draft.endpointType,
  );
  return (
    <>
      <TextField
        label="Resource id"
        path={`${to}.resourceId`}
        isRequired
        {...own("resourceId")}
        hint={form === undefined ? undefined : idWords(form.pattern)}
      />
      {draft.endpointType === "StorageQueue" && (
        <FieldRow>
          <TextField label="Queue" path={`${to}.queueName`} {...own("queueName")} />
          <TextField
            label="Time to live in the queue, in seconds"
            path={`${to}.queueMessageTimeToLiveInSeconds`}
            {...own("queueTtl")}
          />
        </FieldRow>
      )}
    </>
  );
}
