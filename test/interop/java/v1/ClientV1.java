import io.a2a.client.Client;
import io.a2a.client.ClientEvent;
import io.a2a.client.MessageEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.client.http.A2AHttpClientFactory;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfigBuilder;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfigBuilder;
import io.a2a.client.transport.spi.interceptors.ClientCallContext;
import io.a2a.client.transport.spi.interceptors.ClientCallInterceptor;
import io.a2a.client.transport.spi.interceptors.PayloadAndHeaders;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AuthenticationInfo;
import io.a2a.spec.DeleteTaskPushNotificationConfigParams;
import io.a2a.spec.GetTaskPushNotificationConfigParams;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.ListTasksParams;
import io.a2a.spec.Message;
import io.a2a.spec.MessageSendConfiguration;
import io.a2a.spec.MessageSendParams;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.Task;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TextPart;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Runs the cases with the official Java SDK of A2A 1.0. */
public final class ClientV1 {
  private static Runner.Target target;

  /** Attaches the version, which the SDK does not send, and a token. */
  private static final class Headers extends ClientCallInterceptor {
    private final String token;

    Headers(String token) {
      this.token = token;
    }

    @Override
    public PayloadAndHeaders intercept(
        String method, Object payload, Map<String, String> headers, AgentCard card, ClientCallContext context) {
      Map<String, String> all = new HashMap<>(headers == null ? Map.of() : headers);
      all.put("A2A-Version", "1.0");
      if (!token.isEmpty()) all.put("Authorization", "Bearer " + token);
      return new PayloadAndHeaders(payload, all);
    }
  }

  /** Gets the card of A2A 1.0. The SDK rejects a card that has fields of A2A 0.3, too. */
  private static AgentCard resolveCard() throws Exception {
    Map<String, String> headers = Map.of("A2A-Version", "1.0");
    return new A2ACardResolver(A2AHttpClientFactory.create(), target.url(), null, null, headers).getAgentCard();
  }

  private static Client connect(String token, boolean isStreaming) throws Exception {
    AgentCard card = resolveCard();
    ClientConfig config = ClientConfig.builder().setStreaming(isStreaming).build();
    var builder = Client.builder(card).clientConfig(config);
    return target.binding().equals("JSONRPC")
        ? builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfigBuilder().addInterceptor(new Headers(token))).build()
        : builder.withTransport(RestTransport.class, new RestTransportConfigBuilder().addInterceptor(new Headers(token))).build();
  }

  private static Client connect() throws Exception {
    return connect(target.token(), false);
  }

  private static MessageSendParams params(String text, String taskId, String contextId, boolean isBlocking) {
    var message = Message.builder().role(Message.Role.ROLE_USER).messageId(UUID.randomUUID().toString()).parts(new TextPart(text));
    if (taskId != null) message.taskId(taskId);
    if (contextId != null) message.contextId(contextId);
    var configuration = MessageSendConfiguration.builder().blocking(isBlocking).build();
    return MessageSendParams.builder().message(message.build()).configuration(configuration).build();
  }

  /** Sends a message without a stream, and returns the only event. */
  private static ClientEvent sendFor(Client client, MessageSendParams params) throws Exception {
    List<ClientEvent> events = new ArrayList<>();
    client.sendMessage(params, List.of((event, card) -> events.add(event)), null, null);
    Runner.check(events.size() == 1, events.size() + " events");
    return events.get(0);
  }

  private static Task send(Client client, MessageSendParams params) throws Exception {
    return ((TaskEvent) sendFor(client, params)).getTask();
  }

  private static Task send(String text) throws Exception {
    return send(connect(), params(text, null, null, true));
  }

  /** Starts a task with a stream, because the SDK sends `blocking` of a draft of A2A 1.0 instead of `returnImmediately`. */
  private static Task start(String text) throws Exception {
    CompletableFuture<Task> task = new CompletableFuture<>();
    BiConsumer<ClientEvent, AgentCard> consumer = (event, card) -> {
      if (event instanceof TaskEvent started) task.complete(started.getTask());
    };
    connect(target.token(), true).sendMessage(params(text, null, null, true), List.of(consumer), task::completeExceptionally, null);
    return task.get(10, TimeUnit.SECONDS);
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
      if (event instanceof TaskUpdateEvent update && update.getTask().status().state().isFinal()) end.complete(null);
    };
    stream.open(connect(target.token(), true), List.of(consumer), error -> {
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
    Task task = ((TaskUpdateEvent) events.get(events.size() - 1)).getTask();
    Runner.check(task.status().state() == TaskState.TASK_STATE_COMPLETED, "the last state is " + task.status().state());
  }

  private static void list() throws Exception {
    String contextId = UUID.randomUUID().toString();
    // The SDK rejects a page that has fewer tasks than its size, so every page is full.
    for (String text : List.of("a", "b", "c", "d")) send(connect(), params(text, null, contextId, true));
    Set<String> ids = new HashSet<>();
    String token = null;
    do {
      var page = connect().listTasks(ListTasksParams.builder().contextId(contextId).pageSize(2).pageToken(token).tenant("").build());
      page.tasks().forEach(task -> ids.add(task.id()));
      token = page.nextPageToken();
    } while (token != null && !token.isEmpty());
    Runner.check(ids.size() == 4, "the pages have " + ids.size() + " tasks");
  }

  private static void push() throws Exception {
    Task task = send("ask");
    Client client = connect();
    var config = PushNotificationConfig.builder().id("hook").url("http://127.0.0.1:9/hook").token("opaque")
        .authentication(new AuthenticationInfo("Bearer", "c")).build();
    var created = client.createTaskPushNotificationConfiguration(new TaskPushNotificationConfig(task.id(), config, ""));
    var key = new GetTaskPushNotificationConfigParams(task.id(), created.config().id());
    Runner.check(client.getTaskPushNotificationConfiguration(key).config().url().equals(config.url()), "the URL is wrong");
    var all = new ListTaskPushNotificationConfigParams(task.id());
    Runner.check(client.listTaskPushNotificationConfigurations(all).configs().size() == 1, "the list has not one configuration");
    client.deleteTaskPushNotificationConfigurations(new DeleteTaskPushNotificationConfigParams(task.id(), created.config().id()));
    Runner.check(client.listTaskPushNotificationConfigurations(all).configs().isEmpty(), "the configuration is not deleted");
  }

  private static void extendedCard(String token) throws Exception {
    AgentCard card = connect(token, false).getExtendedAgentCard();
    boolean isExtended = card.capabilities().extensions().stream().anyMatch(extension -> extension.uri().equals("urn:acta:rings"));
    Runner.check(isExtended, "the card does not name the rings");
  }

  public static void main(String[] args) {
    target = Runner.Target.of(args);
    String missing = UUID.randomUUID().toString();
    Runner runner = new Runner();
    runner.run("card", () -> {
      AgentCard card = new A2ACardResolver(target.url()).getAgentCard();
      Runner.check(card.supportedInterfaces().get(0).protocolVersion().equals("1.0"), "the first interface is not one of A2A 1.0");
    });
    runner.run("extended-card", () -> extendedCard(target.token()));
    if (!target.token().isEmpty()) {
      runner.run("extended-card-error", () -> Runner.expectError(() -> extendedCard("wrong"), "(?i)auth|401"));
      runner.run("send-unauthorized", () -> Runner.expectError(() -> send(connect("", false), params("hello", null, null, true)), "(?i)auth|401"));
    }
    runner.run("send", () -> {
      Task task = send("hello");
      Runner.check(task.status().state() == TaskState.TASK_STATE_COMPLETED, "the state is " + task.status().state());
      Runner.check(((TextPart) task.artifacts().get(0).parts().get(0)).text().equals("HELLO"), "the artifact is wrong");
    });
    runner.run("send-error", () -> Runner.expectError(() -> send(connect(), params("hello", missing, null, true)), "TaskNotFoundError"));
    runner.run("send-message", () ->
        Runner.check(sendFor(connect(), params("reply", null, null, true)) instanceof MessageEvent, "the response is not a message"));
    runner.run("send-input", () -> {
      Task task = send("ask");
      Runner.check(task.status().state() == TaskState.TASK_STATE_INPUT_REQUIRED, "the state is " + task.status().state());
      Task continued = send(connect(), params("go on", task.id(), task.contextId(), true));
      Runner.check(continued.status().state() == TaskState.TASK_STATE_COMPLETED, "the task is not completed");
    });
    runner.run("stream", () -> checkCompleted(read((client, consumers, onEnd) ->
        client.sendMessage(params("one two chunks 3", null, null, true), consumers, onEnd, null))));
    runner.run("stream-error", () -> Runner.expectError(() -> read((client, consumers, onEnd) ->
        client.sendMessage(params("hello", missing, null, true), consumers, onEnd, null)), "TaskNotFoundError|status 404"));
    runner.run("get", () -> {
      Task task = start("sleep 300ms");
      while (task.status().state() != TaskState.TASK_STATE_COMPLETED) {
        Thread.sleep(100);
        task = connect().getTask(new TaskQueryParams(task.id()));
      }
    });
    runner.run("get-error", () -> Runner.expectError(() -> connect().getTask(new TaskQueryParams(missing)), "TaskNotFoundError"));
    runner.run("list", ClientV1::list);
    runner.run("list-error", () -> Runner.expectError(
        () -> connect().listTasks(ListTasksParams.builder().pageToken("wrong").tenant("").build()), "pageToken|InvalidParamsError"));
    runner.run("subscribe", () -> {
      Task task = start("sleep 1s");
      checkCompleted(read((client, consumers, onEnd) -> client.subscribeToTask(new TaskIdParams(task.id()), consumers, onEnd, null)));
    });
    runner.run("subscribe-error", () -> {
      Task task = send("hello");
      Runner.expectError(() -> read((client, consumers, onEnd) ->
          client.subscribeToTask(new TaskIdParams(task.id()), consumers, onEnd, null)), "UnsupportedOperationError|status 400");
    });
    runner.run("cancel", () -> {
      Task task = connect().cancelTask(new TaskIdParams(start("sleep 60s").id()));
      Runner.check(task.status().state() == TaskState.TASK_STATE_CANCELED, "the state is " + task.status().state());
    });
    runner.run("cancel-error", () -> {
      Task task = send("hello");
      Runner.expectError(() -> connect().cancelTask(new TaskIdParams(task.id())), "TaskNotCancelableError");
    });
    runner.run("push", ClientV1::push);
    runner.run("push-error", () -> {
      Task task = send("ask");
      var key = new GetTaskPushNotificationConfigParams(task.id(), "missing");
      Runner.expectError(() -> connect().getTaskPushNotificationConfiguration(key), "TaskNotFoundError");
    });
    System.exit(0);
  }
}
