import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Runs the cases of one client and prints the result of each as a line of JSON. */
final class Runner {
  private static final int CASE_TIMEOUT_S = 30;

  /** The server of this client. The token is empty if the server requires no credential. */
  record Target(String url, String binding, String token) {
    /** Returns the target in a command line of `--name value`. */
    static Target of(String[] args) {
      List<String> words = List.of(args);
      return new Target(valueOf(words, "--url"), valueOf(words, "--binding"), valueOf(words, "--token"));
    }

    private static String valueOf(List<String> words, String name) {
      return words.get(words.indexOf(name) + 1);
    }
  }

  interface Case {
    void run() throws Exception;
  }

  private final ExecutorService executor = Executors.newCachedThreadPool();

  /** Runs one case and prints its result. */
  void run(String name, Case test) {
    Callable<Void> call = () -> {
      test.run();
      return null;
    };
    String error = null;
    try {
      executor.submit(call).get(CASE_TIMEOUT_S, TimeUnit.SECONDS);
    } catch (Exception thrown) {
      error = describe(thrown.getCause() == null ? thrown : thrown.getCause());
    }
    String start = "{\"case\":\"" + name + "\",\"passed\":" + (error == null);
    System.out.println(error == null ? start + "}" : start + ",\"error\":\"" + escape(error) + "\"}");
  }

  static void check(boolean condition, String message) {
    if (!condition) throw new AssertionError(message);
  }

  /** Expects that an operation fails, with an error that matches a pattern. */
  static void expectError(Case operation, String pattern) {
    String error;
    try {
      operation.run();
    } catch (Exception thrown) {
      error = describe(thrown);
      check(Pattern.compile(pattern).matcher(error).find(), "the error is not " + pattern + ": " + error);
      return;
    }
    throw new AssertionError("the operation succeeded");
  }

  /** Returns the messages of an error and of its causes. */
  static String describe(Throwable error) {
    StringBuilder text = new StringBuilder();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      text.append(text.isEmpty() ? "" : "; ").append(cause.getClass().getSimpleName()).append(": ").append(cause.getMessage());
    }
    return text.toString();
  }

  private static String escape(String text) {
    StringBuilder escaped = new StringBuilder();
    for (char unit : text.toCharArray()) {
      if (unit == '"' || unit == '\\') escaped.append('\\').append(unit);
      else escaped.append(unit < ' ' ? String.format("\\u%04x", (int) unit) : unit);
    }
    return escaped.toString();
  }
}
