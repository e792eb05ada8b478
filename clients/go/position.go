package airlock

import (
	"math"

	pb "airlock.example/airlock/airlockpb"
)

const (
	skipped     = "it skipped bytes without reporting a gap"
	pastTheLast = "it sent bytes past the largest offset"
)

// breach says why an event cannot follow the previous ones.
type breach string

// Error returns the reason.
func (b breach) Error() string { return string(b) }

// position has the events and bytes that a reader received. It prevents an event or byte from being returned twice or
// skipped silently.
type position struct {
	opened bool
	state  *pb.StateChanged
	// The offsets of the next bytes. A stream without one: not known, after a cursor.
	at map[pb.OutputStream]uint64
}

func newPosition(stdout, stderr uint64) *position {
	return &position{at: map[pb.OutputStream]uint64{
		pb.OutputStream_OUTPUT_STREAM_STDOUT: stdout, pb.OutputStream_OUTPUT_STREAM_STDERR: stderr,
	}}
}

func positionAfterCursor() *position { return &position{at: map[pb.OutputStream]uint64{}} }

// admit records an event, removes the part that the reader has, and reports whether something new remains.
func (p *position) admit(event *pb.Event) (bool, error) {
	switch kind := event.GetEvent().(type) {
	case nil:
		// An event of a later version of the contract. Later versions only add events.
		return false, nil
	case *pb.Event_Opened:
		isNew := !p.opened
		p.opened = true
		return isNew, nil
	case *pb.Event_StateChanged:
		return p.admitState(kind.StateChanged), nil
	case *pb.Event_Output:
		return p.admitOutput(kind.Output)
	case *pb.Event_Gap:
		return p.admitGap(kind.Gap)
	}
	return true, nil
}

func (p *position) admitState(now *pb.StateChanged) bool {
	if had := p.state; had != nil {
		if now.Version < had.Version ||
			now.Version == had.Version && now.State == had.State && now.Link == had.Link {
			return false
		}
	}
	p.state = now
	return true
}

func (p *position) admitOutput(output *pb.Output) (bool, error) {
	start, err := p.start(output.Stream, output.Offset)
	if err != nil {
		return false, err
	}
	rest, end, err := after(output.Offset, output.Data, start)
	if err != nil {
		return false, err
	}
	output.Offset, output.Data = start, rest
	p.at[output.Stream] = end
	return len(rest) > 0, nil
}

func (p *position) admitGap(gap *pb.Gap) (bool, error) {
	start, err := p.start(gap.Stream, gap.From)
	if err != nil {
		return false, err
	}
	gap.From = start
	p.at[gap.Stream] = larger(gap.To, start)
	return gap.To > start, nil
}

// start returns the first offset that the reader does not have, of a piece at an offset.
func (p *position) start(stream pb.OutputStream, offset uint64) (uint64, error) {
	if stream != pb.OutputStream_OUTPUT_STREAM_STDOUT && stream != pb.OutputStream_OUTPUT_STREAM_STDERR {
		return 0, breach("it sent output of an unknown stream")
	}
	at, known := p.at[stream]
	if !known {
		return offset, nil
	}
	if offset > at {
		return 0, breach(skipped)
	}
	return at, nil
}

// after returns the bytes of a piece from an offset on, and the offset of the end of all bytes that are known then.
func after(offset uint64, data []byte, start uint64) ([]byte, uint64, error) {
	size := uint64(len(data))
	if size > math.MaxUint64-offset {
		return nil, 0, breach(pastTheLast)
	}
	if have := start - offset; have < size {
		return data[have:], offset + size, nil
	}
	return nil, start, nil
}

func larger(a, b uint64) uint64 {
	if a > b {
		return a
	}
	return b
}
