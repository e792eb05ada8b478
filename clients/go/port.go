package airlock

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "airlock.example/airlock/airlockpb"
)

const (
	portChunk   = 64 * 1024
	openingTime = time.Minute
	// The number of attempts to open a connection. If the server refuses it while the request is sent, the library can
	// lose the status. No byte of the program is lost by another attempt.
	openTries = 3
)

// Port is a TCP connection to a port of a session's loopback. A broken connection is not repeated: the program has seen its
// bytes. One goroutine may read while another one writes.
type Port struct {
	connection *connection
	channel    *grpc.ClientConn
	target     target
	ctx        context.Context
	cancel     context.CancelFunc
	stream     pb.SessionService_ForwardClient
	rest       []byte
	ended      bool

	// Protects writing, so that Write and CloseWrite can be called at any time.
	mutex sync.Mutex
}

func openPort(ctx context.Context, c *connection, sessionID string, port int) (*Port, error) {
	for try := 1; ; try++ {
		made, err := openOnce(ctx, c, sessionID, port)
		if err == nil || try == openTries || !errors.Is(err, KindUnreachable) {
			return made, err
		}
	}
}

func openOnce(ctx context.Context, c *connection, sessionID string, port int) (*Port, error) {
	channel, one, err := c.separate()
	if err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(context.Background())
	p := &Port{connection: c, channel: channel, target: one, ctx: inner, cancel: cancel}
	limited, stop := context.WithTimeout(ctx, openingTime)
	defer stop()
	opened := make(chan error, 1)
	go func() { opened <- p.open(sessionID, port) }()
	select {
	case err = <-opened:
	case <-limited.Done():
		cancel()
		<-opened
		if err = stopped(ctx); err == nil {
			err = c.unreachable("the connection to the port was not opened in time")
		}
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Port) open(sessionID string, port int) error {
	stream, err := pb.NewSessionServiceClient(p.channel).Forward(p.connection.outgoing(p.ctx))
	if err != nil {
		return p.connection.failed(p.ctx, p.target, err)
	}
	p.stream = stream
	open := &pb.SessionServiceForwardRequest_Open{Open: &pb.ForwardOpen{SessionId: sessionID, Port: uint32(port)}}
	// If the stream has ended, its status has the reason.
	_ = stream.Send(&pb.SessionServiceForwardRequest{Message: open})
	first, err := p.receive()
	if err == nil && first.GetOpened() == nil {
		err = p.connection.contract("its first message is not `opened`")
	}
	return err
}

// Write sends bytes to the program. It waits while the program reads slowly.
func (p *Port) Write(data []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	written := 0
	for written < len(data) {
		chunk := data[written:]
		if len(chunk) > portChunk {
			chunk = chunk[:portChunk]
		}
		message := &pb.SessionServiceForwardRequest_Data{Data: chunk}
		if err := p.send(&pb.SessionServiceForwardRequest{Message: message}); err != nil {
			return written, err
		}
		written += len(chunk)
	}
	return written, nil
}

// CloseWrite ends this direction: the program reads the end of the stream.
func (p *Port) CloseWrite() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	message := &pb.SessionServiceForwardRequest_End{End: &pb.ForwardEnded{}}
	return p.send(&pb.SessionServiceForwardRequest{Message: message})
}

func (p *Port) send(message *pb.SessionServiceForwardRequest) error {
	err := p.stream.Send(message)
	if errors.Is(err, io.EOF) {
		// The status of the stream is read by Read.
		return p.connection.unreachable("the connection has ended")
	}
	return p.connection.failed(p.ctx, p.target, err)
}

// Read returns the next bytes of the program, and io.EOF when it has ended its direction.
func (p *Port) Read(into []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.ended {
			return 0, io.EOF
		}
		message, err := p.receive()
		if err != nil {
			return 0, err
		}
		switch message := message.Message.(type) {
		case *pb.SessionServiceForwardResponse_Data:
			p.rest = message.Data
		case *pb.SessionServiceForwardResponse_End:
			p.ended = true
		default:
			return 0, p.connection.contract("a message of the connection has neither data nor an end")
		}
	}
	size := copy(into, p.rest)
	p.rest = p.rest[size:]
	return size, nil
}

func (p *Port) receive() (*pb.SessionServiceForwardResponse, error) {
	message, err := p.stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil, p.connection.contract("the stream ended before the program ended its direction")
	}
	return message, p.connection.failed(p.ctx, p.target, err)
}

// Close ends the connection. It is reset unless both directions have ended.
func (p *Port) Close() error {
	p.cancel()
	return p.channel.Close()
}
