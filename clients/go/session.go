package airlock

import (
	"context"
	"sync"

	pb "airlock.example/airlock/airlockpb"
)

// Session is a workspace that several commands share. It is safe for concurrent use.
type Session struct {
	connection *connection
	// ID is the session's ID.
	ID string
	// Files are the files of the session.
	Files *Files

	mutex sync.Mutex
	info  SessionInfo
}

func newSession(c *connection, raw *pb.Session) *Session {
	info := sessionOf(raw)
	return &Session{connection: c, ID: info.ID, Files: &Files{c, info.ID}, info: info}
}

// Info returns the state when the session was created or last read.
func (s *Session) Info() SessionInfo {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.info
}

func (s *Session) keep(raw *pb.Session) SessionInfo {
	info := sessionOf(raw)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.info = info
	return info
}

// Run runs a command to its end and returns the result. Each byte of the output reaches a writer once.
//
// The error is KindDenied if policy or a person denies the command, and KindDeadline after the context's deadline. If Run
// ends before the command does, because the context ended or a function of the options failed, it kills the command, unless
// KeepOnCancel is set.
func (s *Session) Run(ctx context.Context, command string, options Options) (*Result, error) {
	return run(ctx, s.connection, s.ID, command, options)
}

// Start starts a command without following it. The session's next command waits for it, unless Background is set.
func (s *Session) Start(ctx context.Context, command string, options Options) (*Execution, error) {
	return start(ctx, s.connection, s.ID, command, options)
}

// Attach returns an execution by its ID. Nothing is sent.
func (s *Session) Attach(executionID string) *Execution {
	return newExecution(s.connection, executionID, nil)
}

// Refresh reads the state again.
func (s *Session) Refresh(ctx context.Context) (SessionInfo, error) {
	answer, err := s.connection.sessions(callTimeout).Get(ctx, &pb.SessionServiceGetRequest{SessionId: s.ID})
	if err != nil {
		return SessionInfo{}, err
	}
	return s.keep(answer.GetSession()), nil
}

// Update changes the mode, the idle timeout or the network for later commands.
func (s *Session) Update(ctx context.Context, change SessionUpdate) (SessionInfo, error) {
	mode, err := chosen("mode", "MODE_", pb.Mode(0), modes, string(change.Mode))
	if err != nil {
		return SessionInfo{}, err
	}
	if change.Network != nil || change.ResetNetwork {
		if err := s.connection.requireNetwork(ctx); err != nil {
			return SessionInfo{}, err
		}
	}
	answer, err := s.connection.sessions(callTimeout).Update(ctx, &pb.SessionServiceUpdateRequest{
		SessionId: s.ID, Mode: pb.Mode(mode), IdleTimeout: durationOf(change.IdleTimeout),
		Network: rulesOf(change.Network), ResetNetwork: change.ResetNetwork,
	})
	if err != nil {
		return SessionInfo{}, err
	}
	return s.keep(answer.GetSession()), nil
}

// Close ends the running commands and removes the workspace. Closing a closed session succeeds.
func (s *Session) Close(ctx context.Context) error {
	answer, err := s.connection.sessions(slowCallTimeout).Close(ctx, &pb.SessionServiceCloseRequest{SessionId: s.ID})
	if err != nil {
		return err
	}
	s.keep(answer.GetSession())
	return nil
}

// Connect connects to a TCP port of the session's loopback. The context limits only the opening. Close the port.
func (s *Session) Connect(ctx context.Context, port int) (*Port, error) {
	return openPort(ctx, s.connection, s.ID, port)
}

// Forward listens on this host, on a free port if localPort is 0, and forwards each connection to a port of the session.
// Close the forward.
func (s *Session) Forward(port, localPort int) (*Forward, error) {
	return newForward(s.connection, s.ID, port, localPort)
}

// Watch returns the starts and ends of the session's executions as they happen, after a cursor or from now on. The watch
// ends with the context.
func (s *Session) Watch(ctx context.Context, cursor []byte) *Watch {
	return newWatch(ctx, s.connection, s.ID, cursor)
}
