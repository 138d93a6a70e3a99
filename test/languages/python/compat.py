"""Microsoft's clients for Python, unmodified, against a broker: managing, publishing in every schema
with every kind of credential over TLS and plain, receiving, and reading what was received."""

import json
import os
import queue
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from azure.core.credentials import AzureKeyCredential, AzureSasCredential
from azure.core.messaging import CloudEvent
from azure.eventgrid import EventGridEvent, EventGridPublisherClient, generate_sas
from azure.identity import ClientSecretCredential
from azure.mgmt.eventgrid import EventGridManagementClient
from azure.mgmt.eventgrid.models import (
    EventSubscription,
    EventSubscriptionFilter,
    EventSubscriptionUpdateParameters,
    JsonInputSchemaMapping,
    JsonField,
    JsonFieldWithDefault,
    Topic,
    TopicRegenerateKeyRequest,
    WebHookEventSubscriptionDestination,
)

HTTP, HTTPS, CA = (os.environ[f"POSTHORN_{name}"] for name in ("HTTP", "HTTPS", "CA"))
GROUP, SUBSCRIPTION = "compat", "11111111-2222-3333-4444-555555555555"
received: queue.Queue = queue.Queue()


class Endpoint(BaseHTTPRequestHandler):
    """Agrees to both handshakes, and keeps everything else."""

    def do_OPTIONS(self):
        self.send_response(200)
        self.send_header("WebHook-Allowed-Origin", self.headers["WebHook-Request-Origin"])
        self.end_headers()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.send_response(200)
        self.end_headers()
        if self.headers.get("aeg-event-type") == "SubscriptionValidation":
            code = json.loads(body)[0]["data"]["validationCode"]
            self.wfile.write(json.dumps({"validationResponse": code}).encode())
        elif self.headers.get("aeg-event-type") == "Notification":
            received.put((self.headers, body))

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
threading.Thread(target=server.serve_forever, daemon=True).start()
hook = f"http://127.0.0.1:{server.server_port}/hook"

credential = ClientSecretCredential(
    os.environ["POSTHORN_TENANT"],
    "app",
    os.environ["POSTHORN_ADMIN_KEY"],
    authority=HTTPS,
    disable_instance_discovery=True,
    connection_verify=CA,
)
management = EventGridManagementClient(
    credential,
    SUBSCRIPTION,
    base_url=HTTPS,
    connection_verify=CA,
    credential_scopes=[f"{HTTPS}/.default"],
)

# Topics of all three schemas, each with a subscription.
mapping = JsonInputSchemaMapping(
    id=JsonField(source_field="number"),
    event_type=JsonFieldWithDefault(default_value="Order.Placed"),
    subject=JsonFieldWithDefault(source_field="what"),
    data_version=JsonFieldWithDefault(default_value="1"),
)
schemas = {
    "EventGridSchema": ("py-grid", "EventGridSchema", None),
    "CloudEventSchemaV1_0": ("py-cloud", "CloudEventSchemaV1_0", None),
    "CustomEventSchema": ("py-custom", "CustomInputSchema", mapping),
}
topics = {}
for schema, (name, delivery, mapped) in schemas.items():
    made = management.topics.begin_create_or_update(
        GROUP, name, Topic(location="local", input_schema=schema, input_schema_mapping=mapped)
    ).result()
    assert made.provisioning_state == "Succeeded", made
    terms = EventSubscription(
        destination=WebHookEventSubscriptionDestination(endpoint_url=hook),
        event_delivery_schema=delivery,
    )
    made_for = management.event_subscriptions.begin_create_or_update(made.id, "all", terms).result()
    assert made_for.provisioning_state == "Succeeded", made_for
    topics[schema] = made
names = [topic.name for topic in management.topics.list_by_resource_group(GROUP)]
assert sorted(names) == ["py-cloud", "py-custom", "py-grid"], names
keys = management.topics.list_shared_access_keys(GROUP, "py-grid")
renewed = management.topics.begin_regenerate_key(
    GROUP, "py-grid", TopicRegenerateKeyRequest(key_name="key2")
).result()
assert renewed.key1 == keys.key1 and renewed.key2 != keys.key2
scope = topics["EventGridSchema"].id
changed = EventSubscriptionUpdateParameters(filter=EventSubscriptionFilter(subject_begins_with="/orders/"))
updated = management.event_subscriptions.begin_update(scope, "all", changed).result()
assert updated.filter.subject_begins_with == "/orders/"
assert management.event_subscriptions.get_full_url(scope, "all").endpoint_url == hook


def event_of(schema, number):
    data = {"amount": 12.5, "note": "grün"}
    if schema == "EventGridSchema":
        return EventGridEvent(id=number, subject="/orders/1", event_type="Order.Placed", data=data, data_version="1")
    if schema == "CloudEventSchemaV1_0":
        return CloudEvent(id=number, source="/shop", type="Order.Placed", data=data)
    return {"number": number, "what": "/orders/1", "data": data}


published = {}
for base in (HTTPS, HTTP):
    for schema, (name, _, _) in schemas.items():
        endpoint = f"{base}/topics/{name}/api/events"
        key = management.topics.list_shared_access_keys(GROUP, name).key1
        until = datetime.now(timezone.utc) + timedelta(hours=1)
        credentials = {
            "key": AzureKeyCredential(key),
            "sas": AzureSasCredential(generate_sas(endpoint, key, until)),
            **({"token": credential} if base == HTTPS else {}),
        }
        for kind, given in credentials.items():
            number = f"py-{base.split(':')[0]}-{schema}-{kind}"
            with EventGridPublisherClient(endpoint, given, connection_verify=CA) as client:
                client.send([event_of(schema, number)])
            published[number] = schema

# What arrives is read by the same clients.
for _ in range(len(published)):
    headers, body = received.get(timeout=30)
    whole = json.loads(body)
    [one] = whole if isinstance(whole, list) else [whole]
    if "specversion" in one:
        event = CloudEvent.from_json(json.dumps(one))
        number, data = event.id, event.data
        assert event.source == "/shop" and event.time is not None
    elif "eventType" in one:
        event = EventGridEvent.from_json(json.dumps(one))
        number, data = event.id, event.data
        assert event.event_type == "Order.Placed" and event.topic.endswith("/topics/py-grid")
    else:
        number, data = one["number"], one["data"]
    assert data == {"amount": 12.5, "note": "grün"}, data
    assert headers["aeg-subscription-name"] == "ALL"
    published.pop(number)
assert not published, published

for schema, (name, _, _) in schemas.items():
    management.event_subscriptions.begin_delete(topics[schema].id, "all").result()
    management.topics.begin_delete(GROUP, name).result()
print("3 topics, 3 subscriptions, 15 events in 3 schemas by key, SAS and token, TLS and plain")
