// Microsoft's clients for Go, unmodified, against namespaces of a broker: managing them, publishing one
// and many, and receiving, acknowledging, releasing, rejecting and renewing, with key and token over TLS.
// They refuse to send a credential over plain HTTP, which is tried, too.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/messaging"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/eventgrid/aznamespaces"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/eventgrid/armeventgrid/v2"
)

const group, shop, topic = "compat", "go-shop", "orders"

var (
	ctx    = context.Background()
	plain  = os.Getenv("POSTHORN_HTTP")
	secure = os.Getenv("POSTHORN_HTTPS")
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(isTrue bool, what ...any) {
	if !isTrue {
		panic(fmt.Sprint(what...))
	}
}

type managers struct {
	namespaces    *armeventgrid.NamespacesClient
	topics        *armeventgrid.NamespaceTopicsClient
	subscriptions *armeventgrid.NamespaceTopicEventSubscriptionsClient
}

func (m managers) subscribe(name string) {
	making := must(m.subscriptions.BeginCreateOrUpdate(ctx, group, shop, topic, name, armeventgrid.Subscription{
		Properties: &armeventgrid.SubscriptionProperties{
			DeliveryConfiguration: &armeventgrid.DeliveryConfiguration{
				DeliveryMode: to.Ptr(armeventgrid.DeliveryModeQueue),
				Queue: &armeventgrid.QueueInfo{
					ReceiveLockDurationInSeconds: to.Ptr[int32](60), MaxDeliveryCount: to.Ptr[int32](3), EventTimeToLive: to.Ptr("P1D"),
				}},
			FiltersConfiguration: &armeventgrid.FiltersConfiguration{IncludedEventTypes: []*string{to.Ptr("Order.Placed")}},
		}}, nil))
	must(making.PollUntilDone(ctx, nil))
	made := must(m.subscriptions.Get(ctx, group, shop, topic, name, nil))
	check(*made.Properties.ProvisioningState == armeventgrid.SubscriptionProvisioningStateSucceeded, "a subscription")
	check(*made.Properties.DeliveryConfiguration.Queue.MaxDeliveryCount == 3, "its count")
}

// The keys of the namespace and of the topic.
func (m managers) make() (string, string) {
	making := must(m.namespaces.BeginCreateOrUpdate(ctx, group, shop, armeventgrid.Namespace{Location: to.Ptr("local")}, nil))
	must(making.PollUntilDone(ctx, nil))
	made := must(m.namespaces.Get(ctx, group, shop, nil))
	check(*made.Properties.TopicsConfiguration.Hostname != "", "a host name")
	tags := armeventgrid.NamespaceUpdateParameters{Tags: map[string]*string{"a": to.Ptr("b")}}
	must(must(m.namespaces.BeginUpdate(ctx, group, shop, tags, nil)).PollUntilDone(ctx, nil))
	check(*must(m.namespaces.Get(ctx, group, shop, nil)).Tags["a"] == "b", "a tag")
	check(len(must(m.namespaces.NewListByResourceGroupPager(group, nil).NextPage(ctx)).Value) == 1, "a list")
	days := &armeventgrid.NamespaceTopicProperties{EventRetentionInDays: to.Ptr[int32](1)}
	creating := must(m.topics.BeginCreateOrUpdate(ctx, group, shop, topic, armeventgrid.NamespaceTopic{Properties: days}, nil))
	must(creating.PollUntilDone(ctx, nil))
	longer := armeventgrid.NamespaceTopicUpdateParameters{
		Properties: &armeventgrid.NamespaceTopicUpdateParameterProperties{EventRetentionInDays: to.Ptr[int32](7)}}
	must(must(m.topics.BeginUpdate(ctx, group, shop, topic, longer, nil)).PollUntilDone(ctx, nil))
	check(*must(m.topics.Get(ctx, group, shop, topic, nil)).Properties.EventRetentionInDays == 7, "the retention")
	check(len(must(m.topics.NewListByNamespacePager(group, shop, nil).NextPage(ctx)).Value) == 1, "a list")
	m.subscribe("billing")
	longerLock := armeventgrid.SubscriptionUpdateParameters{Properties: &armeventgrid.SubscriptionUpdateParametersProperties{
		DeliveryConfiguration: &armeventgrid.DeliveryConfiguration{
			DeliveryMode: to.Ptr(armeventgrid.DeliveryModeQueue),
			Queue:        &armeventgrid.QueueInfo{ReceiveLockDurationInSeconds: to.Ptr[int32](90)}}}}
	must(must(m.subscriptions.BeginUpdate(ctx, group, shop, topic, "billing", longerLock, nil)).PollUntilDone(ctx, nil))
	queue := must(m.subscriptions.Get(ctx, group, shop, topic, "billing", nil)).Properties.DeliveryConfiguration.Queue
	check(*queue.ReceiveLockDurationInSeconds == 90 && *queue.MaxDeliveryCount == 3, "a patched queue")
	keys := must(m.namespaces.ListSharedAccessKeys(ctx, group, shop, nil))
	renewing := must(m.namespaces.BeginRegenerateKey(ctx, group, shop, armeventgrid.NamespaceRegenerateKeyRequest{KeyName: to.Ptr("key2")}, nil))
	renewed := must(renewing.PollUntilDone(ctx, nil))
	check(*renewed.Key1 == *keys.Key1 && *renewed.Key2 != *keys.Key2, "a new key")
	return *keys.Key1, *must(m.topics.ListSharedAccessKeys(ctx, group, shop, topic, nil)).Key1
}

func event(id, kind string) messaging.CloudEvent {
	made := must(messaging.NewCloudEvent("/shop", kind, map[string]any{"amount": 12.5, "note": "grün"}, &messaging.CloudEventOptions{
		Subject: to.Ptr("/orders/1"), Extensions: map[string]any{"shard": "7"}}))
	made.ID = id
	return made
}

func tokensOf(details []aznamespaces.ReceiveDetails) (tokens []string) {
	for _, each := range details {
		tokens = append(tokens, *each.BrokerProperties.LockToken)
	}
	return tokens
}

func codes(failed []aznamespaces.FailedLockToken) (codes []string) {
	for _, each := range failed {
		codes = append(codes, *each.Error.Code)
	}
	return codes
}

func receive(receiver *aznamespaces.ReceiverClient, max, wait int32) []aznamespaces.ReceiveDetails {
	return must(receiver.ReceiveEvents(ctx, &aznamespaces.ReceiveEventsOptions{MaxEvents: &max, MaxWaitTime: &wait})).Details
}

func fetch(sender *aznamespaces.SenderClient, receiver *aznamespaces.ReceiverClient) {
	one := event("one", "Order.Placed")
	must(sender.SendEvent(ctx, &one, nil))
	var many []*messaging.CloudEvent
	for number := range 6 {
		many = append(many, to.Ptr(event(fmt.Sprint(number), "Order.Placed")))
	}
	must(sender.SendEvents(ctx, append(many, to.Ptr(event("other", "Order.Returned"))), nil))
	got := receive(receiver, 100, 10)
	check(len(got) == 7, "received ", len(got))
	first := got[0].Event
	var data map[string]any
	if err := json.Unmarshal(first.Data.([]byte), &data); err != nil {
		panic(err)
	}
	check(data["amount"] == 12.5 && data["note"] == "grün" && first.Extensions["shard"] == "7", "an event: ", first)
	check(*got[0].BrokerProperties.DeliveryCount == 1, "the count")
	held := tokensOf(got)
	renewed := must(receiver.RenewEventLocks(ctx, held, nil))
	check(slices.Equal(renewed.SucceededLockTokens, held) && len(renewed.FailedLockTokens) == 0, "renewed")
	acknowledged := must(receiver.AcknowledgeEvents(ctx, []string{held[0], "nonsense", held[1]}, nil))
	check(slices.Equal(acknowledged.SucceededLockTokens, []string{held[0], held[1]}), "acknowledged")
	check(slices.Equal(codes(acknowledged.FailedLockTokens), []string{"BadToken"}), "a bad token")
	again := must(receiver.AcknowledgeEvents(ctx, held[:1], nil))
	check(len(again.SucceededLockTokens) == 0 && slices.Equal(codes(again.FailedLockTokens), []string{"TokenLost"}), "twice")
	check(len(must(receiver.RejectEvents(ctx, held[2:3], nil)).SucceededLockTokens) == 1, "rejected")
	check(len(must(receiver.ReleaseEvents(ctx, held[3:4], nil)).SucceededLockTokens) == 1, "released")
	back := receive(receiver, 10, 10)
	check(len(back) == 1 && back[0].Event.ID == got[3].Event.ID && *back[0].BrokerProperties.DeliveryCount == 2, "back")
	check(slices.Equal(codes(must(receiver.RenewEventLocks(ctx, held[3:4], nil)).FailedLockTokens), []string{"TokenLost"}), "renewed late")
	held[3] = tokensOf(back)[0]
	for place, delay := range []aznamespaces.ReleaseDelay{
		aznamespaces.ReleaseDelayOneHour, aznamespaces.ReleaseDelayTenMinutes,
		aznamespaces.ReleaseDelayOneMinute, aznamespaces.ReleaseDelayTenSeconds,
	} {
		done := must(receiver.ReleaseEvents(ctx, held[3+place:4+place], &aznamespaces.ReleaseEventsOptions{ReleaseDelayInSeconds: &delay}))
		check(len(done.SucceededLockTokens) == 1, "released with a delay of ", delay)
	}
	began := time.Now()
	last := receive(receiver, 10, 20)
	waited := time.Since(began)
	check(len(last) == 1 && last[0].Event.ID == got[6].Event.ID && waited > 8*time.Second && waited < 18*time.Second, "a delay")
	check(len(must(receiver.ReleaseEvents(ctx, tokensOf(last), &aznamespaces.ReleaseEventsOptions{
		ReleaseDelayInSeconds: to.Ptr(aznamespaces.ReleaseDelayNoDelay)})).FailedLockTokens) == 0, "released at once")
	last = must(receiver.ReceiveEvents(ctx, nil)).Details
	check(len(last) == 1 && *last[0].BrokerProperties.DeliveryCount == 3, "the last time")
	check(len(must(receiver.ReleaseEvents(ctx, tokensOf(last), nil)).SucceededLockTokens) == 1, "the last release")
	check(len(receive(receiver, 10, 10)) == 0, "nothing is left")
}

func refused(err error, status int, code string) {
	var answered *azcore.ResponseError
	check(errors.As(err, &answered), "not refused: ", err)
	check(answered.StatusCode == status && answered.ErrorCode == code, answered)
}

func main() {
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(must(os.ReadFile(os.Getenv("POSTHORN_CA")))), "the CA")
	transport := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	options := policy.ClientOptions{Transport: transport, Cloud: cloud.Configuration{
		ActiveDirectoryAuthorityHost: secure,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: secure, Audience: secure},
		},
	}}
	credential := must(azidentity.NewClientSecretCredential(
		os.Getenv("POSTHORN_TENANT"), "app", os.Getenv("POSTHORN_ADMIN_KEY"),
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true}))
	factory := must(armeventgrid.NewClientFactory("11111111-2222-3333-4444-555555555555", credential,
		&arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true}))
	m := managers{factory.NewNamespacesClient(), factory.NewNamespaceTopicsClient(), factory.NewNamespaceTopicEventSubscriptionsClient()}
	ofShop, ofTopic := m.make()

	toSend := &aznamespaces.SenderClientOptions{ClientOptions: policy.ClientOptions{Transport: transport}}
	toReceive := &aznamespaces.ReceiverClientOptions{ClientOptions: policy.ClientOptions{Transport: transport}}
	receiverWith := func(base, name, key string) *aznamespaces.ReceiverClient {
		return must(aznamespaces.NewReceiverClientWithSharedKeyCredential(base, topic, name, azcore.NewKeyCredential(key), toReceive))
	}
	for _, key := range []string{ofShop, ofTopic, ""} {
		if key == "" {
			fetch(must(aznamespaces.NewSenderClient(secure, topic, credential, toSend)),
				must(aznamespaces.NewReceiverClient(secure, topic, "billing", credential, toReceive)))
		} else {
			fetch(must(aznamespaces.NewSenderClientWithSharedKeyCredential(secure, topic, azcore.NewKeyCredential(key), toSend)),
				receiverWith(secure, "billing", key))
		}
		must(must(m.subscriptions.BeginDelete(ctx, group, shop, topic, "billing", nil)).PollUntilDone(ctx, nil))
		m.subscribe("billing")
	}

	_, err := receiverWith(plain, "billing", ofShop).ReceiveEvents(ctx, nil)
	check(err != nil && strings.Contains(err.Error(), "TLS"), "a key over plain HTTP: ", err)
	_, err = receiverWith(secure, "billing", "wrong").ReceiveEvents(ctx, nil)
	refused(err, http.StatusUnauthorized, "Unauthorized")
	_, err = receiverWith(secure, "nobody", ofShop).ReceiveEvents(ctx, nil)
	refused(err, http.StatusNotFound, "NotFound")
	_, err = receiverWith(secure, "billing", ofShop).ReceiveEvents(ctx, &aznamespaces.ReceiveEventsOptions{MaxEvents: to.Ptr[int32](101)})
	refused(err, http.StatusBadRequest, "BadRequest")

	must(must(m.topics.BeginDelete(ctx, group, shop, topic, nil)).PollUntilDone(ctx, nil))
	must(must(m.namespaces.BeginDelete(ctx, group, shop, nil)).PollUntilDone(ctx, nil))
	fmt.Println("a namespace managed; 6 operations by the namespace's key, the topic's and a token over TLS; plain HTTP is refused by the client itself")
}
