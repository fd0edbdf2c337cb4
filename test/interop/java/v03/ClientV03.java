import io.a2a.client.Client;
import io.a2a.client.ClientEvent;
import io.a2a.client.MessageEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfigBuilder;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfigBuilder;
import io.a2a.client.transport.spi.interceptors.auth.AuthInterceptor;
import io.a2a.spec.AgentCard;
import io.a2a.spec.DeleteTaskPushNotificationConfigParams;
import io.a2a.spec.GetTaskPushNotificationConfigParams;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.Message;
import io.a2a.spec.PushNotificationAuthenticationInfo;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.Task;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TextPart;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Runs the cases with the official Java SDK of A2A 0.3. */
public final class ClientV03 {
  private static Runner.Target target;

  /** Creates a client from the card. It attaches the token because the card requires it. */
  private static Client connect(String token, boolean isStreaming, boolean isPolling) throws Exception {
    AgentCard card = new A2ACardResolver(target.url()).getAgentCard();
    var config = new ClientConfig.Builder().setStreaming(isStreaming).setPolling(isPolling).build();
    var builder = Client.builder(card).clientConfig(config);
    var auth = new AuthInterceptor((scheme, context) -> token.isEmpty() ? null : token);
    return target.binding().equals("JSONRPC")
        ? builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfigBuilder().addInterceptor(auth)).build()
        : builder.withTransport(RestTransport.class, new RestTransportConfigBuilder().addInterceptor(auth)).build();
  }

  private static Client connect() throws Exception {
    return connect(target.token(), false, false);
  }

  private static Message message(String text, String taskId, String contextId) {
    String id = UUID.randomUUID().toString();
    return new Message.Builder().role(Message.Role.USER).messageId(id).parts(new TextPart(text)).taskId(taskId).contextId(contextId).build();
  }

  private static Message message(String text) {
    return message(text, null, null);
  }

  /** Sends a message without a stream, and returns the only event. */
  private static ClientEvent sendFor(Client client, Message message) throws Exception {
    List<ClientEvent> events = new ArrayList<>();
    client.sendMessage(message, List.of((event, card) -> events.add(event)), null, null);
    Runner.check(events.size() == 1, events.size() + " events");
    return events.get(0);
  }

  private static Task send(Client client, Message message) throws Exception {
    return ((TaskEvent) sendFor(client, message)).getTask();
  }

  private static Task send(String text) throws Exception {
    return send(connect(), message(text));
  }

  private static Task start(String text) throws Exception {
    return send(connect(target.token(), false, true), message(text));
  }

  private static TaskState stateOf(Task task) {
    return task.getStatus().state();
  }

  private interface Stream {
    void open(Client client, List<BiConsumer<ClientEvent, AgentCard>> consumers, Consumer<Throwable> onEnd) throws Exception;
  }

  /** Reads a stream to its end. The SDK closes the connection after the final update, and then reports no end. */
  private static List<ClientEvent> read(Stream stream) throws Exception {
    List<ClientEvent> events = new ArrayList<>();
    CompletableFuture<Void> end = new CompletableFuture<>();
    BiConsumer<ClientEvent, AgentCard> consumer = (event, card) -> {
      events.add(event);
      if (event instanceof TaskUpdateEvent update && stateOf(update.getTask()).isFinal()) end.complete(null);
    };
    stream.open(connect(target.token(), true, false), List.of(consumer), error -> {
      if (error == null) end.complete(null);
      else end.completeExceptionally(error);
    });
    try {
      end.get(20, TimeUnit.SECONDS);
    } catch (ExecutionException error) {
      if (error.getCause() instanceof Exception cause) throw cause;
      throw error;
    }
    return events;
  }

  private static void checkCompleted(List<ClientEvent> events) {
    Runner.check(events.get(0) instanceof TaskEvent, "the first update is " + events.get(0));
    TaskState state = stateOf(((TaskUpdateEvent) events.get(events.size() - 1)).getTask());
    Runner.check(state == TaskState.COMPLETED, "the last state is " + state);
  }

  private static void push() throws Exception {
    Task task = send("ask");
    Client client = connect();
    var authentication = new PushNotificationAuthenticationInfo(List.of("Bearer"), "c");
    var config = new PushNotificationConfig("http://127.0.0.1:9/hook", "opaque", authentication, "hook");
    var created = client.setTaskPushNotificationConfiguration(new TaskPushNotificationConfig(task.getId(), config), null);
    String id = created.pushNotificationConfig().id();
    var stored = client.getTaskPushNotificationConfiguration(new GetTaskPushNotificationConfigParams(task.getId(), id), null);
    Runner.check(stored.pushNotificationConfig().url().equals(config.url()), "the URL is wrong");
    var all = new ListTaskPushNotificationConfigParams(task.getId());
    Runner.check(client.listTaskPushNotificationConfigurations(all, null).size() == 1, "the list has not one configuration");
    client.deleteTaskPushNotificationConfigurations(new DeleteTaskPushNotificationConfigParams(task.getId(), id), null);
    Runner.check(client.listTaskPushNotificationConfigurations(all, null).isEmpty(), "the configuration is not deleted");
  }

  private static void extendedCard(String token) throws Exception {
    AgentCard card = connect(token, false, false).getAgentCard(null);
    boolean isExtended = card.capabilities().extensions() != null
        && card.capabilities().extensions().stream().anyMatch(extension -> extension.uri().equals("urn:acta:rings"));
    Runner.check(isExtended, "the card does not name the rings");
  }

  public static void main(String[] args) {
    target = Runner.Target.of(args);
    String missing = UUID.randomUUID().toString();
    Runner runner = new Runner();
    runner.run("card", () -> {
      AgentCard card = new A2ACardResolver(target.url()).getAgentCard();
      Runner.check(card.protocolVersion().equals("0.3.0") && card.url().equals(target.url() + "/a2a"), "the card is not one of A2A 0.3");
    });
    runner.run("extended-card", () -> extendedCard(target.token()));
    if (!target.token().isEmpty()) {
      runner.run("extended-card-error", () -> Runner.expectError(() -> extendedCard("wrong"), "(?i)auth|401"));
      runner.run("send-unauthorized", () -> Runner.expectError(() -> send(connect("", false, false), message("hello")), "(?i)auth|401"));
    }
    runner.run("send", () -> {
      Task task = send("hello");
      Runner.check(stateOf(task) == TaskState.COMPLETED, "the state is " + stateOf(task));
      Runner.check(((TextPart) task.getArtifacts().get(0).parts().get(0)).getText().equals("HELLO"), "the artifact is wrong");
    });
    runner.run("send-error", () -> Runner.expectError(() -> send(connect(), message("hello", missing, null)), "TaskNotFoundError|not found"));
    runner.run("send-message", () ->
        Runner.check(sendFor(connect(), message("reply")) instanceof MessageEvent, "the response is not a message"));
    runner.run("send-input", () -> {
      Task task = send("ask");
      Runner.check(stateOf(task) == TaskState.INPUT_REQUIRED, "the state is " + stateOf(task));
      Task continued = send(connect(), message("go on", task.getId(), task.getContextId()));
      Runner.check(stateOf(continued) == TaskState.COMPLETED, "the task is not completed");
    });
    runner.run("stream", () -> checkCompleted(read((client, consumers, onEnd) ->
        client.sendMessage(message("one two chunks 3"), consumers, onEnd, null))));
    runner.run("stream-error", () -> Runner.expectError(() -> read((client, consumers, onEnd) ->
        client.sendMessage(message("hello", missing, null), consumers, onEnd, null)), "TaskNotFoundError|not found|status 404"));
    runner.run("get", () -> {
      Task task = start("sleep 300ms");
      while (stateOf(task) != TaskState.COMPLETED) {
        Thread.sleep(100);
        task = connect().getTask(new TaskQueryParams(task.getId()), null);
      }
    });
    runner.run("get-error", () ->
        Runner.expectError(() -> connect().getTask(new TaskQueryParams(missing), null), "TaskNotFoundError|not found"));
    runner.run("subscribe", () -> {
      Task task = start("sleep 1s");
      checkCompleted(read((client, consumers, onEnd) -> client.resubscribe(new TaskIdParams(task.getId()), consumers, onEnd, null)));
    });
    runner.run("subscribe-error", () -> {
      Task task = send("hello");
      Runner.expectError(() -> read((client, consumers, onEnd) ->
          client.resubscribe(new TaskIdParams(task.getId()), consumers, onEnd, null)), "UnsupportedOperation|completed|status 400");
    });
    runner.run("cancel", () -> {
      Task task = connect().cancelTask(new TaskIdParams(start("sleep 60s").getId()), null);
      Runner.check(stateOf(task) == TaskState.CANCELED, "the state is " + stateOf(task));
    });
    runner.run("cancel-error", () -> {
      Task task = send("hello");
      Runner.expectError(() -> connect().cancelTask(new TaskIdParams(task.getId()), null), "TaskNotCancelableError|completed");
    });
    runner.run("push", ClientV03::push);
    runner.run("push-error", () -> {
      Task task = send("ask");
      var key = new GetTaskPushNotificationConfigParams(task.getId(), "missing");
      Runner.expectError(() -> connect().getTaskPushNotificationConfiguration(key, null), "TaskNotFoundError|no push notification");
    });
    System.exit(0);
  }
}
