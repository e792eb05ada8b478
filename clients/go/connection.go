package airlock

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

const (
	// The largest response, in bytes. The server bounds a page of full executions below this.
	answerBytes = 32 * 1024 * 1024
	// The timeout of a call that does not wait.
	callTimeout = 30 * time.Second
	// The timeout of a call that waits for a runner.
	slowCallTimeout = 90 * time.Second
	connectTimeout  = 5 * time.Second
	keepalivePeriod = 10 * time.Second
)

// The interval between two checks of the credential files. A variable for the tests.
var look = time.Second

// connection is the connections of a client. It is safe for concurrent use.
type connection struct {
	settings *found
	// Whether the server is known to support network rules.
	knowsNetwork atomic.Bool

	mutex    sync.Mutex
	identity identity
	at       int
	pairs    map[int]*pair
	looked   time.Time
	closed   bool
}

// pair has the channels of one server: one for unary calls, and one for views, so that unread output cannot block a Cancel.
type pair struct {
	calls, views *grpc.ClientConn
	// The calls and views that use it, and whether it is closed after the last of them.
	users   int
	retired bool
}

func newConnection(settings *found) (*connection, error) {
	identity, err := settings.identity()
	if err != nil {
		return nil, err
	}
	return &connection{settings: settings, identity: identity, pairs: map[int]*pair{}, looked: time.Now()}, nil
}

func (c *connection) patience() Patience { return c.settings.Patience }

func (c *connection) retries() *retries { return newRetries(c.settings.Patience) }

// target returns the server in use.
func (c *connection) target() target {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.settings.targets[c.at]
}

// next makes the next call use the next server, unless another call has already moved on from the one that failed.
func (c *connection) next(failed target) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.settings.targets[c.at] == failed {
		c.at = (c.at + 1) % len(c.settings.targets)
	}
}

// check connects to a server and ends the connection, to return one clear error if that fails.
func (c *connection) check(ctx context.Context) error {
	var err error
	for range c.settings.targets {
		one := c.target()
		if err = probe(ctx, one, c.identity, c.serverName(one)); err == nil || ctx.Err() != nil {
			break
		}
		c.next(one)
	}
	return err
}

func (c *connection) serverName(one target) string {
	if c.settings.ServerName != "" {
		return c.settings.ServerName
	}
	return one.host
}

// close ends all connections.
func (c *connection) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.closed = true
	for _, one := range c.pairs {
		one.close()
	}
	c.pairs = map[int]*pair{}
}

func (p *pair) close() {
	p.retired = true
	// The only error is that it was closed before.
	_ = p.calls.Close()
	_ = p.views.Close()
}

// acquire returns the channels of the server in use. The caller releases them.
func (c *connection) acquire() (*pair, target, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	one := c.settings.targets[c.at]
	if c.closed {
		return nil, one, settingsError("the client is closed", "connect again")
	}
	c.refresh()
	found := c.pairs[c.at]
	if found == nil {
		calls, err := c.dial(one)
		if err != nil {
			return nil, one, err
		}
		views, err := c.dial(one)
		if err != nil {
			_ = calls.Close()
			return nil, one, err
		}
		found = &pair{calls: calls, views: views}
		c.pairs[c.at] = found
	}
	found.users++
	return found, one, nil
}

func (c *connection) release(used *pair) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	used.users--
	if used.retired && used.users == 0 {
		used.close()
	}
}

// refresh reads the credential files again. Open calls keep their connections; invalid files change nothing.
func (c *connection) refresh() {
	if time.Since(c.looked) < look {
		return
	}
	c.looked = time.Now()
	now, err := c.settings.identity()
	if err != nil || now.equal(c.identity) {
		return
	}
	c.identity = now
	for _, one := range c.pairs {
		one.retired = true
		if one.users == 0 {
			one.close()
		}
	}
	c.pairs = map[int]*pair{}
}

// dial returns a channel that connects at its first use.
func (c *connection) dial(one target) (*grpc.ClientConn, error) {
	security := grpc.WithInsecure() //nolint:staticcheck // its replacement is newer than the oldest supported gRPC
	if one.secure {
		config, err := c.identity.tls(c.serverName(one))
		if err != nil {
			return nil, err
		}
		security = grpc.WithTransportCredentials(credentials.NewTLS(config))
	}
	dialer := net.Dialer{Timeout: connectTimeout}
	return grpc.Dial("passthrough:///"+one.hostPort(), security, //nolint:staticcheck // as above
		grpc.WithContextDialer(func(ctx context.Context, at string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", at)
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: keepalivePeriod, Timeout: keepalivePeriod, PermitWithoutStream: true,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: connectTimeout,
		}),
		// The client repeats calls itself, because only it knows which are safe to repeat.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
	)
}

// separate returns a channel for one stream that can block because the other side stops reading. The caller closes it.
func (c *connection) separate() (*grpc.ClientConn, target, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	one := c.settings.targets[c.at]
	if c.closed {
		return nil, one, settingsError("the client is closed", "connect again")
	}
	c.refresh()
	channel, err := c.dial(one)
	return channel, one, err
}

// outgoing returns the context of a call, with the caller's token.
func (c *connection) outgoing(ctx context.Context) context.Context {
	c.mutex.Lock()
	token := c.identity.token
	c.mutex.Unlock()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	if c.settings.traceparent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", c.settings.traceparent)
	}
	return ctx
}

// failed returns the error for a failed call to a server. The next call uses the next server if this one is unreachable.
func (c *connection) failed(ctx context.Context, one target, err error) error {
	if err == nil {
		return nil
	}
	if err := stopped(ctx); err != nil {
		return err
	}
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	made := fromStatus(one.address, err)
	if made.Kind == KindUnreachable {
		c.next(one)
	}
	return made
}

// unreachable returns an error for a missing response.
func (c *connection) unreachable(message string) *Error {
	return newError(KindUnreachable, "no answer from "+c.target().address+": "+message)
}

// contract returns an error for a response that violates the contract.
func (c *connection) contract(message string) *Error {
	return newError(KindContract, "the server at "+c.target().address+" violated the contract: "+message)
}
