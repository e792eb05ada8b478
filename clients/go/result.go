package airlock

import (
	"time"

	pb "airlock.example/airlock/airlockpb"
)

// Note is a fact about a run that its reader needs and that is not in the output.
type Note struct {
	// Code is a stable name, such as "output_cut".
	Code string
	// Text is one line.
	Text string
}

// Violation is an action that a layer of the sandbox detected.
type Violation struct {
	Layer, Kind, Path string
	// Action is "reported", "quarantined" or "failed".
	Action       string
	Detail       string
	QuarantineID string
}

// Cause is the reason why an execution ended.
type Cause struct {
	// Code is "exited", "signaled", "timed_out", "denied", ... Only "exited" can mean success.
	Code string
	// Message is one line for people.
	Message string
	// Detail is the origin of a cancellation or denial, the reason of a refusal, or the kind of a timeout.
	Detail string
	// Signal is the number of the signal, if the code is "signaled".
	Signal int
}

// Result is the outcome of an execution.
type Result struct {
	ExecutionID, SessionID string
	// Text is the text for a model: the output, then Airlock's notes. Give it to the model as it is.
	Text string
	// ExitCode is the exit code of the shell. -1 if it did not exit by itself.
	ExitCode int
	Cause    Cause
	// Stdout is standard output as cleaned text, or both streams unless SeparateStderr was set. It can be shortened.
	Stdout string
	// Stderr is standard error as cleaned text, if SeparateStderr was set.
	Stderr string
	// Truncated reports whether the text has only a part of the output. ReadOutput returns the rest.
	Truncated  bool
	Notes      []Note
	Violations []Violation
	// Started says whether the command began to run: "yes", "no" or "unknown".
	Started string
	// Directory is the session's working directory after the command.
	Directory string
	// RunTime is the time from the start of the command to its end.
	RunTime time.Duration
	// Decision is the decision of the policy, if the server sent it.
	Decision *Decision
	Raw      *pb.Result
}

// OK reports whether the shell exited with 0.
func (r *Result) OK() bool { return r.ExitCode == 0 }

const noExitCode = -1

// resultOf converts the result of a finished execution.
func resultOf(execution *pb.Execution) *Result {
	raw := execution.GetResult()
	made := &Result{
		ExecutionID: execution.GetExecutionId(),
		SessionID:   execution.GetSessionId(),
		Text:        textForModel(raw, execution.GetExecutionId()),
		ExitCode:    noExitCode,
		Cause:       causeOf(raw.GetCause()),
		Stdout:      raw.GetInline().GetStdout().GetText(),
		Stderr:      raw.GetInline().GetStderr().GetText(),
		Started:     nameOf(raw.GetStarted(), "STARTED_"),
		Directory:   textOf(raw.GetDirectory(), raw.GetDirectoryBytes()),
		RunTime:     raw.GetRunTime().AsDuration(),
		Raw:         raw,
	}
	if exited := raw.GetCause().GetExited(); exited != nil && raw.GetStarted() != pb.Started_STARTED_NO {
		made.ExitCode = int(exited.Code)
	}
	for _, text := range []*pb.InlineText{raw.GetInline().GetStdout(), raw.GetInline().GetStderr()} {
		made.Truncated = made.Truncated || text != nil && !text.Whole
	}
	for _, note := range raw.GetNotes() {
		made.Notes = append(made.Notes, Note{note.Code, note.Text})
		made.Truncated = made.Truncated || note.Code == "output_cut" || note.Code == "output_shortened"
	}
	for _, one := range raw.GetViolations() {
		made.Violations = append(made.Violations, Violation{
			Layer: one.Layer, Kind: one.Kind, Path: textOf(one.Path, one.PathBytes),
			Action: nameOf(one.Action, "VIOLATION_ACTION_"), Detail: one.Detail, QuarantineID: one.QuarantineId,
		})
	}
	if execution.GetDecision() != nil {
		decision := decisionOf(execution.Decision)
		made.Decision = &decision
	}
	return made
}

// runningResult returns the result of a view whose command continues in the background.
func runningResult(execution ExecutionInfo) *Result {
	return &Result{
		ExecutionID: execution.ID,
		SessionID:   execution.SessionID,
		Text: notePrefix + "the command continues in the background as execution " + execution.ID +
			"; its result is not known yet\n",
		ExitCode: noExitCode,
		Cause:    Cause{Code: "backgrounded", Message: "the command continues in the background"},
		Started:  "yes",
		Raw:      &pb.Result{},
	}
}

func causeOf(raw *pb.Cause) Cause {
	made := Cause{Code: nameOf(raw.GetCode(), "CAUSE_CODE_"), Message: raw.GetMessage()}
	switch detail := raw.GetDetail().(type) {
	case *pb.Cause_Signaled_:
		made.Signal = int(detail.Signaled.Signal)
	case *pb.Cause_TimedOut_:
		made.Detail = nameOf(detail.TimedOut.Kind, "TIMEOUT_KIND_")
	case *pb.Cause_Cancelled_:
		made.Detail = nameOf(detail.Cancelled.By, "CANCELLED_BY_")
	case *pb.Cause_Denied_:
		made.Detail = nameOf(detail.Denied.By, "DENIED_BY_")
	case *pb.Cause_Refused_:
		made.Detail = detail.Refused.Reason
	case *pb.Cause_SandboxFailed_:
		made.Detail = detail.SandboxFailed.Step
	}
	return made
}

// Reason is one reason for the verdict of a decision.
type Reason struct {
	Code, Message string
	// Span is the part of the command that the reason refers to, or nil.
	Span *Span
	Rule string
}

// Decision is the decision of the policy about a command.
type Decision struct {
	// Verdict is "allow", "ask" or "deny".
	Verdict  string
	Reasons  []Reason
	ReadOnly bool
	Warnings []string
	// SuggestedRules are rules that would allow the command.
	SuggestedRules []string
	Profile        string
	Raw            *pb.Decision
}

func decisionOf(raw *pb.Decision) Decision {
	made := Decision{
		Verdict: nameOf(raw.GetVerdict(), "VERDICT_"), ReadOnly: raw.GetReadOnly(), Warnings: raw.GetWarnings(),
		SuggestedRules: raw.GetSuggestedRules(), Profile: raw.GetProfile(), Raw: raw,
	}
	for _, one := range raw.GetReasons() {
		reason := Reason{Code: one.Code, Message: one.Message, Rule: one.Rule}
		if one.Span != nil {
			reason.Span = &Span{int(one.Span.Start), int(one.Span.End)}
		}
		made.Reasons = append(made.Reasons, reason)
	}
	return made
}
