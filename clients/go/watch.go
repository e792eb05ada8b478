package airlock

import (
	"context"

	"google.golang.org/grpc"

	pb "airlock.example/airlock/airlockpb"
)

// WatchEvent is a milestone of an execution.
type WatchEvent struct {
	// Cursor is a position. Watch with it to receive the events after this one.
	Cursor []byte
	// Kind is "started", "backgrounded" or "finished". It is "unspecified" for the first event, which confirms the watch.
	Kind string
	// Execution is nil for the first event.
	Execution *ExecutionInfo
}

// Watch reports the milestones of executions, each once. A broken watch continues after its last event. Use it from one
// goroutine, and Close it.
type Watch struct {
	connection *connection
	ctx        context.Context
	sessionID  string
	cursor     []byte
	active     bool
	view       *view[*pb.ExecutionServiceWatchResponse]
	retries    *retries
}

func newWatch(ctx context.Context, c *connection, sessionID string, cursor []byte) *Watch {
	return &Watch{connection: c, ctx: ctx, sessionID: sessionID, cursor: cursor, retries: c.retries()}
}

// Next returns the next event. It waits until there is one.
func (w *Watch) Next() (WatchEvent, error) {
	for {
		raw, err := w.step()
		if err != nil {
			w.Close()
			if err := w.retries.outlast(w.ctx, err, w.connection.patience().View); err != nil {
				return WatchEvent{}, err
			}
			continue
		}
		w.retries.reset()
		w.cursor = raw.Cursor
		made := WatchEvent{Cursor: raw.Cursor, Kind: nameOf(raw.Kind, "WATCH_KIND_")}
		if raw.Execution != nil {
			info := executionOf(raw.Execution)
			made.Execution = &info
		} else if w.active {
			continue
		}
		w.active = true
		return made, nil
	}
}

// Close ends the watch.
func (w *Watch) Close() {
	if w.view != nil {
		w.view.drop()
		w.view = nil
	}
}

func (w *Watch) step() (*pb.ExecutionServiceWatchResponse, error) {
	if w.view == nil {
		request := &pb.ExecutionServiceWatchRequest{SessionId: w.sessionID, Cursor: w.cursor}
		view, err := openView(w.ctx, w.connection, func(
			ctx context.Context, channel grpc.ClientConnInterface,
		) (stream[*pb.ExecutionServiceWatchResponse], error) {
			return pb.NewExecutionServiceClient(channel).Watch(ctx, request)
		})
		if err != nil {
			return nil, err
		}
		w.view = view
	}
	return w.view.next(0)
}
