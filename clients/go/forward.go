package airlock

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

const (
	// The number of connections that a Forward relays at the same time.
	forwardConnections = 256
	// The pause after a connection that could not be accepted.
	acceptPause = 100 * time.Millisecond
)

// Forward is a listener on this host that forwards each connection to a port of a session.
type Forward struct {
	connection *connection
	sessionID  string
	port       int
	listener   net.Listener
	slots      chan struct{}
}

func newForward(c *connection, sessionID string, port, localPort int) (*Forward, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(localPort)))
	if err != nil {
		return nil, localError("cannot listen on this host", err)
	}
	made := &Forward{c, sessionID, port, listener, make(chan struct{}, forwardConnections)}
	go made.accept()
	return made, nil
}

// Address returns the local address to connect to, as HOST:PORT.
func (f *Forward) Address() string { return f.listener.Addr().String() }

// Close ends the listener. Open connections end with their programs.
func (f *Forward) Close() error { return f.listener.Close() }

// accept relays connections until the listener is closed.
func (f *Forward) accept() {
	for {
		f.slots <- struct{}{}
		local, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// This host has too few resources at present.
			<-f.slots
			time.Sleep(acceptPause)
			continue
		}
		go func() {
			defer func() { <-f.slots }()
			f.relay(local.(*net.TCPConn))
		}()
	}
}

func (f *Forward) relay(local *net.TCPConn) {
	defer local.Close()
	remote, err := openPort(context.Background(), f.connection, f.sessionID, f.port)
	if err != nil {
		reset(local)
		return
	}
	defer remote.Close()
	var both sync.WaitGroup
	both.Add(1)
	go func() {
		defer both.Done()
		copyAll(remote, local, remote.cancel, local)
	}()
	copyAll(local, remote, remote.cancel, local)
	both.Wait()
}

// copyAll copies one direction and its end. After an error, it ends both: the local side learns about it by a reset,
// because its data can be incomplete.
func copyAll(
	into interface {
		io.Writer
		CloseWrite() error
	}, from io.Reader, cancel context.CancelFunc, local *net.TCPConn,
) {
	_, err := io.Copy(onlyWriter{into}, from)
	if err == nil {
		err = into.CloseWrite()
	}
	if err != nil {
		cancel()
		reset(local)
	}
}

// onlyWriter hides the other methods of a writer, so that io.Copy uses buffers of its own.
type onlyWriter struct{ io.Writer }

// reset ends a local connection so that the other side sees an error.
func reset(local *net.TCPConn) {
	// The connection is closed in any case.
	_ = local.SetLinger(0)
	_ = local.Close()
}
