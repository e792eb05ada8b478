package airlock

import (
	"context"
	"errors"

	pb "airlock.example/airlock/airlockpb"
)

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	connection *connection
	// Approvals are the commands that wait for a person.
	Approvals *Approvals
}

// Connect connects to a server. A broken connection is re-established automatically. The error is KindSettings,
// KindUnreachable or KindUntrusted.
func Connect(ctx context.Context, settings Settings) (*Client, error) {
	complete, err := settings.find()
	if err != nil {
		return nil, err
	}
	connection, err := newConnection(complete)
	if err != nil {
		return nil, err
	}
	if err := connection.check(ctx); err != nil {
		return nil, err
	}
	return &Client{connection, &Approvals{connection}}, nil
}

// Address returns the address of the server.
func (c *Client) Address() string { return c.connection.target().address }

// Close ends the connections. Commands continue.
func (c *Client) Close() { c.connection.close() }

// Session creates a session and waits until it is usable.
func (c *Client) Session(ctx context.Context, options SessionOptions) (*Session, error) {
	request, err := createOf(options)
	if err != nil {
		return nil, err
	}
	if request.Network != nil {
		if err := c.connection.requireNetwork(ctx); err != nil {
			return nil, err
		}
	}
	answer, err := c.connection.sessions(slowCallTimeout).Create(ctx, request)
	if err != nil {
		return nil, err
	}
	return newSession(c.connection, answer.GetSession()), nil
}

// OpenSession returns an existing session by its ID.
func (c *Client) OpenSession(ctx context.Context, id string) (*Session, error) {
	answer, err := c.connection.sessions(callTimeout).Get(ctx, &pb.SessionServiceGetRequest{SessionId: id})
	if err != nil {
		return nil, err
	}
	return newSession(c.connection, answer.GetSession()), nil
}

// Sessions returns the sessions that are not closed, newest first.
func (c *Client) Sessions(ctx context.Context) ([]SessionInfo, error) {
	var all []SessionInfo
	request := &pb.SessionServiceListRequest{Page: &pb.PageRequest{}}
	for {
		answer, err := c.connection.sessions(callTimeout).List(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, one := range answer.Sessions {
			all = append(all, sessionOf(one))
		}
		if request.Page.PageToken = answer.NextPageToken; answer.NextPageToken == "" {
			return all, nil
		}
	}
}

// Executions returns the executions of a session, or of the tenant for an empty ID, newest first.
func (c *Client) Executions(ctx context.Context, sessionID string) ([]ExecutionInfo, error) {
	var all []ExecutionInfo
	filter := &pb.ExecutionFilter{SessionId: sessionID}
	request := &pb.ExecutionServiceListRequest{Page: &pb.PageRequest{}, Filter: filter}
	for {
		answer, err := c.connection.executions(callTimeout).List(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, one := range answer.Executions {
			all = append(all, executionOf(one))
		}
		if request.Page.PageToken = answer.NextPageToken; answer.NextPageToken == "" {
			return all, nil
		}
	}
}

// Run runs a command in a temporary session, as Session.Run does.
func (c *Client) Run(ctx context.Context, command string, options Options) (*Result, error) {
	return run(ctx, c.connection, "", command, options)
}

// Start starts a command in a temporary session, without following it.
func (c *Client) Start(ctx context.Context, command string, options Options) (*Execution, error) {
	return start(ctx, c.connection, "", command, options)
}

// Attach returns an execution by its ID. Nothing is sent.
func (c *Client) Attach(executionID string) *Execution {
	return newExecution(c.connection, executionID, nil)
}

// Watch returns the starts and ends of the tenant's executions as they happen, after a cursor or from now on. The watch
// ends with the context.
func (c *Client) Watch(ctx context.Context, cursor []byte) *Watch {
	return newWatch(ctx, c.connection, "", cursor)
}

func start(ctx context.Context, c *connection, sessionID, command string, options Options) (*Execution, error) {
	if err := checkStart(options); err != nil {
		return nil, err
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
	answer, err := c.executions(slowCallTimeout).Start(ctx, &pb.ExecutionServiceStartRequest{Spec: spec})
	if err != nil {
		var own *Error
		if errors.As(err, &own) && own.Kind == KindUnreachable {
			return nil, startUnknown(spec.RequestId, own)
		}
		return nil, c.withResult(ctx, err)
	}
	var offset uint64
	return newExecution(c, answer.GetExecution().GetExecutionId(), &offset), nil
}
