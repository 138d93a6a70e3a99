"""Microsoft's clients for Python, unmodified, against namespaces of a broker: managing them, publishing one
and many, and receiving, acknowledging, releasing, rejecting and renewing, with key and token."""

import os
import threading
import time

from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.core.messaging import CloudEvent
from azure.eventgrid import EventGridConsumerClient, EventGridPublisherClient
from azure.eventgrid.models import ReleaseDelay
from azure.identity import ClientSecretCredential
from azure.mgmt.eventgrid import EventGridManagementClient
from azure.mgmt.eventgrid.models import (
    DeliveryConfiguration,
    FiltersConfiguration,
    Namespace,
    NamespaceRegenerateKeyRequest,
    NamespaceTopic,
    NamespaceTopicUpdateParameters,
    NamespaceUpdateParameters,
    QueueInfo,
    StringBeginsWithFilter,
    Subscription,
    SubscriptionUpdateParameters,
    TopicRegenerateKeyRequest,
)

HTTP, HTTPS, CA = (os.environ[f"POSTHORN_{name}"] for name in ("HTTP", "HTTPS", "CA"))
GROUP, SHOP, TOPIC = "compat", "py-shop", "orders"

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
    "11111111-2222-3333-4444-555555555555",
    base_url=HTTPS,
    connection_verify=CA,
    credential_scopes=[f"{HTTPS}/.default"],
)
namespaces, topics = management.namespaces, management.namespace_topics
subscriptions = management.namespace_topic_event_subscriptions

# Managing.
made = namespaces.begin_create_or_update(GROUP, SHOP, Namespace(location="local")).result()
assert made.provisioning_state == "Succeeded" and made.topics_configuration.hostname, made
assert namespaces.begin_update(GROUP, SHOP, NamespaceUpdateParameters(tags={"a": "b"})).result().tags == {"a": "b"}
assert [each.name for each in namespaces.list_by_resource_group(GROUP)] == [SHOP]
assert SHOP in [each.name for each in namespaces.list_by_subscription()]
topic = topics.begin_create_or_update(GROUP, SHOP, TOPIC, NamespaceTopic(event_retention_in_days=1)).result()
assert (topic.input_schema, topic.publisher_type) == ("CloudEventSchemaV1_0", "Custom"), topic
longer = NamespaceTopicUpdateParameters(event_retention_in_days=7)
assert topics.begin_update(GROUP, SHOP, TOPIC, longer).result().event_retention_in_days == 7
assert [each.name for each in topics.list_by_namespace(GROUP, SHOP)] == [TOPIC]
for name, count in (("billing", 3), ("once", 1)):
    queue = QueueInfo(receive_lock_duration_in_seconds=60, max_delivery_count=count, event_time_to_live="P1D")
    terms = Subscription(delivery_configuration=DeliveryConfiguration(delivery_mode="Queue", queue=queue))
    held = subscriptions.begin_create_or_update(GROUP, SHOP, TOPIC, name, terms).result()
    assert held.provisioning_state == "Succeeded", held
    assert held.delivery_configuration.queue.max_delivery_count == count, held
only = FiltersConfiguration(filters=[StringBeginsWithFilter(key="subject", values=["/orders/"])])
changed = SubscriptionUpdateParameters(filters_configuration=only)
changed = subscriptions.begin_update(GROUP, SHOP, TOPIC, "billing", changed).result()
assert changed.filters_configuration.filters[0].values == ["/orders/"], changed
listed = [each.name for each in subscriptions.list_by_namespace_topic(GROUP, SHOP, TOPIC)]
assert sorted(listed) == ["billing", "once"], listed
keys = namespaces.list_shared_access_keys(GROUP, SHOP)
renewed = namespaces.begin_regenerate_key(GROUP, SHOP, NamespaceRegenerateKeyRequest(key_name="key2")).result()
assert renewed.key1 == keys.key1 and renewed.key2 != keys.key2
of_topic = topics.begin_regenerate_key(GROUP, SHOP, TOPIC, TopicRegenerateKeyRequest(key_name="key1")).result()
assert of_topic.key1 == topics.list_shared_access_keys(GROUP, SHOP, TOPIC).key1


def publisher(base, given):
    return EventGridPublisherClient(base, given, namespace_topic=TOPIC, connection_verify=CA)


def consumer(base, given, name="billing"):
    return EventGridConsumerClient(base, given, namespace_topic=TOPIC, subscription=name, connection_verify=CA)


def event(number, subject="/orders/1"):
    data = {"amount": 12.5, "note": "grün"}
    return CloudEvent(id=number, source="/shop", type="Order.Placed", subject=subject, data=data, extensions={"shard": "7"})


def tokens(details):
    return [each.broker_properties.lock_token for each in details]


def codes(result):
    return [each.error.code for each in result.failed_lock_tokens]


shop = {"key": AzureKeyCredential(keys.key1), "topic's key": AzureKeyCredential(of_topic.key1), "token": credential}
ways = [(HTTP, "key"), (HTTP, "topic's key"), (HTTPS, "key"), (HTTPS, "token")]
for base, kind in ways:
    with publisher(base, shop[kind]) as sender, consumer(base, shop[kind]) as receiver:
        sender.send(event("one"))
        sender.send([event(str(number)) for number in range(6)] + [event("other", "/returns/1")])
        got = receiver.receive(max_events=100, max_wait_time=10)
        assert sorted(each.event.id for each in got) == ["0", "1", "2", "3", "4", "5", "one"], got
        first = got[0]
        assert first.event.data == {"amount": 12.5, "note": "grün"} and first.event.time is not None
        assert first.event.extensions == {"shard": "7"}, first.event.extensions
        assert first.broker_properties.delivery_count == 1
        a, b, c, d, e, f, g = held = tokens(got)
        done = receiver.renew_locks(lock_tokens=held)
        assert done.succeeded_lock_tokens == held and done.failed_lock_tokens == [], done
        done = receiver.acknowledge(lock_tokens=[a, "nonsense", b])
        assert done.succeeded_lock_tokens == [a, b] and codes(done) == ["BadToken"], done
        done = receiver.acknowledge(lock_tokens=[a])
        assert done.succeeded_lock_tokens == [] and codes(done) == ["TokenLost"], done
        assert receiver.reject(lock_tokens=[c]).succeeded_lock_tokens == [c]
        assert receiver.release(lock_tokens=[d]).succeeded_lock_tokens == [d]
        [again] = receiver.receive(max_events=10, max_wait_time=10)
        assert again.event.id == got[3].event.id and again.broker_properties.delivery_count == 2
        assert codes(receiver.renew_locks(lock_tokens=[d])) == ["TokenLost"]
        [d] = tokens([again])
        for token, delay in (
            (d, ReleaseDelay.ONE_HOUR),
            (e, ReleaseDelay.TEN_MINUTES),
            (f, ReleaseDelay.ONE_MINUTE),
            (g, ReleaseDelay.TEN_SECONDS),
        ):
            assert receiver.release(lock_tokens=[token], release_delay=delay).succeeded_lock_tokens == [token]
        began = time.monotonic()
        [last] = receiver.receive(max_events=10, max_wait_time=20)
        assert last.event.id == got[6].event.id and 8 < time.monotonic() - began < 18
        assert receiver.release(lock_tokens=tokens([last]), release_delay=ReleaseDelay.NO_DELAY).failed_lock_tokens == []
        [last] = receiver.receive(max_wait_time=10)
        assert last.broker_properties.delivery_count == 3
        # Handed out as often as allowed: the release succeeds, and that is its end.
        assert receiver.release(lock_tokens=tokens([last])).succeeded_lock_tokens == tokens([last])
    subscriptions.begin_delete(GROUP, SHOP, TOPIC, "billing").result()
    subscriptions.begin_create_or_update(GROUP, SHOP, TOPIC, "billing", Subscription(
        delivery_configuration=DeliveryConfiguration(delivery_mode="Queue", queue=QueueInfo(max_delivery_count=3)),
        filters_configuration=only,
    )).result()

# A request that waits gets what comes; one that waits in vain gets an empty answer.
with publisher(HTTP, shop["key"]) as sender, consumer(HTTP, shop["key"]) as receiver:
    threading.Timer(1, lambda: sender.send(event("late"))).start()
    [late] = receiver.receive(max_events=5, max_wait_time=60)
    assert late.event.id == "late"
    assert receiver.acknowledge(lock_tokens=tokens([late])).failed_lock_tokens == []
    assert receiver.receive(max_wait_time=10) == []

# What is refused is an error of the client with its code.
for what, kind, call in (
    (ClientAuthenticationError, "Unauthorized", lambda: consumer(HTTP, AzureKeyCredential("wrong")).receive()),
    (ResourceNotFoundError, "NotFound", lambda: consumer(HTTP, shop["key"], "nobody").receive()),
    (HttpResponseError, "BadRequest", lambda: consumer(HTTP, shop["key"]).receive(max_events=101)),
    (HttpResponseError, "BadRequest", lambda: consumer(HTTP, shop["key"]).release(lock_tokens=[], release_delay=7)),
):
    try:
        call()
    except what as refused:
        assert refused.error is None or refused.error.code == kind, refused
        assert kind in str(refused), refused
    else:
        raise AssertionError(f"{kind} was not refused")

subscriptions.begin_delete(GROUP, SHOP, TOPIC, "once").result()
topics.begin_delete(GROUP, SHOP, TOPIC).result()
namespaces.begin_delete(GROUP, SHOP).result()
assert SHOP not in [each.name for each in namespaces.list_by_subscription()]
print("a namespace managed; 6 operations by " + ", ".join(f"{kind} over {base.split(':')[0]}" for base, kind in ways))
