package airlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	airlock "airlock.example/airlock"
)

// The client with a real server, beyond the conformance cases. AIRLOCK_STATE names its state directory.

const forever = "echo on; while :; do sleep 0.1; done"

func liveSession(t *testing.T) (context.Context, *airlock.Client, *airlock.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), caseLimit)
	client, err := airlock.Connect(ctx, airlock.Settings{State: state(t)})
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.Session(ctx, airlock.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(ctx); err != nil {
			t.Error(err)
		}
		client.Close()
		cancel()
	})
	return ctx, client, session
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLiveCommandsRunAtTheSameTime(t *testing.T) {
	ctx, _, session := liveSession(t)
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			var out, problems bytes.Buffer
			result, err := session.Run(ctx, fmt.Sprintf("echo %d; echo err >&2", i), airlock.Options{
				AllowConcurrent: true, SeparateStderr: true, Stdout: &out, Stderr: &problems,
			})
			if err != nil || result.Stdout != fmt.Sprintln(i) || out.String() != result.Stdout || problems.String() != "err\n" {
				t.Error(i, err, out.String(), problems.String())
			}
		}(i)
	}
	all.Wait()
}

func TestLiveACancelledRunEndsItsCommand(t *testing.T) {
	ctx, _, session := liveSession(t)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	id := ""
	_, err := session.Run(running, forever, airlock.Options{OnEvent: func(event airlock.Event) error {
		switch event := event.(type) {
		case airlock.Opened:
			id = event.Execution.ID
		case airlock.Output:
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	result, err := session.Attach(id).Wait(ctx)
	must(t, err)
	if result.Cause.Code != "cancelled" || result.Cause.Detail != "client" {
		t.Fatal(result.Cause)
	}
}

func TestLiveACommandInTheBackgroundIsFollowedToItsEnd(t *testing.T) {
	ctx, _, session := liveSession(t)
	options := airlock.Options{YieldAfter: 300 * time.Millisecond}
	result, err := session.Run(ctx, "echo on; until [ -e go ]; do sleep 0.1; done; echo off", options)
	must(t, err)
	if result.Cause.Code != "backgrounded" || result.OK() || !strings.Contains(result.Text, result.ExecutionID) {
		t.Fatal(result)
	}
	execution := session.Attach(result.ExecutionID)
	info, err := execution.Info(ctx)
	must(t, err)
	if !info.Background {
		t.Fatal(info)
	}
	_, err = session.Run(ctx, "touch go", airlock.Options{})
	must(t, err)
	result, err = execution.Wait(ctx)
	must(t, err)
	output, err := execution.Output(ctx, airlock.Selection{})
	must(t, err)
	if result.Stdout != "on\noff\n" || string(output) != "on\noff\n" {
		t.Fatal(result.Stdout, string(output))
	}
}

func TestLiveAnApprovalIsAnsweredWhileTheRunWaits(t *testing.T) {
	ctx, client, session := liveSession(t)
	answer := func(id string) error {
		approval, err := client.Approvals.Show(ctx, id)
		if err == nil && approval.Decision.Reasons[0].Span == nil {
			err = errors.New("the reason has no span")
		}
		if err == nil {
			_, err = client.Approvals.Deny(ctx, approval, "no")
		}
		return err
	}
	_, err := session.Run(ctx, "git push --force", airlock.Options{OnAsk: airlock.OnAskWait, OnApproval: answer})
	var denied *airlock.Error
	if !errors.As(err, &denied) || denied.Kind != airlock.KindDenied || denied.Span == nil ||
		denied.Text() != "airlock: denied by a person: no; it did not run\n" {
		t.Fatal(err)
	}
}

func TestLiveAnInputThatCannotBeReadEndsTheCommand(t *testing.T) {
	ctx, _, session := liveSession(t)
	input := io.MultiReader(strings.NewReader("a"), failingReader{})
	_, err := session.Run(ctx, "cat", airlock.Options{Input: input})
	if !errors.Is(err, airlock.KindLocal) || !errors.Is(err, io.ErrClosedPipe) {
		t.Fatal(err)
	}
}

// failingReader is a reader that fails.
type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestLiveALocalPortIsForwarded(t *testing.T) {
	ctx, _, session := liveSession(t)
	server, err := session.Start(ctx,
		`python3 -uc 'import socket;s=socket.create_server(("127.0.0.1",8002));print(1)
while c:=s.accept()[0]:c.sendall(c.recv(99).upper());c.close()'`, airlock.Options{Background: true})
	must(t, err)
	events := server.Events(ctx, airlock.From{})
	defer events.Close()
	for event, err := events.Next(); ; event, err = events.Next() {
		must(t, err)
		if _, ok := event.(airlock.Output); ok {
			break
		}
	}
	forward, err := session.Forward(8002, 0)
	must(t, err)
	defer forward.Close()
	for i := 0; i < 2; i++ {
		local, err := net.Dial("tcp", forward.Address())
		must(t, err)
		_, err = io.WriteString(local, "hello")
		must(t, err)
		received, err := io.ReadAll(local)
		if err != nil || string(received) != "HELLO" {
			t.Fatal(string(received), err)
		}
		local.Close()
	}
}

func TestLiveFilesThatAreNotTextKeepTheirBytes(t *testing.T) {
	ctx, _, session := liveSession(t)
	files, name, local := session.Files, "\xff name", filepath.Join(t.TempDir(), "copy")
	must(t, files.Write(ctx, name, []byte("\x00\xff")))
	watch, err := files.Watch(ctx, "", 50*time.Millisecond)
	must(t, err)
	_, err = files.Download(ctx, name, local)
	must(t, err)
	_, err = files.Upload(ctx, local, "again")
	must(t, err)
	event, err := watch.Next()
	must(t, err)
	if event.Kind != "added" || event.Path != "/workspace/again" {
		t.Fatal(event)
	}
	content, err := files.Read(ctx, "again")
	must(t, err)
	all, err := files.List(ctx, "", airlock.Filter{Exclude: []string{"again"}})
	must(t, err)
	none, err := files.Exists(ctx, "none")
	must(t, err)
	if string(content) != "\x00\xff" || len(all) != 1 || all[0].Path != "/workspace/"+name || none {
		t.Fatal(content, all, none)
	}
}

func TestLiveSessionsAndExecutionsAreListed(t *testing.T) {
	ctx, client, session := liveSession(t)
	result, err := session.Run(ctx, "echo $HTTPS_PROXY | wc -c", airlock.Options{
		Labels: map[string]string{"task": "7"}, Network: &airlock.NetworkRules{},
	})
	must(t, err)
	executions, err := client.Executions(ctx, session.ID)
	must(t, err)
	if len(executions) != 1 || executions[0].ID != result.ExecutionID || executions[0].Labels["task"] != "7" ||
		executions[0].State != "finished" || executions[0].Raw.Network == nil {
		t.Fatal(executions)
	}
	info, err := session.Update(ctx, airlock.SessionUpdate{Mode: airlock.ModePlan})
	must(t, err)
	again, err := client.OpenSession(ctx, session.ID)
	must(t, err)
	if _, err := again.Run(ctx, "touch x", airlock.Options{}); !errors.Is(err, airlock.KindDenied) {
		t.Fatal(err)
	}
	now, err := session.Refresh(ctx)
	must(t, err)
	if info.Mode != airlock.ModePlan || now.State != "open" || session.Info().Mode != airlock.ModePlan {
		t.Fatal(info, now)
	}
}
