package airlock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	airlock "airlock.example/airlock"
)

// The blocks of README.md are parts of these examples. They use the server that AIRLOCK_STATE names.

var ctx = context.Background()

// connect returns a client and a session for an example.
func connect() (*airlock.Client, *airlock.Session) {
	client, err := airlock.Connect(ctx, airlock.Settings{})
	check(err)
	sandbox, err := client.Session(ctx, airlock.SessionOptions{})
	check(err)
	return client, sandbox
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func ExampleSession_Run() {
	client, sandbox := connect()
	defer client.Close()
	defer sandbox.Close(ctx)

	// The input, a time limit, and a network that is narrower than the profile's.
	result, err := sandbox.Run(ctx, "sort", airlock.Options{
		Input:   strings.NewReader("b\na\n"),
		Timeout: 10 * time.Second,
		Network: &airlock.NetworkRules{Allow: []string{"pypi"}},
	})
	check(err)
	fmt.Printf("%q %s %v\n", result.Stdout, result.Cause.Code, result.Truncated)

	// The caller's deadline ends the command.
	limited, cancel := context.WithTimeout(ctx, time.Second/2)
	defer cancel()
	_, err = sandbox.Run(limited, "while :; do sleep 0.1; done", airlock.Options{})
	fmt.Println(errors.Is(err, airlock.KindDeadline))
	// Output:
	// "a\nb\n" exited false
	// true
}

func ExampleSession_Start() {
	client, sandbox := connect()
	defer client.Close()
	defer sandbox.Close(ctx)

	// A command that is written to while it runs.
	execution, err := sandbox.Start(ctx, "read name; echo hello $name", airlock.Options{Stdin: true})
	check(err)
	check(execution.Stdin.Write(ctx, []byte("you\n")))
	result, err := execution.Wait(ctx)
	check(err)
	fmt.Print(result.Stdout)

	// A terminal.
	shell, err := sandbox.Start(ctx, "read x; stty size", airlock.Options{Pty: &airlock.Pty{Rows: 40, Cols: 100}})
	check(err)
	check(shell.Stdin.Write(ctx, []byte("go\n")))
	result, err = shell.Wait(ctx)
	check(err)
	fmt.Println(strings.HasSuffix(result.Stdout, "40 100\n"))
	// Output:
	// hello you
	// true
}

func ExampleExecution_Events() {
	client, sandbox := connect()
	defer client.Close()
	defer sandbox.Close(ctx)
	execution, err := sandbox.Start(ctx, "seq 1 100000", airlock.Options{})
	check(err)

	// Events, from any position. They survive broken connections.
	events := client.Attach(execution.ID).Events(ctx, airlock.From{})
	defer events.Close()
	received := 0
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		switch event := event.(type) {
		case airlock.Output:
			received += len(event.Data)
		case airlock.Finished:
			fmt.Println(event.Result.Cause.Code, received)
		}
	}

	// A part of a long output.
	tail, err := execution.Output(ctx, airlock.Selection{TailLines: 1})
	check(err)
	fmt.Print(string(tail))
	// Output:
	// exited 588895
	// 100000
}

func ExampleFiles() {
	client, sandbox := connect()
	defer client.Close()
	defer sandbox.Close(ctx)
	directory, err := os.MkdirTemp("", "airlock-example-")
	check(err)
	defer os.RemoveAll(directory)
	project, copied := filepath.Join(directory, "project"), filepath.Join(directory, "result")
	check(os.Mkdir(project, 0o755))
	check(os.WriteFile(filepath.Join(project, "main.py"), []byte("print(1)\n"), 0o644))

	_, err = sandbox.Files.Upload(ctx, project, "")
	check(err)
	check(sandbox.Files.Write(ctx, "notes/a.txt", []byte("a\n")))
	_, err = sandbox.Run(ctx, "sed -i s/1/2/ main.py; rm notes/a.txt", airlock.Options{})
	check(err)
	changes, err := sandbox.Files.DiffPatch(ctx, "", airlock.Filter{})
	check(err)
	for _, change := range changes {
		fmt.Println(change.Kind, change.Path)
	}
	done, err := sandbox.Files.Download(ctx, "", copied)
	check(err)
	content, err := os.ReadFile(filepath.Join(copied, "main.py"))
	check(err)
	fmt.Println(done.Files, string(content))
	// Output:
	// modified /workspace/main.py
	// deleted /workspace/notes/a.txt
	// 1 print(2)
}

func ExampleSession_Forward() {
	client, sandbox := connect()
	defer client.Close()
	defer sandbox.Close(ctx)
	server, err := sandbox.Start(ctx, "echo hello > page; exec python3 -u -m http.server 8001 2>&1",
		airlock.Options{Background: true})
	check(err)
	waitForOutput(server)

	forward, err := sandbox.Forward(8001, 0)
	check(err)
	defer forward.Close()
	response, err := http.Get("http://" + forward.Address() + "/page")
	check(err)
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	check(err)
	// Output:
	// hello
}

// waitForOutput returns when a command has written something.
func waitForOutput(execution *airlock.Execution) {
	events := execution.Events(ctx, airlock.From{})
	defer events.Close()
	for {
		event, err := events.Next()
		check(err)
		if _, ok := event.(airlock.Output); ok {
			return
		}
	}
}

func ExampleApprovals() {
	client, sandbox := connect()
	defer client.Close()
	defer sandbox.Close(ctx)

	_, err := sandbox.Run(ctx, "git push --force", airlock.Options{
		OnAsk: airlock.OnAskWait,
		OnApproval: func(id string) error {
			approval, err := client.Approvals.Show(ctx, id)
			if err != nil {
				return err
			}
			fmt.Println(approval.Command, "-", approval.Decision.Reasons[0].Code)
			_, err = client.Approvals.Deny(ctx, approval, "not on a Friday")
			return err
		},
	})
	var denied *airlock.Error
	if errors.As(err, &denied) && denied.Kind == airlock.KindDenied {
		fmt.Print(denied.Text())
	}
	// Output:
	// git push --force - destroys_work
	// airlock: denied by a person: not on a Friday; it did not run
}
