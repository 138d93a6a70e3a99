// Microsoft's client of namespaces for Java, unmodified, against a broker over TLS: publishing one and many, and
// receiving, acknowledging, releasing, rejecting and renewing, with key and token. It refuses to send a key over
// plain HTTP, which is tried, too. The namespace is managed with azure-core's own pipeline and azure-identity.

import com.azure.core.credential.KeyCredential;
import com.azure.core.credential.TokenCredential;
import com.azure.core.exception.HttpResponseException;
import com.azure.core.http.HttpHeaderName;
import com.azure.core.http.HttpMethod;
import com.azure.core.http.HttpPipeline;
import com.azure.core.http.HttpPipelineBuilder;
import com.azure.core.http.HttpRequest;
import com.azure.core.http.HttpResponse;
import com.azure.core.http.policy.BearerTokenAuthenticationPolicy;
import com.azure.core.models.CloudEvent;
import com.azure.core.models.CloudEventDataFormat;
import com.azure.core.util.BinaryData;
import com.azure.identity.ClientSecretCredentialBuilder;
import com.azure.messaging.eventgrid.namespaces.EventGridReceiverClient;
import com.azure.messaging.eventgrid.namespaces.EventGridReceiverClientBuilder;
import com.azure.messaging.eventgrid.namespaces.EventGridSenderClient;
import com.azure.messaging.eventgrid.namespaces.EventGridSenderClientBuilder;
import com.azure.messaging.eventgrid.namespaces.models.FailedLockToken;
import com.azure.messaging.eventgrid.namespaces.models.ReceiveDetails;
import com.azure.messaging.eventgrid.namespaces.models.ReleaseDelay;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public class Namespaces {
  static final String SECURE = System.getenv("POSTHORN_HTTPS");
  static final String PLAIN = System.getenv("POSTHORN_HTTP");
  static final String SHOP =
      "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/compat"
          + "/providers/Microsoft.EventGrid/namespaces/java-shop";
  static final String TOPIC = "orders";
  static HttpPipeline pipeline;

  public static void main(String[] args) {
    TokenCredential token = new ClientSecretCredentialBuilder()
        .tenantId(System.getenv("POSTHORN_TENANT"))
        .clientId("app")
        .clientSecret(System.getenv("POSTHORN_ADMIN_KEY"))
        .authorityHost(SECURE)
        .disableInstanceDiscovery()
        .build();
    pipeline = new HttpPipelineBuilder()
        .policies(new BearerTokenAuthenticationPolicy(token, SECURE + "/.default"))
        .build();
    manage(HttpMethod.PUT, "", Map.of("location", "local"));
    manage(HttpMethod.PUT, "/topics/" + TOPIC, Map.of("properties", Map.of()));
    manage(HttpMethod.PUT, "/topics/" + TOPIC + "/eventSubscriptions/billing", Map.of("properties", Map.of(
        "deliveryConfiguration", Map.of("deliveryMode", "Queue", "queue", Map.of("maxDeliveryCount", 3)))));
    String key = (String) manage(HttpMethod.POST, "/listKeys", Map.of()).get("key1");

    tryAll(sender(SECURE).credential(new KeyCredential(key)).buildClient(),
        receiver(SECURE).credential(new KeyCredential(key)).buildClient());
    tryAll(sender(SECURE).credential(token).buildClient(), receiver(SECURE).credential(token).buildClient());
    refused(401, () -> receiver(SECURE).credential(new KeyCredential("wrong")).buildClient().receive());
    refused(404, () -> receiver(SECURE).subscriptionName("nobody").credential(new KeyCredential(key))
        .buildClient().receive());
    refused(400, () -> receiver(SECURE).credential(new KeyCredential(key)).buildClient()
        .receive(101, Duration.ofSeconds(10)));
    try {
      sender(PLAIN).credential(new KeyCredential(key)).buildClient().send(event("plain"));
      throw new AssertionError("a key went over plain HTTP");
    } catch (IllegalStateException byTheClient) {
      // It needs TLS, as it says.
    }
    manage(HttpMethod.DELETE, "", null);
    System.out.println("6 operations by key and token over https; a key over plain HTTP is refused by the client");
  }

  static void tryAll(EventGridSenderClient sender, EventGridReceiverClient receiver) {
    sender.send(event("one"));
    sender.send(IntStream.range(0, 5).mapToObj(number -> event("" + number)).collect(Collectors.toList()));
    List<ReceiveDetails> got = receiver.receive(100, Duration.ofSeconds(10)).getDetails();
    expect(List.of("0", "1", "2", "3", "4", "one"),
        got.stream().map(each -> each.getEvent().getId()).sorted().collect(Collectors.toList()));
    CloudEvent first = got.get(0).getEvent();
    expect(Map.of("amount", 12.5, "note", "grün"), first.getData().toObject(Map.class));
    expect("7", first.getExtensionAttributes().get("shard"));
    expect(1, got.get(0).getBrokerProperties().getDeliveryCount());
    List<String> held = got.stream().map(Namespaces::tokenOf).collect(Collectors.toList());

    expect(held, receiver.renewLocks(held).getSucceededLockTokens());
    var done = receiver.acknowledge(List.of(held.get(0), "nonsense"));
    expect(held.subList(0, 1), done.getSucceededLockTokens());
    expect(List.of("BadToken"), codes(done.getFailedLockTokens()));
    expect(List.of("TokenLost"), codes(receiver.acknowledge(held.subList(0, 1)).getFailedLockTokens()));
    expect(held.subList(1, 2), receiver.reject(held.subList(1, 2)).getSucceededLockTokens());
    expect(held.subList(2, 3), receiver.release(held.subList(2, 3)).getSucceededLockTokens());
    List<ReceiveDetails> again = receiver.receive(10, Duration.ofSeconds(10)).getDetails();
    expect(1, again.size());
    expect(2, again.get(0).getBrokerProperties().getDeliveryCount());
    List<String> rest = List.of(tokenOf(again.get(0)));
    expect(rest, receiver.release(rest, ReleaseDelay.ONE_HOUR).getSucceededLockTokens());
    List<String> last = held.subList(3, held.size());
    expect(last, receiver.acknowledge(last).getSucceededLockTokens());

    // A request that waits gets what comes; one that waits in vain gets an empty answer.
    Thread late = new Thread(() -> sender.send(event("late")));
    late.start();
    ReceiveDetails came = receiver.receive(5, Duration.ofSeconds(60)).getDetails().get(0);
    expect("late", came.getEvent().getId());
    expect(List.of(), receiver.acknowledge(List.of(tokenOf(came))).getFailedLockTokens());
    expect(List.of(), receiver.receive(1, Duration.ofSeconds(10)).getDetails());
  }

  static EventGridSenderClientBuilder sender(String base) {
    return new EventGridSenderClientBuilder().endpoint(base).topicName(TOPIC);
  }

  static EventGridReceiverClientBuilder receiver(String base) {
    return new EventGridReceiverClientBuilder().endpoint(base).topicName(TOPIC).subscriptionName("billing");
  }

  static CloudEvent event(String id) {
    BinaryData data = BinaryData.fromObject(Map.of("amount", 12.5, "note", "grün"));
    return new CloudEvent("/shop", "Order.Placed", data, CloudEventDataFormat.JSON, "application/json")
        .setId(id).setSubject("/orders/1").addExtensionAttribute("shard", "7");
  }

  static String tokenOf(ReceiveDetails details) {
    return details.getBrokerProperties().getLockToken();
  }

  static List<String> codes(List<FailedLockToken> failed) {
    return failed.stream().map(each -> each.getError().getCode()).collect(Collectors.toList());
  }

  static void expect(Object wanted, Object got) {
    if (!wanted.equals(got)) throw new AssertionError("wanted " + wanted + ", got " + got);
  }

  static void refused(int status, Runnable call) {
    try {
      call.run();
    } catch (HttpResponseException refusal) {
      expect(status, refusal.getResponse().getStatusCode());
      return;
    }
    throw new AssertionError(status + " was expected");
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> manage(HttpMethod method, String path, Object body) {
    HttpRequest request = new HttpRequest(method, SECURE + SHOP + path + "?api-version=2025-02-15");
    if (body != null) {
      request.setHeader(HttpHeaderName.CONTENT_TYPE, "application/json").setBody(BinaryData.fromObject(body));
    }
    HttpResponse answer = pipeline.send(request).block();
    String text = answer.getBodyAsString().block();
    if (answer.getStatusCode() >= 300) throw new AssertionError(answer.getStatusCode() + " " + text);
    return text == null || text.isEmpty() ? Map.of() : BinaryData.fromString(text).toObject(Map.class);
  }
}
