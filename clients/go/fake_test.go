package airlock_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	airlock "airlock.example/airlock"
	pb "airlock.example/airlock/airlockpb"
)

// The times to retry, short enough for tests.
var impatient = airlock.Patience{
	Call: time.Second / 2, View: time.Second / 2, Silence: 2 * time.Second,
	BackoffFirst: 10 * time.Millisecond, BackoffMax: 50 * time.Millisecond,
}

// errBroken ends a call as a broken connection does.
var errBroken = status.Error(codes.Unavailable, "broken")

// refusal returns an error of the server.
func refusal(code codes.Code, reason string, details map[string]string) error {
	info := &errdetails.ErrorInfo{Reason: reason, Domain: "airlock", Metadata: details}
	made, err := status.New(code, "refused").WithDetails(info)
	if err != nil {
		return err
	}
	return made.Err()
}

// fake is a fake server. Each function gets the number of the call of its method.
type fake struct {
	run      func(call int, send func(*pb.Event) error) error
	attach   func(call int, send func(*pb.Event) error) error
	start    func() (*pb.ExecutionServiceStartResponse, error)
	wait     func() (*pb.ExecutionServiceWaitResponse, error)
	create   func() (*pb.SessionServiceCreateResponse, error)
	download func(call int, request *pb.FileServiceDownloadRequest, send func(*pb.FileServiceDownloadResponse) error) error

	mutex     sync.Mutex
	runs      []*pb.ExecutionServiceRunRequest
	attaches  []*pb.ExecutionServiceAttachRequest
	starts    []*pb.ExecutionServiceStartRequest
	waits     int
	cancels   []string
	downloads []*pb.FileServiceDownloadRequest
	tokens    []string
}

// The services of a fake server.
type (
	executions struct {
		pb.UnimplementedExecutionServiceServer
		*fake
	}
	sessions struct {
		pb.UnimplementedSessionServiceServer
		*fake
	}
	files struct {
		pb.UnimplementedFileServiceServer
		*fake
	}
)

func (f executions) Run(request *pb.ExecutionServiceRunRequest, stream pb.ExecutionService_RunServer) error {
	f.mutex.Lock()
	f.runs = append(f.runs, request)
	call := len(f.runs)
	f.mutex.Unlock()
	return f.run(call, func(event *pb.Event) error {
		return stream.Send(&pb.ExecutionServiceRunResponse{Event: event})
	})
}

func (f executions) Attach(request *pb.ExecutionServiceAttachRequest, stream pb.ExecutionService_AttachServer) error {
	f.mutex.Lock()
	f.attaches = append(f.attaches, request)
	call := len(f.attaches)
	f.mutex.Unlock()
	return f.attach(call, func(event *pb.Event) error {
		return stream.Send(&pb.ExecutionServiceAttachResponse{Event: event})
	})
}

func (f executions) Start(
	_ context.Context, request *pb.ExecutionServiceStartRequest,
) (*pb.ExecutionServiceStartResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.starts = append(f.starts, request)
	return f.start()
}

func (f executions) Wait(context.Context, *pb.ExecutionServiceWaitRequest) (*pb.ExecutionServiceWaitResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.waits++
	return f.wait()
}

func (f executions) Cancel(
	_ context.Context, request *pb.ExecutionServiceCancelRequest,
) (*pb.ExecutionServiceCancelResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.cancels = append(f.cancels, request.ExecutionId)
	return &pb.ExecutionServiceCancelResponse{}, nil
}

func (f sessions) Create(
	context.Context, *pb.SessionServiceCreateRequest,
) (*pb.SessionServiceCreateResponse, error) {
	if f.create != nil {
		return f.create()
	}
	return &pb.SessionServiceCreateResponse{Session: &pb.Session{SessionId: "s"}}, nil
}

func (f files) Download(
	request *pb.FileServiceDownloadRequest, stream pb.FileService_DownloadServer,
) error {
	f.mutex.Lock()
	f.downloads = append(f.downloads, request)
	call := len(f.downloads)
	f.mutex.Unlock()
	return f.download(call, request, stream.Send)
}

func (f executions) List(
	ctx context.Context, _ *pb.ExecutionServiceListRequest,
) (*pb.ExecutionServiceListResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	header, _ := metadata.FromIncomingContext(ctx)
	f.tokens = append(f.tokens, header.Get("authorization")...)
	return &pb.ExecutionServiceListResponse{}, nil
}

// register adds the services of the fake to a server.
func (f *fake) register(server *grpc.Server) {
	pb.RegisterExecutionServiceServer(server, executions{fake: f})
	pb.RegisterSessionServiceServer(server, sessions{fake: f})
	pb.RegisterFileServiceServer(server, files{fake: f})
}

// serve starts a server, and returns its port on this host.
func serve(t *testing.T, server *grpc.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	}()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// connected returns a client of the fake server.
func connected(t *testing.T, f *fake, settings airlock.Settings) *airlock.Client {
	t.Helper()
	server := grpc.NewServer()
	f.register(server)
	settings.Address = "http://" + serve(t, server)
	settings.InsecureLoopback, settings.Patience, settings.Getenv = true, impatient, noEnvironment
	client, err := airlock.Connect(context.Background(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
