// Microsoft's clients for Go, unmodified, against a broker: managing, publishing in every schema with
// every kind of credential over TLS, receiving, and reading what was received. They refuse to send a
// credential over plain HTTP, which is tried, too.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/messaging"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/eventgrid/azeventgrid"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/eventgrid/armeventgrid/v2"
)

const group = "compat"

var (
	ctx      = context.Background()
	plain    = os.Getenv("POSTHORN_HTTP")
	secure   = os.Getenv("POSTHORN_HTTPS")
	received = make(chan arrival, 100)
)

type arrival struct {
	header http.Header
	body   []byte
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(isTrue bool, what string) {
	if !isTrue {
		panic(what)
	}
}

// Agrees to both handshakes, and keeps everything else.
func serve() string {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	handler := func(w http.ResponseWriter, r *http.Request) {
		body := must(io.ReadAll(r.Body))
		switch {
		case r.Method == http.MethodOptions:
			w.Header().Set("WebHook-Allowed-Origin", r.Header.Get("WebHook-Request-Origin"))
		case r.Header.Get("aeg-event-type") == "SubscriptionValidation":
			var events []struct{ Data struct{ ValidationCode string } }
			if err := json.Unmarshal(body, &events); err != nil {
				panic(err)
			}
			fmt.Fprintf(w, `{"validationResponse":%q}`, events[0].Data.ValidationCode)
		case r.Header.Get("aeg-event-type") == "Notification":
			received <- arrival{r.Header, body}
		}
	}
	go http.Serve(listener, http.HandlerFunc(handler))
	return "http://" + listener.Addr().String() + "/hook"
}

// As the service documents it: resource and expiry, signed with the key.
func sasOf(endpoint, key string) string {
	expires := time.Now().UTC().Add(time.Hour).Format("1/2/2006 3:04:05 PM")
	unsigned := "r=" + url.QueryEscape(endpoint) + "&e=" + url.QueryEscape(expires)
	mac := hmac.New(sha256.New, must(base64.StdEncoding.DecodeString(key)))
	mac.Write([]byte(unsigned))
	return unsigned + "&s=" + url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

func main() {
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(must(os.ReadFile(os.Getenv("POSTHORN_CA")))), "the CA")
	transport := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	place := cloud.Configuration{
		ActiveDirectoryAuthorityHost: secure,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: secure, Audience: secure},
		},
	}
	options := policy.ClientOptions{Cloud: place, Transport: transport}
	credential := must(azidentity.NewClientSecretCredential(
		os.Getenv("POSTHORN_TENANT"), "app", os.Getenv("POSTHORN_ADMIN_KEY"),
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true}))
	factory := must(armeventgrid.NewClientFactory("11111111-2222-3333-4444-555555555555", credential,
		&arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true}))
	topics, subscriptions := factory.NewTopicsClient(), factory.NewEventSubscriptionsClient()
	hook := serve()

	// Topics of all three schemas, each with a subscription.
	kinds := map[string]struct {
		input    armeventgrid.InputSchema
		delivery armeventgrid.EventDeliverySchema
		mapping  armeventgrid.InputSchemaMappingClassification
	}{
		"go-grid":  {armeventgrid.InputSchemaEventGridSchema, armeventgrid.EventDeliverySchemaEventGridSchema, nil},
		"go-cloud": {armeventgrid.InputSchemaCloudEventSchemaV10, armeventgrid.EventDeliverySchemaCloudEventSchemaV10, nil},
		"go-custom": {armeventgrid.InputSchemaCustomEventSchema, armeventgrid.EventDeliverySchemaCustomInputSchema,
			&armeventgrid.JSONInputSchemaMapping{
				InputSchemaMappingType: to.Ptr(armeventgrid.InputSchemaMappingTypeJSON),
				Properties: &armeventgrid.JSONInputSchemaMappingProperties{
					ID:          &armeventgrid.JSONField{SourceField: to.Ptr("number")},
					EventType:   &armeventgrid.JSONFieldWithDefault{DefaultValue: to.Ptr("Order.Placed")},
					Subject:     &armeventgrid.JSONFieldWithDefault{SourceField: to.Ptr("what")},
					DataVersion: &armeventgrid.JSONFieldWithDefault{DefaultValue: to.Ptr("1")},
				}}},
	}
	keys, ids := map[string]string{}, map[string]string{}
	for name, kind := range kinds {
		making := must(topics.BeginCreateOrUpdate(ctx, group, name, armeventgrid.Topic{
			Location:   to.Ptr("local"),
			Properties: &armeventgrid.TopicProperties{InputSchema: to.Ptr(kind.input), InputSchemaMapping: kind.mapping},
		}, nil))
		made := must(making.PollUntilDone(ctx, nil))
		check(*made.Properties.ProvisioningState == armeventgrid.TopicProvisioningStateSucceeded, "a topic")
		ids[name] = *made.ID
		keys[name] = *must(topics.ListSharedAccessKeys(ctx, group, name, nil)).Key1
		subscribing := must(subscriptions.BeginCreateOrUpdate(ctx, *made.ID, "all", armeventgrid.EventSubscription{
			Properties: &armeventgrid.EventSubscriptionProperties{
				EventDeliverySchema: to.Ptr(kind.delivery),
				Destination: &armeventgrid.WebHookEventSubscriptionDestination{
					EndpointType: to.Ptr(armeventgrid.EndpointTypeWebHook),
					Properties:   &armeventgrid.WebHookEventSubscriptionDestinationProperties{EndpointURL: to.Ptr(hook)},
				}}}, nil))
		must(subscribing.PollUntilDone(ctx, nil))
		check(*must(subscriptions.GetFullURL(ctx, *made.ID, "all", nil)).EndpointURL == hook, "the full URL")
	}
	page := must(topics.NewListByResourceGroupPager(group, nil).NextPage(ctx))
	check(len(page.Value) == 3, "three topics are listed")
	updating := must(subscriptions.BeginUpdate(ctx, ids["go-grid"], "all", armeventgrid.EventSubscriptionUpdateParameters{
		Filter: &armeventgrid.EventSubscriptionFilter{SubjectBeginsWith: to.Ptr("/orders/")}}, nil))
	must(updating.PollUntilDone(ctx, nil))

	publisherOptions := &azeventgrid.ClientOptions{ClientOptions: policy.ClientOptions{Transport: transport}}
	data := map[string]any{"amount": 12.5, "note": "grün"}
	published := map[string]bool{}
	for name := range kinds {
		endpoint := secure + "/topics/" + name + "/api/events"
		key := azcore.NewKeyCredential(keys[name])
		clients := map[string]*azeventgrid.Client{
			"key":   must(azeventgrid.NewClientWithSharedKeyCredential(endpoint, key, publisherOptions)),
			"sas":   must(azeventgrid.NewClientWithSAS(endpoint, azcore.NewSASCredential(sasOf(endpoint, keys[name])), publisherOptions)),
			"token": must(azeventgrid.NewClient(endpoint, credential, publisherOptions)),
		}
		for kind, client := range clients {
			number := name + "-" + kind
			published[number] = true
			switch name {
			case "go-grid":
				must(client.PublishEvents(ctx, []azeventgrid.Event{{
					ID: to.Ptr(number), Subject: to.Ptr("/orders/1"), EventType: to.Ptr("Order.Placed"),
					EventTime: to.Ptr(time.Now().UTC()), DataVersion: to.Ptr("1"), Data: data}}, nil))
			case "go-cloud":
				event := must(messaging.NewCloudEvent("/shop", "Order.Placed", data, nil))
				event.ID = number
				must(client.PublishCloudEvents(ctx, []messaging.CloudEvent{event}, nil))
			default:
				must(client.PublishCustomEventEvents(ctx, []any{map[string]any{
					"number": number, "what": "/orders/1", "data": data}}, nil))
			}
		}
		open := must(azeventgrid.NewClientWithSharedKeyCredential(plain+"/topics/"+name+"/api/events", key, publisherOptions))
		_, err := open.PublishEvents(ctx, []azeventgrid.Event{}, nil)
		check(err != nil && strings.Contains(err.Error(), "https"), "a key over plain HTTP")
	}

	// What arrives is read by the same clients.
	count := len(published)
	for range count {
		select {
		case came := <-received:
			check(came.header.Get("aeg-subscription-name") == "ALL", "the subscription's name")
			delete(published, numberOf(came.body))
		case <-time.After(30 * time.Second):
			panic(fmt.Sprint("did not arrive: ", published))
		}
	}
	check(len(published) == 0, "everything arrives once")
	for name, id := range ids {
		must(must(subscriptions.BeginDelete(ctx, id, "all", nil)).PollUntilDone(ctx, nil))
		must(must(topics.BeginDelete(ctx, group, name, nil)).PollUntilDone(ctx, nil))
	}
	fmt.Printf("3 topics, 3 subscriptions, %d events in 3 schemas by key, SAS and token over TLS; plain HTTP is refused by the client itself\n", count)
}

func numberOf(body []byte) string {
	one := body
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil {
		one = list[0]
	}
	var custom struct {
		Number string
		Data   map[string]any
	}
	if err := json.Unmarshal(one, &custom); err != nil {
		panic(err)
	}
	check(custom.Data["amount"] == 12.5 && custom.Data["note"] == "grün", "the data")
	if custom.Number != "" {
		return custom.Number
	}
	if strings.Contains(string(one), `"specversion"`) {
		var event messaging.CloudEvent
		if err := json.Unmarshal(one, &event); err != nil {
			panic(err)
		}
		check(event.Source == "/shop" && event.Type == "Order.Placed", "a CloudEvent")
		return event.ID
	}
	var event azeventgrid.Event
	if err := json.Unmarshal(one, &event); err != nil {
		panic(err)
	}
	check(*event.EventType == "Order.Placed" && strings.HasSuffix(*event.Topic, "/topics/go-grid"), "an event")
	return *event.ID
}
