package airlock

import (
	"fmt"
	"regexp"
	"strings"

	pb "airlock.example/airlock/airlockpb"
)

// A result as text for a model: the output, then Airlock's notes, each on a line that begins with `airlock: `. A line of
// the output with the same start is marked, so that a command cannot imitate a note.
const (
	notePrefix = "airlock: "
	noteMark   = "| "
)

var (
	// A line that looks like a note, after spaces, control characters and escape sequences.
	looksLikeNote = regexp.MustCompile(
		`(?i)((?:^|[\n\r])(?:\x1b\[[^\x40-\x7e]*[\x40-\x7e]|[\x00-\x09\x0b\x0c\x0e-\x1a\x1c-\x20\x7f])*)(airlock:)`)
	notPrintable = regexp.MustCompile(`[^\x20-\x7e]`)
	escapeLike   = regexp.MustCompile(`\\([ux]\{)`)
)

var cancelledBy = map[pb.CancelledBy]string{
	pb.CancelledBy_CANCELLED_BY_CLIENT:     "cancelled",
	pb.CancelledBy_CANCELLED_BY_ADMIN:      "cancelled by an administrator",
	pb.CancelledBy_CANCELLED_BY_DISCONNECT: "cancelled because the client that started it disconnected",
	pb.CancelledBy_CANCELLED_BY_SESSION:    "cancelled because its session was closed",
	pb.CancelledBy_CANCELLED_BY_DRAIN:      "cancelled because its runner was drained",
}

var deniedBy = map[pb.DeniedBy]string{
	pb.DeniedBy_DENIED_BY_PERSON:        "denied by a person",
	pb.DeniedBy_DENIED_BY_NOBODY_TO_ASK: "policy requires an approval, and the request did not wait for one",
}

var plainCauses = map[pb.CauseCode]string{
	pb.CauseCode_CAUSE_CODE_OOM_KILLED:        "ended by the kernel because it ran out of memory",
	pb.CauseCode_CAUSE_CODE_OUTPUT_LIMIT:      "ended because it exceeded its output limit",
	pb.CauseCode_CAUSE_CODE_DISK_LIMIT:        "ended because it exceeded its disk limit",
	pb.CauseCode_CAUSE_CODE_APPROVAL_EXPIRED:  "its approval expired without an answer",
	pb.CauseCode_CAUSE_CODE_QUEUE_EXPIRED:     "it waited too long in the queue",
	pb.CauseCode_CAUSE_CODE_SHELL_UNAVAILABLE: "the shell is not available",
	pb.CauseCode_CAUSE_CODE_RUNNER_LOST:       "its runner was lost",
	pb.CauseCode_CAUSE_CODE_INTERNAL:          "internal error of Airlock",
}

// textForModel returns the output of a result, the cause unless the exit code is 0, and every note.
func textForModel(outcome *pb.Result, executionID string) string {
	var out strings.Builder
	for _, text := range []string{outcome.GetInline().GetStdout().GetText(), outcome.GetInline().GetStderr().GetText()} {
		out.WriteString(marked(text))
		if made := out.String(); made != "" && !strings.HasSuffix(made, "\n") {
			out.WriteString("\n")
		}
	}
	if !succeeded(outcome) {
		out.WriteString(notePrefix + sentence(outcome) + "\n")
	}
	shortened := false
	for _, note := range outcome.GetNotes() {
		out.WriteString(notePrefix + escaped(note.Text) + "\n")
		shortened = shortened || note.Code == "output_shortened"
	}
	if shortened {
		out.WriteString(notePrefix + "to read the rest, read the output of the execution " + executionID + "\n")
	}
	return out.String()
}

// marked returns the text with a mark before each line that looks like a note.
func marked(text string) string { return looksLikeNote.ReplaceAllString(text, "${1}"+noteMark+"${2}") }

// escaped returns foreign text on one line of ASCII. Other characters are shown as `\u{HEX}`.
func escaped(text string) string {
	text = escapeLike.ReplaceAllString(text, `\u{5c}${1}`)
	return notPrintable.ReplaceAllStringFunc(text, func(one string) string {
		return fmt.Sprintf(`\u{%x}`, []rune(one)[0])
	})
}

// succeeded reports whether the shell is known to have exited with 0.
func succeeded(outcome *pb.Result) bool {
	exited := outcome.GetCause().GetExited()
	return outcome.GetStarted() != pb.Started_STARTED_NO &&
		outcome.GetCause().GetCode() == pb.CauseCode_CAUSE_CODE_EXITED && exited != nil && exited.Code == 0
}

// sentence returns the end of an execution as one line without a final period.
func sentence(outcome *pb.Result) string {
	cause := outcome.GetCause()
	if cause == nil {
		return "the result of the command is unknown"
	}
	line := whatHappened(cause)
	if message := escaped(cause.Message); !strings.Contains(line, message) {
		line += ": " + message
	}
	if outcome.Interpretation != nil {
		line += " (" + escaped(outcome.Interpretation.Text) + ")"
	}
	switch {
	case outcome.Started == pb.Started_STARTED_NO:
		return line + "; it did not run"
	case outcome.Started != pb.Started_STARTED_YES:
		return line + "; it is unknown whether it ran"
	case cause.Code == pb.CauseCode_CAUSE_CODE_RUNNER_LOST:
		return line + "; it had started, but its result is unknown"
	}
	return line
}

func whatHappened(cause *pb.Cause) string {
	switch detail := cause.Detail.(type) {
	case *pb.Cause_Exited_:
		return fmt.Sprintf("exited with code %d", detail.Exited.Code)
	case *pb.Cause_Signaled_:
		if detail.Signaled.Core {
			return fmt.Sprintf("ended by signal %d, core dumped", detail.Signaled.Signal)
		}
		return fmt.Sprintf("ended by signal %d", detail.Signaled.Signal)
	case *pb.Cause_TimedOut_:
		if detail.TimedOut.Kind == pb.TimeoutKind_TIMEOUT_KIND_IDLE {
			return "ended because it wrote no output within its idle timeout"
		}
		return "ended because its timeout expired"
	case *pb.Cause_Cancelled_:
		return either(cancelledBy[detail.Cancelled.By], "cancelled by an unknown party")
	case *pb.Cause_Denied_:
		who := either(deniedBy[detail.Denied.By], "denied by policy")
		if detail.Denied.Reason == "" {
			return who
		}
		return who + ": " + escaped(detail.Denied.Reason)
	case *pb.Cause_Refused_:
		return "refused by the runner (" + escaped(detail.Refused.Reason) + ")"
	case *pb.Cause_SandboxFailed_:
		failed := "the sandbox failed at the step `" + escaped(detail.SandboxFailed.Step) + "`"
		if detail.SandboxFailed.Hint != "" {
			failed += "; " + escaped(detail.SandboxFailed.Hint)
		}
		return failed
	}
	return either(plainCauses[cause.Code],
		fmt.Sprintf("ended with a cause that this client does not support (%d)", cause.Code))
}

func either(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
