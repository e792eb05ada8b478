package airlock

import (
	"fmt"
	"time"

	pb "airlock.example/airlock/airlockpb"
)

// ExecutionInfo is the state of an execution.
type ExecutionInfo struct {
	ID, SessionID string
	// State is "pending_approval", "queued", "starting", "running" or "finished".
	State string
	// Command is empty in a list.
	Command string
	// ApprovalID is set while the state is "pending_approval".
	ApprovalID string
	Background bool
	Labels     map[string]string
	// Result is set if the state is "finished".
	Result *Result
	Raw    *pb.Execution
}

func executionOf(raw *pb.Execution) ExecutionInfo {
	made := ExecutionInfo{
		ID:         raw.GetExecutionId(),
		SessionID:  raw.GetSessionId(),
		State:      stateName(raw.GetState()),
		Command:    textOf(raw.GetCommand(), raw.GetCommandBytes()),
		ApprovalID: raw.GetApprovalId(),
		Background: raw.GetBackgroundedBy() != pb.BackgroundedBy_BACKGROUNDED_BY_UNSPECIFIED,
		Labels:     raw.GetLabels(),
		Raw:        raw,
	}
	if raw.GetResult() != nil {
		made.Result = resultOf(raw)
	}
	return made
}

// SessionInfo is the state of a session.
type SessionInfo struct {
	ID string
	// State is "opening", "open", "closing", "closed" or "lost".
	State   string
	Profile string
	Mode    Mode
	// Directory is the working directory of the next command.
	Directory string
	Base      string
	Labels    map[string]string
	Raw       *pb.Session
}

func sessionOf(raw *pb.Session) SessionInfo {
	return SessionInfo{
		ID:        raw.GetSessionId(),
		State:     nameOf(raw.GetState(), "SESSION_STATE_"),
		Profile:   raw.GetProfile(),
		Mode:      Mode(nameOf(raw.GetMode(), "MODE_")),
		Directory: textOf(raw.GetDirectory(), raw.GetDirectoryBytes()),
		Base:      raw.GetBase(),
		Labels:    raw.GetLabels(),
		Raw:       raw,
	}
}

// Approval is a question to a person about one execution, and the answer.
type Approval struct {
	ID, ExecutionID, SessionID string
	// Principal is the caller that submitted the command.
	Principal string
	// State is "open", "allowed", "denied", "expired" or "withdrawn".
	State              string
	Command, Directory string
	// Description is text from the agent. It is not verified.
	Description string
	// Connection is HOST:PORT, if a connection of the running command waits for the answer. Empty: the command itself
	// waits.
	Connection string
	Decision   Decision
	// Binding is the hash of everything that the answer covers. An answer is sent with the binding that was shown.
	Binding   []byte
	Expires   time.Time
	DecidedBy string
	Reason    string
	// Raw has the other fields that the answer covers: Raw.Terms and Raw.Files.
	Raw *pb.Approval
}

func approvalOf(raw *pb.Approval) Approval {
	return Approval{
		ID:          raw.GetApprovalId(),
		ExecutionID: raw.GetExecutionId(),
		SessionID:   raw.GetSessionId(),
		Principal:   raw.GetPrincipal(),
		State:       nameOf(raw.GetState(), "APPROVAL_STATE_"),
		Command:     textOf(raw.GetCommand(), raw.GetCommandBytes()),
		Directory:   textOf(raw.GetDirectory(), raw.GetDirectoryBytes()),
		Description: raw.GetDescription(),
		Connection:  connectionOf(raw.GetConnection()),
		Decision:    decisionOf(raw.GetDecision()),
		Binding:     raw.GetBinding(),
		Expires:     raw.GetExpires().AsTime(),
		DecidedBy:   raw.GetDecidedBy(),
		Reason:      raw.GetReason(),
		Raw:         raw,
	}
}

func connectionOf(raw *pb.ApprovalConnection) string {
	if raw == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", raw.GetHost(), raw.GetPort())
}

// FileInfo has the properties of a file.
type FileInfo struct {
	// Path is an absolute path inside the sandbox.
	Path string
	// Type is "regular", "directory", "symlink" or "other".
	Type string
	Size uint64
	// Mode has the permission bits.
	Mode       uint32
	Modified   time.Time
	LinkTarget string
}

func fileOf(raw *pb.FileInfo) FileInfo {
	return FileInfo{
		Path:       textOf(raw.GetPath(), raw.GetPathBytes()),
		Type:       nameOf(raw.GetType(), "FILE_TYPE_"),
		Size:       raw.GetSize(),
		Mode:       raw.GetMode(),
		Modified:   raw.GetModified().AsTime(),
		LinkTarget: textOf(raw.GetLinkTarget(), raw.GetLinkTargetBytes()),
	}
}

// FileChange is a changed file.
type FileChange struct {
	// Kind is "added", "modified" or "deleted".
	Kind string
	Path string
	// Before and After are nil for a file that did not exist then.
	Before, After *FileInfo
	// Patch is a unified diff, if one was requested and is possible.
	Patch string
	// PatchOmitted is the reason for a missing diff, such as "binary".
	PatchOmitted string
}

func changeOf(raw *pb.FileChange) FileChange {
	made := FileChange{
		Kind: nameOf(raw.GetKind(), "CHANGE_KIND_"), Patch: textOf(raw.GetPatch(), raw.GetPatchBytes()),
		PatchOmitted: raw.GetPatchOmitted(),
	}
	if raw.GetBefore() != nil {
		before := fileOf(raw.Before)
		made.Before, made.Path = &before, before.Path
	}
	if raw.GetAfter() != nil {
		after := fileOf(raw.After)
		made.After, made.Path = &after, after.Path
	}
	return made
}

// Transferred is the result of a transfer of a directory.
type Transferred struct {
	Files, Directories, Links int
	// Skipped are paths that are missing from the copy, with the reason: "PATH: REASON".
	Skipped []string
}
