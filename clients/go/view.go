package airlock

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
)

// The timeout for the first response of a stream.
const openTimeout = 30 * time.Second

// stream is a generated stream of responses.
type stream[T any] interface {
	grpc.ClientStream
	Recv() (T, error)
}

// view is a stream of responses on the channel that all views share. Its end is an error unless the caller expects it.
type view[T any] struct {
	connection *connection
	ctx        context.Context
	cancel     context.CancelFunc
	used       *pair
	target     target
	stream     stream[T]
}

// openView opens a stream. It ends with the context.
func openView[T any](
	ctx context.Context, c *connection, open func(context.Context, grpc.ClientConnInterface) (stream[T], error),
) (*view[T], error) {
	used, one, err := c.acquire()
	if err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(c.outgoing(ctx))
	made := &view[T]{connection: c, ctx: ctx, cancel: cancel, used: used, target: one}
	err = made.within(openTimeout, func() error {
		var err error
		if made.stream, err = open(inner, used.views); err == nil {
			_, err = made.stream.Header()
		}
		return err
	})
	if err != nil {
		made.drop()
		return nil, err
	}
	return made, nil
}

// next returns the next response. The error is KindUnreachable if the stream ends, or is silent for too long. 0: no limit.
func (v *view[T]) next(silence time.Duration) (T, error) {
	var message T
	err := v.within(silence, func() error {
		var err error
		message, err = v.stream.Recv()
		return err
	})
	if errors.Is(err, io.EOF) {
		err = v.connection.unreachable("the stream ended before its closing message")
	}
	return message, err
}

// within makes a call that ends the stream if it takes longer than the limit.
func (v *view[T]) within(limit time.Duration, call func() error) error {
	if limit <= 0 {
		return v.failed(call())
	}
	timer := time.AfterFunc(limit, v.cancel)
	err := call()
	if expired := !timer.Stop(); !expired || err == nil || v.ctx.Err() != nil {
		return v.failed(err)
	}
	return v.connection.unreachable("the connection is up, but no data arrives")
}

func (v *view[T]) failed(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return v.connection.failed(v.ctx, v.target, err)
}

// drop ends the stream. The view must not be used afterwards.
func (v *view[T]) drop() {
	v.cancel()
	v.connection.release(v.used)
}
