package airlock

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	pb "airlock.example/airlock/airlockpb"
)

// From is the position at which a reader starts. The zero value is the beginning.
type From struct {
	// Cursor is the cursor of an event. The reader receives the events after it.
	Cursor []byte
	// Offsets selects all states, and the output from these offsets on. It is used if Cursor is empty.
	Offsets *Offsets
}

// Offsets are positions in the two output streams, in bytes.
type Offsets struct{ Stdout, Stderr uint64 }

// Events are the events of one execution, each exactly once. If a view breaks or ends without a closing event, a new view
// continues after the last event that was returned. Use it from one goroutine, and Close it.
type Events struct {
	connection *connection
	ctx        context.Context
	// The command to start. Nil: the execution is known.
	spec *pb.ExecutionSpec
	// Whether the server may have received the start.
	sent     bool
	id       string
	from     From
	view     *view[*pb.Event]
	began    time.Time
	position *position
	retries  *retries
	finished bool
	trouble  atomic.Value
}

func newEvents(ctx context.Context, c *connection, spec *pb.ExecutionSpec, id string, from From) *Events {
	made := &Events{connection: c, ctx: ctx, spec: spec, id: id, from: from, retries: c.retries()}
	made.trouble.Store("")
	switch {
	case len(from.Cursor) > 0:
		made.position = positionAfterCursor()
	case from.Offsets != nil:
		made.position = newPosition(from.Offsets.Stdout, from.Offsets.Stderr)
	default:
		made.position = newPosition(0, 0)
	}
	return made
}

// ExecutionID returns the execution's ID, or an empty string until it is known.
func (e *Events) ExecutionID() string { return e.id }

// Position returns the position after the last event, for a later attach.
func (e *Events) Position() From { return e.from }

// Trouble returns the reason why no events arrive at present, such as an unreachable server, or an empty string. It may be
// called from any goroutine, while Next continues to retry.
func (e *Events) Trouble() string { return e.trouble.Load().(string) }

// Next returns the next event, and io.EOF after the closing one (Finished or Backgrounded). It waits while the execution
// continues, and reopens a broken view for at most Patience.View.
//
// After an error the result of the command is unknown. The kinds are KindStartUnknown and KindViewLost if a time limit of
// Patience is reached, and those of the server's errors.
func (e *Events) Next() (Event, error) {
	for !e.finished {
		event, err := e.step()
		if err != nil {
			e.drop()
			e.retries.heldSince(e.began)
			e.began = time.Time{}
			if err := e.pauseAfter(err); err != nil {
				return nil, err
			}
			continue
		}
		if event != nil {
			return event, nil
		}
	}
	return nil, io.EOF
}

// GoOn continues after a Backgrounded event. The next events follow the execution to its end.
func (e *Events) GoOn() {
	e.finished = false
	e.drop()
}

// Close ends the view. The command continues.
func (e *Events) Close() {
	e.finished = true
	e.drop()
}

// step returns one event of the view, which is opened if necessary, or nil if the event is not new.
func (e *Events) step() (Event, error) {
	if e.view == nil {
		view, err := e.open()
		if err != nil {
			return nil, err
		}
		e.view = view
	}
	raw, err := e.view.next(0)
	if err != nil {
		return nil, err
	}
	if e.began.IsZero() {
		e.began = time.Now()
	}
	e.trouble.Store("")
	if opened := raw.GetOpened(); opened != nil && e.id == "" {
		e.id = opened.GetExecution().GetExecutionId()
	}
	isNew, err := e.position.admit(raw)
	if err != nil {
		return nil, e.connection.contract(err.Error())
	}
	if !isNew {
		return nil, nil
	}
	e.retries.reset()
	if e.id != "" {
		e.from = From{Cursor: raw.Cursor}
	}
	event := eventOf(raw)
	if isClosing(event) {
		e.Close()
	}
	return event, nil
}

// The responses of Run and Attach, as streams of events.
type (
	runStream    struct{ pb.ExecutionService_RunClient }
	attachStream struct {
		pb.ExecutionService_AttachClient
	}
)

// Recv returns the next event.
func (s runStream) Recv() (*pb.Event, error) {
	response, err := s.ExecutionService_RunClient.Recv()
	return response.GetEvent(), err
}

// Recv returns the next event.
func (s attachStream) Recv() (*pb.Event, error) {
	response, err := s.ExecutionService_AttachClient.Recv()
	return response.GetEvent(), err
}

func (e *Events) open() (*view[*pb.Event], error) {
	return openView(e.ctx, e.connection,
		func(ctx context.Context, channel grpc.ClientConnInterface) (stream[*pb.Event], error) {
			client := pb.NewExecutionServiceClient(channel)
			if e.id == "" {
				e.sent = true
				started, err := client.Run(ctx, &pb.ExecutionServiceRunRequest{Spec: e.spec})
				return runStream{started}, err
			}
			request := &pb.ExecutionServiceAttachRequest{ExecutionId: e.id}
			if len(e.from.Cursor) > 0 {
				request.From = &pb.ExecutionServiceAttachRequest_Cursor{Cursor: e.from.Cursor}
			} else if at := e.from.Offsets; at != nil {
				offsets := &pb.OutputOffsets{Stdout: at.Stdout, Stderr: at.Stderr}
				request.From = &pb.ExecutionServiceAttachRequest_Offsets{Offsets: offsets}
			}
			attached, err := client.Attach(ctx, request)
			return attachStream{attached}, err
		})
}

func (e *Events) drop() {
	if e.view != nil {
		e.view.drop()
		e.view = nil
	}
}

// pauseAfter pauses if the error may pass, otherwise it returns an error.
func (e *Events) pauseAfter(err error) error {
	patience, reading := e.connection.patience(), e.id != ""
	limit := patience.Call
	if reading {
		limit = patience.View
	}
	// A view of a known execution only reads, so an overloaded server or a contract violation is retried, too.
	if !isPassing(err) && !(reading && (errors.Is(err, KindLimitReached) || errors.Is(err, KindContract))) {
		return err
	}
	pause, ok := e.retries.pause(err, limit)
	if !ok {
		return e.outOfPatience(err)
	}
	e.trouble.Store(err.Error())
	return sleep(e.ctx, pause)
}

func (e *Events) outOfPatience(last error) error {
	var own *Error
	errors.As(last, &own)
	switch {
	case e.id != "":
		made := newError(KindViewLost,
			"the view of execution "+e.id+" broke and could not be resumed: "+own.Message)
		made.ExecutionID, made.Cursor, made.cause = e.id, e.from.Cursor, last
		return made
	case e.sent && own.Kind == KindUnreachable:
		return startUnknown(e.spec.RequestId, own)
	}
	return last
}

// startUnknown returns the error for a start that was sent and not answered.
func startUnknown(requestID string, last *Error) *Error {
	made := newError(KindStartUnknown,
		"no answer to the start, so it is not known whether the command runs: "+last.Message)
	made.RequestID, made.cause = requestID, last
	return made
}
