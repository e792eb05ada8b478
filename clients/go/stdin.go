package airlock

import (
	"context"
	"errors"
	"time"

	pb "airlock.example/airlock/airlockpb"
)

const (
	chunkBytes = 256 * 1024
	// The number of bytes that are sent before the server must confirm them.
	stdinWindow = 1024 * 1024
)

// Stdin is the input of a command that was started with Stdin or Pty. After a broken connection, it continues after the
// last confirmed byte. It is safe for concurrent use; each Write is one piece.
type Stdin struct {
	connection  *connection
	executionID string
	// The offset of the next byte. Nil: another client may have written.
	offset *uint64
	// Has one element while a write is in progress.
	busy chan struct{}
}

func newStdin(c *connection, executionID string, offset *uint64) *Stdin {
	return &Stdin{c, executionID, offset, make(chan struct{}, 1)}
}

// Write writes to the input. It returns when everything is in the command's pipe. An error with the reason NOT_RUNNING
// does not tell whether the last bytes arrived: a command can end after it has read them, while the connection is broken.
func (s *Stdin) Write(ctx context.Context, data []byte) error {
	return s.alone(ctx, func() error {
		for len(data) > 0 {
			window := data
			if len(window) > stdinWindow {
				window = window[:stdinWindow]
			}
			if err := s.send(ctx, window, false); err != nil {
				return err
			}
			data = data[len(window):]
		}
		return nil
	})
}

// End closes the input. On a terminal, this types the end-of-file character (Ctrl+D).
func (s *Stdin) End(ctx context.Context) error {
	return s.alone(ctx, func() error { return s.send(ctx, nil, true) })
}

func (s *Stdin) alone(ctx context.Context, work func() error) error {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
		return work()
	case <-ctx.Done():
		return stopped(ctx)
	}
}

func (s *Stdin) send(ctx context.Context, data []byte, end bool) error {
	c, retries := s.connection, s.connection.retries()
	if s.offset == nil {
		found, err := s.find(ctx, retries)
		if err != nil {
			return err
		}
		s.offset = &found
	}
	first := *s.offset
	last := first + uint64(len(data))
	for lost := false; ; lost = true {
		began := time.Now()
		answer, err := s.once(ctx, *s.offset, data[*s.offset-first:], end, false)
		if err == nil && (answer.Accepted < *s.offset || answer.Accepted > last) {
			return c.contract("it confirmed input that was not sent")
		}
		if err == nil {
			moved := answer.Accepted > *s.offset
			*s.offset = answer.Accepted
			switch {
			case answer.Accepted == last && (answer.Ended || !end):
				return nil
			case moved:
				retries.reset()
				continue
			}
			err = c.unreachable("the command's input makes no progress")
		} else if end && lost && isOver(err) {
			// The confirmation of the end was lost, and the command has ended since.
			return nil
		} else {
			retries.heldSince(began)
		}
		if err := retries.outlast(ctx, err, c.patience().View); err != nil {
			return err
		}
	}
}

// isOver reports whether the command has ended, and its input with it.
func isOver(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == "NOT_RUNNING"
}

// find takes over the input, and returns the number of bytes that were written to it.
func (s *Stdin) find(ctx context.Context, retries *retries) (uint64, error) {
	for {
		answer, err := s.once(ctx, 0, nil, false, true)
		if err == nil {
			return answer.Accepted, nil
		}
		if err := retries.outlast(ctx, err, s.connection.patience().View); err != nil {
			return 0, err
		}
	}
}

func (s *Stdin) once(
	ctx context.Context, offset uint64, data []byte, end, takeOver bool,
) (*pb.ExecutionServiceWriteStdinResponse, error) {
	c := s.connection
	channel, one, err := c.separate()
	if err != nil {
		return nil, err
	}
	defer channel.Close()
	inner, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stream, err := pb.NewExecutionServiceClient(channel).WriteStdin(inner)
	if err != nil {
		return nil, c.failed(ctx, one, err)
	}
	request := &pb.ExecutionServiceWriteStdinRequest{ExecutionId: s.executionID, TakeOver: takeOver}
	for isFirst := true; isFirst || len(data) > 0; isFirst = false {
		size := len(data)
		if size > chunkBytes {
			size = chunkBytes
		}
		request.Offset, request.Data, data = offset, data[:size], data[size:]
		request.End = end && len(data) == 0
		if err := stream.Send(request); err != nil {
			// The response has the reason.
			break
		}
		offset += uint64(size)
		request = &pb.ExecutionServiceWriteStdinRequest{}
	}
	answer, err := stream.CloseAndRecv()
	return answer, c.failed(ctx, one, err)
}
