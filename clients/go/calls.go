package airlock

import (
	"context"
	"time"

	"google.golang.org/grpc"

	pb "airlock.example/airlock/airlockpb"
)

// calls makes unary calls for the generated clients. Their errors are those of this package.
type calls struct {
	connection *connection
	// The time limit of one attempt.
	timeout time.Duration
	// Whether a call is repeated while the server cannot be reached, for at most Patience.Call.
	repeats bool
}

// calling returns the channel for calls that are safe to repeat, with the time limit of one attempt.
func (c *connection) calling(timeout time.Duration) calls { return calls{c, timeout, true} }

// Invoke makes a unary call.
func (c calls) Invoke(
	ctx context.Context, method string, request, response interface{}, options ...grpc.CallOption,
) error {
	once := func() error { return c.once(ctx, method, request, response, options) }
	if !c.repeats {
		return once()
	}
	return retrying(ctx, c.connection.patience(), once)
}

// NewStream is not supported: streams use view.
func (c calls) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, c.connection.contract("a stream was opened as a call")
}

func (c calls) once(
	ctx context.Context, method string, request, response interface{}, options []grpc.CallOption,
) error {
	used, one, err := c.connection.acquire()
	if err != nil {
		return err
	}
	defer c.connection.release(used)
	limited, cancel := context.WithTimeout(c.connection.outgoing(ctx), c.timeout)
	defer cancel()
	return c.connection.failed(ctx, one, used.calls.Invoke(limited, method, request, response, options...))
}

func (c *connection) executions(timeout time.Duration) pb.ExecutionServiceClient {
	return pb.NewExecutionServiceClient(c.calling(timeout))
}

func (c *connection) sessions(timeout time.Duration) pb.SessionServiceClient {
	return pb.NewSessionServiceClient(c.calling(timeout))
}

func (c *connection) files(timeout time.Duration) pb.FileServiceClient {
	return pb.NewFileServiceClient(c.calling(timeout))
}

func (c *connection) approvals(timeout time.Duration) pb.ApprovalServiceClient {
	return pb.NewApprovalServiceClient(c.calling(timeout))
}
