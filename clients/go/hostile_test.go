package airlock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	airlock "airlock.example/airlock"
	pb "airlock.example/airlock/airlockpb"
)

// The client with servers and connections that break: no byte is lost or doubled, and no broken stream is an end.

func opened() *pb.Event {
	opened := &pb.Opened{Execution: &pb.Execution{ExecutionId: "e"}}
	return &pb.Event{Cursor: []byte("0"), Event: &pb.Event_Opened{Opened: opened}}
}

func output(offset uint64, data string) *pb.Event {
	part := &pb.Output{Stream: pb.OutputStream_OUTPUT_STREAM_STDOUT, Offset: offset, Data: []byte(data)}
	cursor := strconv.Itoa(int(offset) + len(data))
	return &pb.Event{Cursor: []byte(cursor), Event: &pb.Event_Output{Output: part}}
}

func finished() *pb.Event {
	cause := &pb.Cause{Code: pb.CauseCode_CAUSE_CODE_EXITED, Detail: &pb.Cause_Exited_{Exited: &pb.Cause_Exited{}}}
	result := &pb.Result{Cause: cause, Started: pb.Started_STARTED_YES}
	execution := &pb.Execution{ExecutionId: "e", Result: result}
	return &pb.Event{Cursor: []byte("z"), Event: &pb.Event_Finished{Finished: &pb.Finished{Execution: execution}}}
}

// sends returns an answer that sends events and then ends with an error.
func sends(err error, events ...*pb.Event) func(int, func(*pb.Event) error) error {
	return func(_ int, send func(*pb.Event) error) error {
		for _, event := range events {
			if err := send(event); err != nil {
				return err
			}
		}
		return err
	}
}

func TestAViewThatBreaksOrEndsIsNeverTheEnd(t *testing.T) {
	f := &fake{run: sends(errBroken, opened(), output(0, "abc"))}
	f.attach = func(call int, send func(*pb.Event) error) error {
		switch call {
		case 1:
			// It repeats known bytes, and ends without a closing event.
			return sends(nil, opened(), output(1, "bcde"))(call, send)
		case 2:
			return errBroken
		}
		return sends(nil, opened(), output(5, "fg"), &pb.Event{Cursor: []byte("7")}, finished())(call, send)
	}
	var got bytes.Buffer
	result, err := connected(t, f, airlock.Settings{}).Run(context.Background(), "x", airlock.Options{Stdout: &got})
	if err != nil || !result.OK() || got.String() != "abcdefg" {
		t.Fatal(result, err, got.String())
	}
	cursors := []string{}
	for _, request := range f.attaches {
		cursors = append(cursors, string(request.GetCursor()))
	}
	if !reflect.DeepEqual(cursors, []string{"3", "5", "5"}) {
		t.Fatal(cursors)
	}
}

func TestAStartWithoutAnAnswerIsRepeatedWithItsRequestID(t *testing.T) {
	f := &fake{run: func(call int, send func(*pb.Event) error) error {
		if call < 3 {
			return errBroken
		}
		return sends(nil, opened(), finished())(call, send)
	}}
	if _, err := connected(t, f, airlock.Settings{}).Run(context.Background(), "x", airlock.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(f.runs) != 3 || f.runs[0].Spec.RequestId == "" {
		t.Fatal(f.runs)
	}
	for _, request := range f.runs {
		if request.Spec.RequestId != f.runs[0].Spec.RequestId {
			t.Fatal(f.runs)
		}
	}
}

func TestAStartThatIsNeverAnsweredIsUnknown(t *testing.T) {
	f := &fake{run: sends(errBroken)}
	f.start = func() (*pb.ExecutionServiceStartResponse, error) { return nil, errBroken }
	client := connected(t, f, airlock.Settings{})
	_, err := client.Run(context.Background(), "x", airlock.Options{RequestID: "mine"})
	var own *airlock.Error
	if !errors.As(err, &own) || own.Kind != airlock.KindStartUnknown || own.RequestID != "mine" {
		t.Fatal(err)
	}
	if _, err := client.Start(context.Background(), "x", airlock.Options{}); !errors.Is(err, airlock.KindStartUnknown) {
		t.Fatal(err)
	}
}

func TestAViewThatCannotBeResumedIsLostAndNamesItsCursor(t *testing.T) {
	f := &fake{attach: func(call int, send func(*pb.Event) error) error {
		// Bytes are skipped, again and again.
		if call == 1 {
			return sends(nil, opened(), output(0, "abc"), output(9, "x"))(call, send)
		}
		return sends(nil, opened(), output(9, "x"))(call, send)
	}}
	events := connected(t, f, airlock.Settings{}).Attach("e").Events(context.Background(), airlock.From{})
	defer events.Close()
	got := ""
	for {
		event, err := events.Next()
		if part, ok := event.(airlock.Output); ok {
			got += string(part.Data)
		}
		if err == nil {
			continue
		}
		var own *airlock.Error
		if !errors.As(err, &own) || own.Kind != airlock.KindViewLost || got != "abc" || own.ExecutionID != "e" ||
			string(own.Cursor) != "3" || !strings.Contains(err.Error(), "skipped bytes") {
			t.Fatal(got, err)
		}
		return
	}
}

func TestAnErrorOfTheServerIsNotRetried(t *testing.T) {
	f := &fake{wait: func() (*pb.ExecutionServiceWaitResponse, error) {
		return nil, refusal(codes.Internal, "INTERNAL", nil)
	}}
	_, err := connected(t, f, airlock.Settings{}).Attach("e").Wait(context.Background())
	var own *airlock.Error
	if !errors.As(err, &own) || own.Kind != airlock.KindRejected || own.Code != codes.Internal ||
		own.Reason != "INTERNAL" || f.waits != 1 {
		t.Fatal(err, f.waits)
	}
}

func TestEachErrorHasItsKind(t *testing.T) {
	for _, one := range []struct {
		code   codes.Code
		reason string
		kind   airlock.Kind
	}{
		{codes.Unauthenticated, "TOKEN_UNKNOWN", airlock.KindUnauthenticated},
		{codes.PermissionDenied, "FORBIDDEN", airlock.KindForbidden},
		{codes.FailedPrecondition, "SESSION_LOST", airlock.KindSessionClosed},
		{codes.ResourceExhausted, "LIMIT_REACHED", airlock.KindLimitReached},
		{codes.NotFound, "NOT_FOUND", airlock.KindNotFound},
		{codes.AlreadyExists, "REQUEST_ID_REUSED", airlock.KindRejected},
	} {
		f := &fake{create: func() (*pb.SessionServiceCreateResponse, error) {
			return nil, refusal(one.code, one.reason, map[string]string{"limit": "sessions"})
		}}
		_, err := connected(t, f, airlock.Settings{}).Session(context.Background(), airlock.SessionOptions{})
		var own *airlock.Error
		if !errors.As(err, &own) || own.Kind != one.kind || own.Reason != one.reason ||
			own.Metadata["limit"] != "sessions" || !errors.Is(err, one.kind) || errors.Is(err, airlock.KindDenied) {
			t.Error(one, err)
		}
	}
}

func TestAChangedTokenIsUsedWithoutANewClient(t *testing.T) {
	defer airlock.SetLook(0)()
	f, file := &fake{}, filepath.Join(t.TempDir(), "token")
	write := func(content string) {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first-token")
	client := connected(t, f, airlock.Settings{TokenFile: file})
	// A token file that is being written is not used.
	for _, next := range []string{"second-token", "", "last"} {
		if _, err := client.Executions(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		write(next)
	}
	expected := []string{"Bearer first-token", "Bearer second-token", "Bearer second-token"}
	if !reflect.DeepEqual(f.tokens, expected) {
		t.Fatal(f.tokens)
	}
}

func TestAnotherServerOfTheStoreIsUsedIfOneFails(t *testing.T) {
	first := connected(t, &fake{}, airlock.Settings{})
	both, err := airlock.Connect(context.Background(), airlock.Settings{
		Address: "http://127.0.0.1:1," + first.Address(), InsecureLoopback: true, Getenv: noEnvironment,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	if _, err := both.Executions(context.Background(), ""); err != nil || both.Address() != first.Address() {
		t.Fatal(err, both.Address())
	}
}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// A view that stays open after its events, until the client ends it.
func stays(events ...*pb.Event) func(int, func(*pb.Event) error) error {
	return func(call int, send func(*pb.Event) error) error {
		if err := sends(nil, events...)(call, send); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
		return errBroken
	}
}

func TestACommandWhoseCallerIsGoneIsKilledUnlessItMayStay(t *testing.T) {
	f := &fake{run: stays(opened(), output(0, "abc"))}
	client := connected(t, f, airlock.Settings{})
	_, err := client.Run(context.Background(), "x", airlock.Options{Stdout: failing{}, KeepOnCancel: true})
	if !errors.Is(err, io.ErrShortWrite) || len(f.cancels) != 0 {
		t.Fatal(err, f.cancels)
	}
	_, err = client.Run(context.Background(), "x", airlock.Options{Stdout: failing{}})
	if !errors.Is(err, io.ErrShortWrite) || !reflect.DeepEqual(f.cancels, []string{"e"}) {
		t.Fatal(err, f.cancels)
	}
}

func TestACancelledStartWithoutAnAnswerIsFoundByItsRequestIDAndKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fake{run: func(int, func(*pb.Event) error) error {
		cancel()
		return errBroken
	}}
	f.start = func() (*pb.ExecutionServiceStartResponse, error) {
		return &pb.ExecutionServiceStartResponse{Execution: &pb.Execution{ExecutionId: "e"}}, nil
	}
	_, err := connected(t, f, airlock.Settings{}).Run(ctx, "x", airlock.Options{RequestID: "mine"})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(f.starts) != 1 || f.starts[0].Spec.RequestId != "mine" || !reflect.DeepEqual(f.cancels, []string{"e"}) {
		t.Fatal(f.starts, f.cancels)
	}
}

func TestACommandWhoseViewIsLostContinues(t *testing.T) {
	f := &fake{run: sends(nil, opened(), output(5, "x")), attach: sends(nil, opened(), output(5, "x"))}
	_, err := connected(t, f, airlock.Settings{}).Run(context.Background(), "x", airlock.Options{})
	if !errors.Is(err, airlock.KindViewLost) || len(f.cancels) != 0 {
		t.Fatal(err, f.cancels)
	}
}
