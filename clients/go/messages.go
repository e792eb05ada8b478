package airlock

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "airlock.example/airlock/airlockpb"
)

// The choices of an option, in the order of an error message.
var (
	modes   = []string{"plan", "default", "accept_edits", "bypass"}
	shells  = []string{"bash", "zsh", "pwsh"}
	onAsks  = []string{"fail", "wait"}
	signals = []string{"hup", "int", "quit", "usr1", "usr2", "term", "kill", "stop", "cont"}
)

// specOf returns the message for a command. A command without a request ID gets one, so that a start can be repeated.
func specOf(command, sessionID string, o Options) (*pb.ExecutionSpec, error) {
	spec := &pb.ExecutionSpec{
		SessionId: sessionID, RequestId: o.RequestID, Description: o.Description, SeparateStderr: o.SeparateStderr,
		Stdin: o.Stdin, Background: o.Background, KillOnDisconnect: o.KillOnDisconnect,
		AllowConcurrent: o.AllowConcurrent, InlineLimit: o.InlineLimit, Umask: o.Umask, Labels: o.Labels,
		DangerouslyDisableSandbox: o.DangerouslyDisableSandbox, Network: rulesOf(o.Network),
		Timeout: durationOf(o.Timeout), IdleTimeout: durationOf(o.IdleTimeout), YieldAfter: durationOf(o.YieldAfter),
		Profile: o.Workspace.Profile, Base: o.Workspace.Base, RunnerLabels: o.Workspace.RunnerLabels,
	}
	if o.RequestID == "" {
		spec.RequestId = newKey()
	}
	if utf8.ValidString(command) {
		spec.Command = command
	} else {
		spec.CommandBytes = []byte(command)
	}
	spec.Env, spec.EnvBytes = envOf(o.Env)
	if o.Pty != nil {
		spec.Pty = &pb.Pty{Rows: o.Pty.Rows, Cols: o.Pty.Cols, Term: o.Pty.Term}
	}
	mode, err := chosen("mode", "MODE_", pb.Mode(0), modes, string(o.Mode))
	if err != nil {
		return nil, err
	}
	shell, err := chosen("shell", "SHELL_", pb.Shell(0), shells, string(o.Shell))
	if err != nil {
		return nil, err
	}
	onAsk, err := chosen("behaviour for OnAsk", "ON_ASK_", pb.OnAsk(0), onAsks, string(o.OnAsk))
	if err != nil {
		return nil, err
	}
	spec.Mode, spec.Shell, spec.OnAsk = pb.Mode(mode), pb.Shell(shell), pb.OnAsk(onAsk)
	return spec, nil
}

// checkStart returns an error if options are set that only Run uses.
func checkStart(o Options) error {
	if o.Stdout != nil || o.Stderr != nil || o.OnGap != nil || o.OnApproval != nil || o.OnEvent != nil ||
		o.Input != nil || o.KeepOnCancel {
		return settingsError("an option applies only to Run: a writer, a function, Input or KeepOnCancel",
			"use Run, or Execution.Events and Execution.Stdin")
	}
	return nil
}

// createOf returns the message that creates a session.
func createOf(o SessionOptions) (*pb.SessionServiceCreateRequest, error) {
	request := &pb.SessionServiceCreateRequest{
		RequestId: o.RequestID, Profile: o.Profile, Base: o.Base, Labels: o.Labels, RunnerLabels: o.RunnerLabels,
		IdleTimeout: durationOf(o.IdleTimeout), Network: rulesOf(o.Network),
	}
	if o.RequestID == "" {
		request.RequestId = newKey()
	}
	request.Env, request.EnvBytes = envOf(o.Env)
	mode, err := chosen("mode", "MODE_", pb.Mode(0), modes, string(o.Mode))
	if err != nil {
		return nil, err
	}
	shell, err := chosen("shell", "SHELL_", pb.Shell(0), shells, string(o.Shell))
	if err != nil {
		return nil, err
	}
	request.Mode, request.Shell = pb.Mode(mode), pb.Shell(shell)
	return request, nil
}

func rulesOf(network *NetworkRules) *pb.NetworkRules {
	if network == nil {
		return nil
	}
	return &pb.NetworkRules{Any: network.Any, Allow: network.Allow, Deny: network.Deny}
}

func durationOf(duration time.Duration) *durationpb.Duration {
	if duration == 0 {
		return nil
	}
	return durationpb.New(duration)
}

// envOf separates the variables whose values are not UTF-8.
func envOf(variables map[string]string) (map[string]string, map[string][]byte) {
	text, exact := map[string]string{}, map[string][]byte{}
	for name, value := range variables {
		if utf8.ValidString(value) {
			text[name] = value
		} else {
			exact[name] = []byte(value)
		}
	}
	return text, exact
}

// chosen returns the number of the enum's value with a name, and 0 for an empty name.
func chosen(
	what, prefix string, of protoreflect.Enum, choices []string, name string,
) (protoreflect.EnumNumber, error) {
	if name == "" {
		return 0, nil
	}
	for _, one := range choices {
		if one == name {
			full := protoreflect.Name(prefix + strings.ToUpper(name))
			return of.Descriptor().Values().ByName(full).Number(), nil
		}
	}
	return 0, settingsError(fmt.Sprintf("`%s` is not a %s", name, what), "use one of: "+strings.Join(choices, ", "))
}

// newKey returns a random key for a request.
func newKey() string {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		// Without random numbers, TLS would not work either.
		panic("airlock: the system has no random numbers: " + err.Error())
	}
	random[6], random[8] = random[6]&0x0f|0x40, random[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", random[:4], random[4:6], random[6:8], random[8:10], random[10:])
}
