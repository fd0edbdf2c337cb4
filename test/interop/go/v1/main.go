// Runs the cases with the official Go SDK of A2A 1.0.
package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"acta/interop/runner"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

var target = runner.ReadTarget()

// bearer attaches a token to every call. The interceptor of the SDK needs the security requirements of the card, which the SDK
// cannot decode.
type bearer struct {
	a2aclient.PassthroughInterceptor
	token string
}

func (b bearer) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	if b.token != "" {
		req.ServiceParams["Authorization"] = []string{"Bearer " + b.token}
	}
	return ctx, nil, nil
}

// connect creates a client from the card of the default resolver.
func connect(ctx context.Context, token string) (*a2aclient.Client, error) {
	card, err := agentcard.DefaultResolver.Resolve(ctx, target.URL)
	if err != nil {
		return nil, err
	}
	config := a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{a2a.TransportProtocol(target.Binding)}}
	return a2aclient.NewFromCard(ctx, card,
		a2aclient.WithConfig(config),
		a2aclient.WithCallInterceptors(&bearer{token: token}))
}

// with runs a case with a client that has a credential.
func with(name string, run func(ctx context.Context, client *a2aclient.Client) error) runner.Case {
	return withToken(name, target.Token, run)
}

func withToken(name, token string, run func(ctx context.Context, client *a2aclient.Client) error) runner.Case {
	return runner.Case{Name: name, Run: func(ctx context.Context) error {
		client, err := connect(ctx, token)
		if err != nil {
			return err
		}
		return run(ctx, client)
	}}
}

func request(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

func requestFor(id a2a.TaskID, contextID, text string) *a2a.SendMessageRequest {
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	message.TaskID, message.ContextID = id, contextID
	return &a2a.SendMessageRequest{Message: message}
}

func send(ctx context.Context, client *a2aclient.Client, request *a2a.SendMessageRequest) (*a2a.Task, error) {
	result, err := client.SendMessage(ctx, request)
	if err != nil {
		return nil, err
	}
	task, ok := result.(*a2a.Task)
	return task, runner.Check(ok, "the result is a %T", result)
}

func start(ctx context.Context, client *a2aclient.Client, text string) (*a2a.Task, error) {
	started := request(text)
	started.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	return send(ctx, client, started)
}

// sendThen sends a text and runs the rest of a case with its task.
func sendThen(text string, rest func(ctx context.Context, client *a2aclient.Client, task *a2a.Task) error) func(context.Context, *a2aclient.Client) error {
	return func(ctx context.Context, client *a2aclient.Client) error {
		task, err := send(ctx, client, request(text))
		if err != nil {
			return err
		}
		return rest(ctx, client, task)
	}
}

func isState(task *a2a.Task, state a2a.TaskState) error {
	return runner.Check(task.Status.State == state, "the state is %s", task.Status.State)
}

// checkCompleted reads the stream of a task to its end.
func checkCompleted(stream iter.Seq2[a2a.Event, error]) error {
	events, err := runner.ReadAll(stream)
	if err != nil {
		return err
	}
	if _, ok := events[0].(*a2a.Task); !ok {
		return fmt.Errorf("the first update is a %T", events[0])
	}
	last, ok := events[len(events)-1].(*a2a.TaskStatusUpdateEvent)
	return runner.Check(ok && last.Status.State == a2a.TaskStateCompleted, "the last update is %v", events[len(events)-1])
}

func extendedCard(ctx context.Context, client *a2aclient.Client) error {
	card, err := client.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	if err != nil {
		return err
	}
	for _, extension := range card.Capabilities.Extensions {
		if extension.URI == "urn:acta:rings" {
			return nil
		}
	}
	return fmt.Errorf("the card does not name the rings")
}

func list(ctx context.Context, client *a2aclient.Client) error {
	contextID, ids, token := a2a.NewContextID(), map[a2a.TaskID]bool{}, ""
	for _, text := range []string{"a", "b", "c"} {
		if _, err := send(ctx, client, requestFor("", contextID, text)); err != nil {
			return err
		}
	}
	for {
		page, err := client.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID, PageSize: 2, PageToken: token})
		if err != nil {
			return err
		}
		for _, task := range page.Tasks {
			ids[task.ID] = true
		}
		if token = page.NextPageToken; token == "" {
			return runner.Check(len(ids) == 3, "the pages have %d tasks", len(ids))
		}
	}
}

func push(ctx context.Context, client *a2aclient.Client, task *a2a.Task) error {
	config := &a2a.PushConfig{
		TaskID: task.ID, URL: "http://127.0.0.1:9/hook", Token: "opaque",
		Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "c"},
	}
	created, err := client.CreateTaskPushConfig(ctx, config)
	if err != nil {
		return err
	}
	stored, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: created.ID})
	if err != nil {
		return err
	}
	if stored.URL != config.URL {
		return fmt.Errorf("the URL is %s", stored.URL)
	}
	if err := countConfigs(ctx, client, task.ID, 1); err != nil {
		return err
	}
	if err := client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: created.ID}); err != nil {
		return err
	}
	return countConfigs(ctx, client, task.ID, 0)
}

func countConfigs(ctx context.Context, client *a2aclient.Client, id a2a.TaskID, expected int) error {
	configs, err := client.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: id})
	if err != nil {
		return err
	}
	return runner.Check(len(configs) == expected, "the list has %d configurations", len(configs))
}

func untilCompleted(ctx context.Context, client *a2aclient.Client) error {
	task, err := start(ctx, client, "sleep 300ms")
	for err == nil && task.Status.State != a2a.TaskStateCompleted {
		time.Sleep(100 * time.Millisecond)
		task, err = client.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
	}
	return err
}

func main() {
	missing := a2a.NewTaskID()
	cases := []runner.Case{
		{Name: "card", Run: func(ctx context.Context) error {
			card, err := agentcard.DefaultResolver.Resolve(ctx, target.URL)
			if err != nil {
				return err
			}
			return runner.Check(card.SupportedInterfaces[0].ProtocolVersion == "1.0", "the first interface is not one of A2A 1.0")
		}},
		with("extended-card", extendedCard),
		with("send", sendThen("hello", func(_ context.Context, _ *a2aclient.Client, task *a2a.Task) error {
			if err := isState(task, a2a.TaskStateCompleted); err != nil {
				return err
			}
			return runner.Check(task.Artifacts[0].Parts[0].Text() == "HELLO", "the artifact is wrong")
		})),
		with("send-error", func(ctx context.Context, client *a2aclient.Client) error {
			_, err := send(ctx, client, requestFor(missing, "", "hello"))
			return runner.ExpectError(err, a2a.ErrTaskNotFound, "")
		}),
		with("send-message", func(ctx context.Context, client *a2aclient.Client) error {
			result, err := client.SendMessage(ctx, request("reply"))
			if err != nil {
				return err
			}
			_, ok := result.(*a2a.Message)
			return runner.Check(ok, "the result is a %T", result)
		}),
		with("send-input", sendThen("ask", func(ctx context.Context, client *a2aclient.Client, task *a2a.Task) error {
			if err := isState(task, a2a.TaskStateInputRequired); err != nil {
				return err
			}
			continued, err := send(ctx, client, requestFor(task.ID, task.ContextID, "go on"))
			if err != nil {
				return err
			}
			return isState(continued, a2a.TaskStateCompleted)
		})),
		with("stream", func(ctx context.Context, client *a2aclient.Client) error {
			return checkCompleted(client.SendStreamingMessage(ctx, request("one two chunks 3")))
		}),
		with("stream-error", func(ctx context.Context, client *a2aclient.Client) error {
			_, err := runner.ReadAll(client.SendStreamingMessage(ctx, requestFor(missing, "", "hello")))
			return runner.ExpectError(err, a2a.ErrTaskNotFound, "")
		}),
		with("get", untilCompleted),
		with("get-error", func(ctx context.Context, client *a2aclient.Client) error {
			_, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: missing})
			return runner.ExpectError(err, a2a.ErrTaskNotFound, "")
		}),
		with("list", list),
		with("list-error", func(ctx context.Context, client *a2aclient.Client) error {
			_, err := client.ListTasks(ctx, &a2a.ListTasksRequest{PageToken: "wrong"})
			return runner.ExpectError(err, a2a.ErrInvalidParams, "pageToken")
		}),
		with("subscribe", func(ctx context.Context, client *a2aclient.Client) error {
			task, err := start(ctx, client, "sleep 1s")
			if err != nil {
				return err
			}
			return checkCompleted(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}))
		}),
		with("subscribe-error", sendThen("hello", func(ctx context.Context, client *a2aclient.Client, task *a2a.Task) error {
			_, err := runner.ReadAll(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}))
			return runner.ExpectError(err, a2a.ErrUnsupportedOperation, "completed")
		})),
		with("cancel", func(ctx context.Context, client *a2aclient.Client) error {
			task, err := start(ctx, client, "sleep 60s")
			if err != nil {
				return err
			}
			if task, err = client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
				return err
			}
			return isState(task, a2a.TaskStateCanceled)
		}),
		with("cancel-error", sendThen("hello", func(ctx context.Context, client *a2aclient.Client, task *a2a.Task) error {
			_, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
			return runner.ExpectError(err, a2a.ErrTaskNotCancelable, "")
		})),
		with("push", sendThen("ask", push)),
		with("push-error", sendThen("ask", func(ctx context.Context, client *a2aclient.Client, task *a2a.Task) error {
			_, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "missing"})
			return runner.ExpectError(err, a2a.ErrTaskNotFound, "")
		})),
	}
	if target.Token != "" {
		cases = append(cases,
			withToken("extended-card-error", "wrong", func(ctx context.Context, client *a2aclient.Client) error {
				return runner.ExpectError(extendedCard(ctx, client), nil, "(?i)401|token")
			}),
			withToken("send-unauthorized", "", func(ctx context.Context, client *a2aclient.Client) error {
				_, err := send(ctx, client, request("hello"))
				return runner.ExpectError(err, nil, "(?i)401|token")
			}))
	}
	runner.RunCases(cases)
}
