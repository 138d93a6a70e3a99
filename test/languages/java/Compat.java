// Microsoft's clients for Java, unmodified, against a broker: publishing in every schema with every kind
// of credential over TLS, receiving, and reading what was received. They refuse to send a credential
// over plain HTTP, which is tried, too. Topics are managed with azure-core's own pipeline and
// azure-identity.

import com.azure.core.credential.AzureKeyCredential;
import com.azure.core.credential.AzureSasCredential;
import com.azure.core.credential.TokenCredential;
import com.azure.core.http.HttpHeaderName;
import com.azure.core.http.HttpMethod;
import com.azure.core.http.HttpPipeline;
import com.azure.core.http.HttpPipelineBuilder;
import com.azure.core.http.HttpRequest;
import com.azure.core.http.policy.BearerTokenAuthenticationPolicy;
import com.azure.core.models.CloudEvent;
import com.azure.core.models.CloudEventDataFormat;
import com.azure.core.util.BinaryData;
import com.azure.identity.ClientSecretCredentialBuilder;
import com.azure.messaging.eventgrid.EventGridEvent;
import com.azure.messaging.eventgrid.EventGridPublisherClient;
import com.azure.messaging.eventgrid.EventGridPublisherClientBuilder;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

public class Compat {
  static final String GROUP =
      "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/compat/providers/Microsoft.EventGrid/topics/";
  static final String SECURE = System.getenv("POSTHORN_HTTPS");
  static final String PLAIN = System.getenv("POSTHORN_HTTP");
  static final Map<String, Object> DATA = Map.of("amount", 12.5, "note", "grün");
  static final BlockingQueue<String> received = new LinkedBlockingQueue<>();
  static HttpPipeline pipeline;

  public static void main(String[] args) throws Exception {
    TokenCredential credential = new ClientSecretCredentialBuilder()
        .tenantId(System.getenv("POSTHORN_TENANT"))
        .clientId("app")
        .clientSecret(System.getenv("POSTHORN_ADMIN_KEY"))
        .authorityHost(SECURE)
        .disableInstanceDiscovery()
        .build();
    pipeline = new HttpPipelineBuilder()
        .policies(new BearerTokenAuthenticationPolicy(credential, SECURE + "/.default"))
        .build();
    String hook = serve();

    Map<String, Object> mapping = Map.of("inputSchemaMappingType", "Json", "properties", Map.of(
        "id", Map.of("sourceField", "number"), "subject", Map.of("sourceField", "what"),
        "eventType", Map.of("defaultValue", "Order.Placed"), "dataVersion", Map.of("defaultValue", "1")));
    Map<String, List<String>> kinds = Map.of(
        "java-grid", List.of("EventGridSchema", "EventGridSchema"),
        "java-cloud", List.of("CloudEventSchemaV1_0", "CloudEventSchemaV1_0"),
        "java-custom", List.of("CustomEventSchema", "CustomInputSchema"));
    for (var kind : kinds.entrySet()) {
      Map<String, Object> properties = kind.getKey().equals("java-custom")
          ? Map.of("inputSchema", "CustomEventSchema", "inputSchemaMapping", mapping)
          : Map.of("inputSchema", kind.getValue().get(0));
      ask(HttpMethod.PUT, kind.getKey(), Map.of("location", "local", "properties", properties));
      String subscription = kind.getKey() + "/eventSubscriptions/all";
      ask(HttpMethod.PUT, subscription, Map.of("properties", Map.of(
          "eventDeliverySchema", kind.getValue().get(1),
          "destination", Map.of("endpointType", "WebHook", "properties", Map.of("endpointUrl", hook)))));
      while (!ask(HttpMethod.GET, subscription, null).contains("\"provisioningState\":\"Succeeded\"")) {
        Thread.sleep(10);
      }
    }

    Set<String> published = new HashSet<>();
    for (String name : kinds.keySet()) {
      String endpoint = SECURE + "/topics/" + name + "/api/events";
      Map<String, Object> keys = BinaryData.fromString(ask(HttpMethod.POST, name + "/listKeys", Map.of())).toObject(Map.class);
      AzureKeyCredential key = new AzureKeyCredential((String) keys.get("key1"));
      String sas = EventGridPublisherClient.generateSas(endpoint, key, OffsetDateTime.now().plusHours(1));
      Map<String, Consumer<EventGridPublisherClientBuilder>> credentials = Map.of(
          "key", builder -> builder.credential(key),
          "sas", builder -> builder.credential(new AzureSasCredential(sas)),
          "token", builder -> builder.credential(credential));
      for (var given : credentials.entrySet()) {
        EventGridPublisherClientBuilder builder = new EventGridPublisherClientBuilder().endpoint(endpoint);
        given.getValue().accept(builder);
        String number = name + "-" + given.getKey();
        publish(builder, name, number);
        published.add(number);
      }
    }
    try {
      publish(new EventGridPublisherClientBuilder().endpoint(PLAIN + "/topics/java-grid/api/events")
          .credential(new AzureKeyCredential("a")), "java-grid", "plain");
      throw new AssertionError("the client sent a key over plain HTTP");
    } catch (RuntimeException refused) {
      check(refused.getMessage().contains("HTTPS"), refused.getMessage());
    }

    int count = published.size();
    for (int left = count; left > 0; left--) {
      String body = received.poll(30, TimeUnit.SECONDS);
      check(body != null, "did not arrive: " + published);
      check(published.remove(numberOf(body)), "twice or unknown: " + body);
    }
    for (String name : kinds.keySet()) ask(HttpMethod.DELETE, name, null);
    System.out.println("3 topics, 3 subscriptions, " + count
        + " events in 3 schemas by key, SAS and token over TLS; plain HTTP is refused by the client itself");
    System.exit(0);
  }

  static void publish(EventGridPublisherClientBuilder builder, String name, String number) {
    switch (name) {
      case "java-grid" -> {
        EventGridEvent event = new EventGridEvent("/orders/1", "Order.Placed", BinaryData.fromObject(DATA), "1");
        builder.buildEventGridEventPublisherClient().sendEvent(event.setId(number));
      }
      case "java-cloud" -> {
        CloudEvent event = new CloudEvent(
            "/shop", "Order.Placed", BinaryData.fromObject(DATA), CloudEventDataFormat.JSON, "application/json");
        builder.buildCloudEventPublisherClient().sendEvent(event.setId(number));
      }
      default -> builder.buildCustomEventPublisherClient()
          .sendEvent(BinaryData.fromObject(Map.of("number", number, "what", "/orders/1", "data", DATA)));
    }
  }

  /** Read by the same clients. */
  static String numberOf(String body) {
    if (body.contains("\"specversion\"")) {
      CloudEvent event = CloudEvent.fromString(body.startsWith("[") ? body : "[" + body + "]").get(0);
      check(event.getSource().equals("/shop"), "the source");
      check(event.getData().toObject(Map.class).get("note").equals("grün"), "the data");
      return event.getId();
    }
    if (body.contains("\"eventType\"")) {
      EventGridEvent event = EventGridEvent.fromString(body).get(0);
      check(event.getTopic().endsWith("/topics/java-grid"), "the topic");
      check(event.getData().toObject(Map.class).get("amount").equals(12.5), "the data");
      return event.getId();
    }
    Map<?, ?> custom = (Map<?, ?>) BinaryData.fromString(body).toObject(List.class).get(0);
    return (String) custom.get("number");
  }

  /** Agrees to both handshakes, and keeps everything else. */
  static String serve() throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext("/", exchange -> {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      String type = exchange.getRequestHeaders().getFirst("aeg-event-type");
      String answer = "";
      if (exchange.getRequestMethod().equals("OPTIONS")) {
        exchange.getResponseHeaders().set("WebHook-Allowed-Origin", "*");
      } else if ("SubscriptionValidation".equals(type)) {
        Map<?, ?> data = EventGridEvent.fromString(body).get(0).getData().toObject(Map.class);
        answer = "{\"validationResponse\":\"" + data.get("validationCode") + "\"}";
      } else if ("Notification".equals(type)) {
        received.add(body);
      }
      byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, bytes.length == 0 ? -1 : bytes.length);
      exchange.getResponseBody().write(bytes);
      exchange.close();
    });
    server.start();
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/hook";
  }

  static String ask(HttpMethod method, String path, Object body) {
    HttpRequest request = new HttpRequest(method, SECURE + GROUP + path + "?api-version=2025-02-15");
    if (body != null) {
      request.setHeader(HttpHeaderName.CONTENT_TYPE, "application/json");
      request.setBody(BinaryData.fromObject(body));
    }
    var answer = pipeline.send(request).block();
    String text = answer.getBodyAsString().block();
    check(answer.getStatusCode() < 300, method + " " + path + ": " + answer.getStatusCode() + " " + text);
    return text == null ? "" : text;
  }

  static void check(boolean isTrue, String what) {
    if (!isTrue) throw new AssertionError(what);
  }
}
