// Creates or changes a topic or a domain. What cannot be changed later is not offered again.

import { useState } from "react";
import { profileNames } from "../../src/core/delivery/profile.ts";
import { type ArmTopic, askArm, newTopicId, putTopic, type TopicKind } from "../arm.ts";
import { useSay } from "../frame/toasts.tsx";
import { refreshOverview } from "../live.ts";
import { FormDialog } from "../parts/dialogs.tsx";
import {
  AreaField,
  bound,
  ChoiceField,
  FieldRow,
  Form,
  SwitchField,
  TextField,
  useOrder,
} from "../parts/form.tsx";
import { go, topicPath } from "../route.ts";
import { saySchema } from "../words.ts";
import { Diff, type Names } from "./diff.tsx";
import { numberOr } from "./draft.ts";
import { useDraft } from "./edit.tsx";

const schemas = ["EventGridSchema", "CloudEventSchemaV1_0", "CustomEventSchema"].map(
  (name) => [name, saySchema(name)] as const,
);

const profileChoices = [
  ["", "the broker's default"],
  ...profileNames.map((name) => [name, name] as const),
] as const;

interface Draft {
  readonly profile: string;
  readonly port: string;
  readonly disableLocalAuth: boolean;
  readonly isPublic: boolean;
  readonly ipRules: string;
  readonly autoCreate: boolean;
  readonly autoDelete: boolean;
}

const plainDraft: Draft = {
  profile: "",
  port: "",
  disableLocalAuth: false,
  isPublic: true,
  ipRules: "",
  autoCreate: true,
  autoDelete: true,
};

/** Empty fields mean the default; what is not a number is sent as written, to be refused. */
function propertiesOf(draft: Draft, kind: TopicKind): object {
  const masks = draft.ipRules.split(/[\s,]+/).filter((mask) => mask !== "");
  return {
    posthorn: { profile: draft.profile || null, port: numberOr(draft.port) },
    disableLocalAuth: draft.disableLocalAuth,
    publicNetworkAccess: draft.isPublic ? "Enabled" : "Disabled",
    inboundIpRules: masks.map((ipMask) => ({ ipMask, action: "Allow" })),
    ...(kind === "domain" && {
      autoCreateTopicWithFirstSubscription: draft.autoCreate,
      autoDeleteTopicWithLastSubscription: draft.autoDelete,
    }),
  };
}

function DraftFields({
  draft,
  change,
  kind,
}: {
  readonly draft: Draft;
  readonly change: (changes: Partial<Draft>) => void;
  readonly kind: TopicKind;
}) {
  const own = bound(draft, change);
  return (
    <>
      <FieldRow>
        <ChoiceField
          label="Profile"
          path="properties.posthorn.profile"
          hint="The version of the service that its deliveries follow."
          {...own("profile")}
          choices={profileChoices}
        />
        <TextField
          label="Own port"
          path="properties.posthorn.port"
          hint="For old clients that keep only host and port."
          {...own("port")}
        />
      </FieldRow>
      <AreaField
        label="Addresses that may publish"
        path="properties.inboundIpRules"
        hint="IP addresses or ranges such as 10.0.0.0/8, one per line. Empty: all."
        rows={2}
        {...own("ipRules")}
      />
      <SwitchField
        label="Public network access"
        path="properties.publicNetworkAccess"
        {...own("isPublic")}
      />
      <SwitchField
        label="Bearer tokens only, no keys"
        path="properties.disableLocalAuth"
        {...own("disableLocalAuth")}
      />
      {kind === "domain" && (
        <FieldRow>
          <SwitchField
            label="Create its topics with their first subscription"
            {...own("autoCreate")}
          />
          <SwitchField label="Delete them with their last" {...own("autoDelete")} />
        </FieldRow>
      )}
    </>
  );
}

const mappingMembers = ["id", "topic", "eventTime", "eventType", "subject", "dataVersion"] as const;
const mappingDefaults: readonly string[] = ["eventType", "subject", "dataVersion"];

type Mapping = Readonly<
  Record<string, { readonly sourceField: string; readonly defaultValue: string }>
>;

function mappingOf(mapping: Mapping): object {
  const members = mappingMembers.map((name) => {
    const { sourceField = "", defaultValue = "" } = mapping[name] ?? {};
    const withDefault = mappingDefaults.includes(name) && { defaultValue: defaultValue || null };
    return [name, { sourceField: sourceField || null, ...withDefault }];
  });
  return { inputSchemaMappingType: "Json", properties: Object.fromEntries(members) };
}

function MappingFields({
  mapping,
  onChange,
}: {
  readonly mapping: Mapping;
  readonly onChange: (mapping: Mapping) => void;
}) {
  const usual = { sourceField: "", defaultValue: "" };
  const change = (name: string, changes: object) =>
    onChange({ ...mapping, [name]: { ...usual, ...mapping[name], ...changes } });
  return mappingMembers.map((name) => (
    <FieldRow key={name}>
      <TextField
        label={`${name}: field in your event`}
        path={`properties.inputSchemaMapping.properties.${name}`}
        value={mapping[name]?.sourceField ?? ""}
        onChange={(sourceField) => change(name, { sourceField })}
      />
      {mappingDefaults.includes(name) && (
        <TextField
          label={`${name}: otherwise`}
          value={mapping[name]?.defaultValue ?? ""}
          onChange={(defaultValue) => change(name, { defaultValue })}
        />
      )}
    </FieldRow>
  ));
}

export function NewTopic({
  kind: given,
  onClose,
}: {
  readonly kind: TopicKind;
  readonly onClose: () => void;
}) {
  const say = useSay();
  const { refused, run } = useOrder();
  const [kind, setKind] = useState<TopicKind>(given);
  const [name, setName] = useState("");
  const [inputSchema, setInputSchema] = useState<string>("EventGridSchema");
  const [mapping, setMapping] = useState<Mapping>({});
  const [draft, setDraft] = useState(plainDraft);
  const [isMore, setMore] = useState(false);
  const create = () =>
    void run(async () => {
      const properties = {
        inputSchema,
        ...(inputSchema === "CustomEventSchema" && { inputSchemaMapping: mappingOf(mapping) }),
        ...propertiesOf(draft, kind),
      };
      await putTopic(newTopicId(kind, name.trim() || " "), properties);
      await refreshOverview();
      say.done(`The ${kind} ${name} has been created`);
      go(topicPath(name.trim()));
    });
  return (
    <FormDialog
      title={`Create a ${kind}`}
      isOpen
      onClose={onClose}
      refused={refused}
      submitWords="Create"
      onSubmit={create}
    >
      <FieldRow>
        <TextField
          label="Name"
          path={`${kind}Name`}
          isRequired
          value={name}
          placeholder="orders"
          onChange={setName}
        />
        <ChoiceField
          label="Kind"
          value={kind}
          choices={[
            ["topic", "topic"],
            ["domain", "domain"],
          ]}
          onChange={(value) => setKind(value === "domain" ? "domain" : "topic")}
        />
      </FieldRow>
      <ChoiceField
        label="Events are published as"
        path="properties.inputSchema"
        value={inputSchema}
        choices={schemas}
        onChange={setInputSchema}
      />
      {inputSchema === "CustomEventSchema" && (
        <MappingFields mapping={mapping} onChange={setMapping} />
      )}
      <SwitchField label="More settings" value={isMore} onChange={setMore} />
      {isMore && (
        <DraftFields
          draft={draft}
          kind={kind}
          change={(changes) => setDraft((before) => ({ ...before, ...changes }))}
        />
      )}
    </FormDialog>
  );
}

const names: Names<Draft> = {
  profile: "Profile",
  port: "Own port",
  ipRules: "Addresses that may publish",
  isPublic: "Public network access",
  disableLocalAuth: "Bearer tokens only, no keys",
  autoCreate: "Create its topics with their first subscription",
  autoDelete: "Delete them with their last",
};

/** For an existing one. */
export function TopicForm({
  topic,
  kind,
  onSaved,
}: {
  readonly topic: ArmTopic;
  readonly kind: TopicKind;
  readonly onSaved: () => void;
}) {
  const say = useSay();
  const { properties } = topic;
  const kept: Draft = {
    profile: properties.posthorn?.profile ?? "",
    port: properties.posthorn?.port?.toString() ?? "",
    disableLocalAuth: properties.disableLocalAuth,
    isPublic: properties.publicNetworkAccess === "Enabled",
    ipRules: (properties.inboundIpRules ?? []).map(({ ipMask }) => ipMask).join("\n"),
    autoCreate: properties.autoCreateTopicWithFirstSubscription ?? true,
    autoDelete: properties.autoDeleteTopicWithLastSubscription ?? true,
  };
  const { draft, change, changes, form } = useDraft(kept, names, async (given) => {
    await askArm("PATCH", topic.id, { properties: propertiesOf(given, kind) });
    say.done("Saved");
    onSaved();
  });
  return (
    <Form {...form}>
      <DraftFields {...{ draft, change, kind }} />
      <Diff changes={changes} />
    </Form>
  );
}
