package airlock

import (
	"time"

	pb "airlock.example/airlock/airlockpb"
)

// Event is an event of an execution: Opened, StateChanged, Output, Gap, Progress, Finished or Backgrounded.
type Event interface {
	// Position returns the cursor of the event. Attach with it to receive the events after this one.
	Position() []byte
}

// Cursor is an opaque position in the events of an execution.
type Cursor []byte

// Position returns the cursor.
func (c Cursor) Position() []byte { return c }

// Opened is the first event: the execution in its current state.
type Opened struct {
	Cursor
	Execution ExecutionInfo
}

// StateChanged is a change of the execution's state.
type StateChanged struct {
	Cursor
	State string
	// ApprovalID is set if the state is "pending_approval".
	ApprovalID string
	// Connected reports whether the runner that holds the execution can be reached.
	Connected bool
}

// Output is a part of an output stream.
type Output struct {
	Cursor
	// Stream is "stdout" or "stderr".
	Stream string
	// Offset is that of the first byte, counted from the start of the stream.
	Offset uint64
	Data   []byte
}

// Gap is a range of bytes that are no longer held. The end is exclusive.
type Gap struct {
	Cursor
	Stream     string
	Start, End uint64
}

// Progress is the progress of a running command, once a second after two seconds.
type Progress struct {
	Cursor
	Elapsed    time.Duration
	TotalBytes uint64
	LastLines  []string
}

// Finished is the last event: the execution ended.
type Finished struct {
	Cursor
	Execution ExecutionInfo
	Result    *Result
}

// Backgrounded is the last event of a view: the command continues in the background.
type Backgrounded struct {
	Cursor
	Execution ExecutionInfo
}

// eventOf converts a message that has an event.
func eventOf(raw *pb.Event) Event {
	cursor := Cursor(raw.Cursor)
	switch kind := raw.Event.(type) {
	case *pb.Event_Opened:
		return Opened{cursor, executionOf(kind.Opened.GetExecution())}
	case *pb.Event_StateChanged:
		change := kind.StateChanged
		connected := change.Link != pb.LinkState_LINK_STATE_UNREACHABLE
		return StateChanged{cursor, stateName(change.State), change.ApprovalId, connected}
	case *pb.Event_Output:
		return Output{cursor, streamName(kind.Output.Stream), kind.Output.Offset, kind.Output.Data}
	case *pb.Event_Gap:
		return Gap{cursor, streamName(kind.Gap.Stream), kind.Gap.From, kind.Gap.To}
	case *pb.Event_Progress:
		p := kind.Progress
		return Progress{cursor, p.Elapsed.AsDuration(), p.TotalBytes, p.LastLines}
	case *pb.Event_Finished:
		execution := kind.Finished.GetExecution()
		return Finished{cursor, executionOf(execution), resultOf(execution)}
	default:
		return Backgrounded{cursor, executionOf(raw.GetBackgrounded().GetExecution())}
	}
}

// isClosing reports whether an event is the last one of a view.
func isClosing(event Event) bool {
	switch event.(type) {
	case Finished, Backgrounded:
		return true
	}
	return false
}

func streamName(stream pb.OutputStream) string { return nameOf(stream, "OUTPUT_STREAM_") }
