package airlock

import (
	"io"
	"time"
)

// Mode is the strictness of a session.
type Mode string

// The modes, from the tightest to the loosest.
const (
	ModePlan        Mode = "plan"
	ModeDefault     Mode = "default"
	ModeAcceptEdits Mode = "accept_edits"
	ModeBypass      Mode = "bypass"
)

// Shell is the shell that reads a command.
type Shell string

// The shells.
const (
	ShellBash Shell = "bash"
	ShellZsh  Shell = "zsh"
	ShellPwsh Shell = "pwsh"
)

// OnAsk is the behaviour if policy asks for a person.
type OnAsk string

// The behaviours: fail (the default), or wait for the answer.
const (
	OnAskFail OnAsk = "fail"
	OnAskWait OnAsk = "wait"
)

// Signal is a signal for every process of a command: "hup", "int", "quit", "usr1", "usr2", "term", "kill", "stop" or
// "cont".
type Signal string

// Pty is a terminal for a command. A field that is not set has its default: 24, 80 and "xterm".
type Pty struct {
	Rows, Cols uint32
	Term       string
}

// NetworkRules narrow the network of the profile. Rules without Allow and Any allow nothing.
type NetworkRules struct {
	// Allow and Deny are presets, hosts, or addresses, such as "pypi" or "*.example.com:8080".
	Allow, Deny []string
	// Any allows every public host on the ports 80 and 443.
	Any bool
}

// Options are the options of a command. A text can have bytes that are not UTF-8.
type Options struct {
	// Timeout is the limit of the run time. Default: the profile's, usually two minutes.
	Timeout time.Duration
	// IdleTimeout is the limit of the time without output.
	IdleTimeout time.Duration
	// Description is the purpose of the command in a few words. Approvers see it.
	Description string
	OnAsk       OnAsk
	// Mode is the mode of this command. It may only be tighter than the session's.
	Mode  Mode
	Shell Shell
	Env   map[string]string
	// SeparateStderr keeps stderr as a separate stream. By default, stdout has both in the order of writing.
	SeparateStderr bool
	// Stdin keeps the input open for Execution.Stdin.
	Stdin bool
	// Pty gives the command a terminal. Implies Stdin.
	Pty *Pty
	// Background runs it in the background: later commands do not wait for it.
	Background bool
	// YieldAfter moves it to the background if it still runs after this time.
	YieldAfter time.Duration
	// KillOnDisconnect ends it if this client disconnects. A cut connection then ends the command, too.
	KillOnDisconnect bool
	// AllowConcurrent lets it run at the same time as other commands of the session.
	AllowConcurrent bool
	Labels          map[string]string
	// InlineLimit is the number of bytes up to which the result has the whole output.
	InlineLimit uint32
	Umask       string
	// Network narrows the network of the profile and the session.
	Network                   *NetworkRules
	DangerouslyDisableSandbox bool
	// RequestID is the key of the start. A repeated start with it returns the same execution. Default: a new key.
	RequestID string
	// Workspace describes the temporary session of a command without a session.
	Workspace Workspace

	// The other fields are for Run only.

	// Stdout and Stderr receive the output as it arrives, each byte once. An error of a writer ends the command.
	Stdout, Stderr io.Writer
	// OnGap receives ranges of the output that are no longer held. An error of this and the other functions ends the
	// command, and is the error of Run.
	OnGap func(Gap) error
	// OnApproval receives the approval's ID when the command begins to wait for a person.
	OnApproval func(approvalID string) error
	// OnEvent receives every event.
	OnEvent func(Event) error
	// Input is written to the command's input, which ends with it. Run does not wait for a Read that still blocks when
	// the command has ended.
	Input io.Reader
	// KeepOnCancel lets the command continue if the context ends before it. By default, it is killed.
	KeepOnCancel bool
}

// Workspace describes the temporary session of a command without a session.
type Workspace struct {
	Profile, Base string
	RunnerLabels  map[string]string
}

// SessionOptions are the options of a session.
type SessionOptions struct {
	// Base is the base that the workspace is copied from. Default: an empty workspace.
	Base string
	// Profile is the profile. Default: the caller's default profile.
	Profile string
	Mode    Mode
	Shell   Shell
	Env     map[string]string
	Labels  map[string]string
	// RunnerLabels are labels that the runner must have.
	RunnerLabels map[string]string
	// IdleTimeout is the time without use after which the session is closed. Default: one hour.
	IdleTimeout time.Duration
	Network     *NetworkRules
	// RequestID is the key of the creation. Default: a new key.
	RequestID string
}

// SessionUpdate changes a session for later commands. A field that is not set changes nothing.
type SessionUpdate struct {
	Mode        Mode
	IdleTimeout time.Duration
	Network     *NetworkRules
	// ResetNetwork removes the session's network rules, so that only the profile's apply.
	ResetNetwork bool
}
