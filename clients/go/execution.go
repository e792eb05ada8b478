package airlock

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "airlock.example/airlock/airlockpb"
)

const waitTimeout = 30 * time.Second

// Execution is a command that was started. It continues when this value or the client is gone.
type Execution struct {
	connection *connection
	// ID is the execution's ID.
	ID string
	// Stdin is the input, if the command was started with Stdin or Pty.
	Stdin *Stdin
}

func newExecution(c *connection, id string, stdinOffset *uint64) *Execution {
	return &Execution{c, id, newStdin(c, id, stdinOffset)}
}

// Events returns the events, each exactly once, from a position. The view survives broken connections. It ends with
// Finished or Backgrounded, or with the context. Close it.
func (e *Execution) Events(ctx context.Context, from From) *Events {
	return newEvents(ctx, e.connection, nil, e.ID, from)
}

// Info returns the current state, with the command and the decision.
func (e *Execution) Info(ctx context.Context) (ExecutionInfo, error) {
	request := &pb.ExecutionServiceGetRequest{ExecutionId: e.ID, View: pb.ExecutionView_EXECUTION_VIEW_FULL}
	answer, err := e.connection.executions(callTimeout).Get(ctx, request)
	return executionOf(answer.GetExecution()), err
}

// Wait waits for the end, also in the background, and returns the result. The error is KindDenied if the command was
// denied, and KindDeadline after the context's deadline; the command continues.
func (e *Execution) Wait(ctx context.Context) (*Result, error) {
	request := &pb.ExecutionServiceWaitRequest{ExecutionId: e.ID, Timeout: durationpb.New(waitTimeout)}
	for {
		answer, err := e.connection.executions(waitTimeout+callTimeout).Wait(ctx, request)
		var own *Error
		if errors.As(err, &own) && own.Kind == KindDeadline {
			own.Message = "the execution " + e.ID + " has not ended before the deadline; it continues"
			own.Remedy, own.ExecutionID = "wait again, or kill it", e.ID
		}
		if err != nil {
			return nil, err
		}
		if answer.GetExecution().GetResult() != nil {
			return checked(resultOf(answer.Execution))
		}
	}
}

// Kill requests the end: SIGTERM for all processes, and SIGKILL after the grace period. It returns at once.
func (e *Execution) Kill(ctx context.Context) (ExecutionInfo, error) {
	request := &pb.ExecutionServiceCancelRequest{ExecutionId: e.ID}
	answer, err := e.connection.executions(callTimeout).Cancel(ctx, request)
	return executionOf(answer.GetExecution()), err
}

// Signal sends a signal to every process. If the response is lost, it is sent again, so it can arrive twice.
func (e *Execution) Signal(ctx context.Context, signal Signal) (ExecutionInfo, error) {
	number, err := chosen("signal that a command can get", "SIGNAL_", pb.Signal(0), signals, string(signal))
	if err != nil {
		return ExecutionInfo{}, err
	}
	request := &pb.ExecutionServiceSignalRequest{ExecutionId: e.ID, Signal: pb.Signal(number)}
	answer, err := e.connection.executions(callTimeout).Signal(ctx, request)
	return executionOf(answer.GetExecution()), err
}

// Resize sets the size of the terminal of a command that was started with Pty.
func (e *Execution) Resize(ctx context.Context, rows, cols uint32) (ExecutionInfo, error) {
	size := &pb.TerminalSize{Rows: rows, Cols: cols}
	request := &pb.ExecutionServiceResizeRequest{ExecutionId: e.ID, Size: size}
	answer, err := e.connection.executions(callTimeout).Resize(ctx, request)
	return executionOf(answer.GetExecution()), err
}

// Detach moves the command to the background, so that the session's next command may run.
func (e *Execution) Detach(ctx context.Context) (ExecutionInfo, error) {
	request := &pb.ExecutionServiceDetachRequest{ExecutionId: e.ID}
	answer, err := e.connection.executions(callTimeout).Detach(ctx, request)
	return executionOf(answer.GetExecution()), err
}

// ReadOutput reads a part of the output in its current state, live or stored. The last piece is OutputDone. Close the
// reader.
func (e *Execution) ReadOutput(ctx context.Context, part Selection) *OutputReader {
	return newOutputReader(ctx, e.connection, e.ID, part.Stderr, newBytesPosition(part))
}

// SearchOutput returns the lines of the output that match. The last piece is OutputDone. Close the reader.
func (e *Execution) SearchOutput(ctx context.Context, search Search) *OutputReader {
	return newOutputReader(ctx, e.connection, e.ID, search.Stderr, &linesPosition{search: search})
}

// Output returns a part of the output, by default all of it. Bytes that were not kept are missing.
func (e *Execution) Output(ctx context.Context, part Selection) ([]byte, error) {
	reader := e.ReadOutput(ctx, part)
	defer reader.Close()
	var all []byte
	for {
		piece, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if bytes, ok := piece.(OutputBytes); ok {
			all = append(all, bytes.Data...)
		}
	}
}

// checked returns the result, or an error if the command was denied.
func checked(result *Result) (*Result, error) {
	if result.Cause.Code != "denied" {
		return result, nil
	}
	kind, reason := KindDenied, "DENIED"
	if result.Cause.Detail == "nobody_to_ask" {
		kind, reason = KindApprovalRequired, "APPROVAL_REQUIRED"
	}
	made := newError(kind, either(result.Raw.GetCause().GetDenied().GetReason(), result.Cause.Message))
	made.Code, made.Reason, made.ExecutionID = codes.PermissionDenied, reason, result.ExecutionID
	made.explain(result)
	return nil, made
}

// explain adds the result of the denied execution, and the span that decided.
func (e *Error) explain(result *Result) {
	e.Result = result
	if result.Decision == nil {
		return
	}
	for _, reason := range result.Decision.Reasons {
		if reason.Span != nil {
			e.Span = reason.Span
			return
		}
	}
}

// withResult adds to the error of a denied command the result of the execution that it names.
func (c *connection) withResult(ctx context.Context, err error) error {
	var own *Error
	if errors.As(err, &own) && own.Is(KindDenied) && own.ExecutionID != "" {
		// Without the result, the error is still right.
		if info, err := newExecution(c, own.ExecutionID, nil).Info(ctx); err == nil && info.Result != nil {
			own.explain(info.Result)
		}
	}
	return err
}
