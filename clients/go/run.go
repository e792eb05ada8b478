package airlock

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	pb "airlock.example/airlock/airlockpb"
)

const killTimeout = 5 * time.Second

// running is a command that is followed to its end.
type running struct {
	connection *connection
	spec       *pb.ExecutionSpec
	options    Options
	events     *Events
	// Ends the view and the writer of the input.
	cancel context.CancelFunc
	// The error of reading the input.
	inputError atomic.Pointer[Error]
}

// run runs a command to its end.
func run(ctx context.Context, c *connection, sessionID, command string, options Options) (*Result, error) {
	if options.Input != nil {
		options.Stdin = true
	}
	spec, err := specOf(command, sessionID, options)
	if err != nil {
		return nil, err
	}
	if spec.Network != nil {
		if err := c.requireNetwork(ctx); err != nil {
			return nil, err
		}
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &running{connection: c, spec: spec, options: options, cancel: cancel}
	r.events = newEvents(inner, c, spec, "", From{})
	defer r.events.Close()
	return r.follow(ctx, inner)
}

// follow returns the result. If it ends before the command does, it kills the command, unless that is off.
func (r *running) follow(ctx, inner context.Context) (*Result, error) {
	// A function of the caller may panic, too.
	finished := false
	defer func() {
		if !finished && !r.options.KeepOnCancel && r.events.sent {
			r.events.Close()
			r.kill()
		}
	}()
	for {
		event, err := r.events.Next()
		if err != nil {
			finished, err = r.failed(ctx, err)
			return nil, err
		}
		// The command is over, even if a function fails on its last event.
		finished = isClosing(event)
		if last, ok := event.(Finished); ok && last.Result.Cause.Code == "denied" {
			event = r.withDecision(ctx, last)
		}
		if opened, ok := event.(Opened); ok && r.options.Input != nil {
			go r.write(inner, opened.Execution.ID)
		}
		if err := r.options.receive(event); err != nil {
			return nil, err
		}
		switch last := event.(type) {
		case Finished:
			return checked(last.Result)
		case Backgrounded:
			return runningResult(last.Execution), nil
		}
	}
}

// failed returns the error of the run, and before it whether the command continues, because the caller can attach again.
func (r *running) failed(ctx context.Context, err error) (bool, error) {
	if input := r.inputError.Load(); input != nil {
		return false, input
	}
	if ctx.Err() == nil {
		return true, r.connection.withResult(ctx, err)
	}
	var own *Error
	if errors.As(err, &own) && own.Kind == KindDeadline {
		what := "it was ended"
		if r.options.KeepOnCancel {
			what = "it continues"
		}
		own.Message = "the command has not ended before the deadline; " + what
		own.ExecutionID = r.events.ExecutionID()
	}
	return false, err
}

// withDecision returns the event with the decision, which closing events do not have.
func (r *running) withDecision(ctx context.Context, event Finished) Finished {
	info, err := newExecution(r.connection, event.Execution.ID, nil).Info(ctx)
	if err != nil || info.Result == nil {
		return event
	}
	return Finished{event.Cursor, info, info.Result}
}

// receive calls the writers and functions for an event.
func (o *Options) receive(event Event) error {
	if o.OnEvent != nil {
		if err := o.OnEvent(event); err != nil {
			return err
		}
	}
	switch event := event.(type) {
	case Output:
		writer := o.Stdout
		if event.Stream == "stderr" {
			writer = o.Stderr
		}
		if writer != nil {
			_, err := writer.Write(event.Data)
			return err
		}
	case Gap:
		if o.OnGap != nil {
			return o.OnGap(event)
		}
	case StateChanged:
		if event.ApprovalID != "" && o.OnApproval != nil {
			return o.OnApproval(event.ApprovalID)
		}
	}
	return nil
}

// write copies the input. A command may end without reading it; its result shows how it ended.
func (r *running) write(ctx context.Context, executionID string) {
	var offset uint64
	stdin := newStdin(r.connection, executionID, &offset)
	buffer := make([]byte, stdinWindow)
	for {
		size, err := r.options.Input.Read(buffer)
		if stdin.Write(ctx, buffer[:size]) != nil {
			return
		}
		if errors.Is(err, io.EOF) {
			// As above.
			_ = stdin.End(ctx)
			return
		}
		if err != nil {
			r.inputError.Store(localError("cannot read the input of the command", err))
			r.cancel()
			return
		}
	}
}

// kill requests the end of the command, for at most killTimeout.
func (r *running) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	client := pb.NewExecutionServiceClient(calls{r.connection, killTimeout, false})
	id := r.events.ExecutionID()
	if id == "" {
		// The start was sent and not answered. With the same request ID, it returns the execution.
		started, err := client.Start(ctx, &pb.ExecutionServiceStartRequest{Spec: r.spec})
		if err != nil {
			return
		}
		id = started.GetExecution().GetExecutionId()
	}
	// Without an answer, the caller has the error of the run, which names the execution.
	_, _ = client.Cancel(ctx, &pb.ExecutionServiceCancelRequest{ExecutionId: id})
}
