// The topics of a domain: created with their first subscription or explicitly, listed, and deleted.

import { useState } from "react";
import type { TopicView } from "../../src/core/api/views.ts";
import { useAsked } from "../api.ts";
import { armPath, askArm } from "../arm.ts";
import { Button, makeStyles, tokens } from "../fluent.ts";
import { useSay } from "../frame/toasts.tsx";
import { DeleteRegular } from "../icons/drawings.tsx";
import { Form, TextField, useOrder } from "./form.tsx";
import { Answer, Card, Empty } from "./page.tsx";
import { Rows } from "./table.tsx";
import { Long } from "./texts.tsx";

const useStyles = makeStyles({ form: { maxWidth: "480px", marginTop: tokens.spacingVerticalL } });

interface DomainTopic {
  readonly name: string;
}

export function DomainTopics({ domain }: { readonly domain: TopicView }) {
  const styles = useStyles();
  const say = useSay();
  const { refused, run } = useOrder();
  const [name, setName] = useState("");
  const asked = useAsked<{ readonly value: readonly DomainTopic[] }>(
    armPath(`${domain.armId}/topics`),
  );
  const create = () =>
    void run(async () => {
      await askArm("PUT", `${domain.armId}/topics/${name.trim() || " "}`, {});
      say.done(`The topic ${name.trim()} has been created`);
      setName("");
      asked.again();
    });
  const remove = async (topic: DomainTopic) => {
    try {
      await askArm("DELETE", `${domain.armId}/topics/${topic.name}`);
      say.done(`The topic ${topic.name} has been removed`);
      asked.again();
    } catch (error) {
      say.refused("It could not be removed", error);
    }
  };
  return (
    <Card title="Topics of this domain">
      <Answer asked={asked} what="the topics of a domain">
        {({ value }) =>
          value.length === 0 ? (
            <Empty title="None yet">They are created with their first subscription, or here.</Empty>
          ) : (
            <Rows
              label="Topics of this domain"
              rows={value}
              keyOf={(topic) => topic.name}
              columns={[
                { title: "Name", show: (topic) => <Long>{topic.name}</Long> },
                {
                  title: "Remove",
                  width: "80px",
                  show: (topic) => (
                    <Button
                      size="small"
                      appearance="subtle"
                      icon={<DeleteRegular />}
                      aria-label={`Remove ${topic.name}`}
                      onClick={() => void remove(topic)}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </Answer>
      <div className={styles.form}>
        <Form refused={refused} submitWords="Add" onSubmit={create}>
          <TextField
            label="Another topic"
            path="domainTopicName"
            value={name}
            placeholder="customer-17"
            onChange={setName}
          />
        </Form>
      </div>
    </Card>
  );
}
