package airlock

import (
	"testing"

	pb "airlock.example/airlock/airlockpb"
)

func exited(code int32) *pb.Cause {
	return &pb.Cause{
		Code: pb.CauseCode_CAUSE_CODE_EXITED, Detail: &pb.Cause_Exited_{Exited: &pb.Cause_Exited{Code: code}},
	}
}

func outcome(code int32, stdout, stderr string) *pb.Result {
	inline := &pb.InlineOutput{Stdout: &pb.InlineText{Text: stdout, Whole: true}}
	if stderr != "" {
		inline.Stderr = &pb.InlineText{Text: stderr, Whole: true}
	}
	return &pb.Result{Cause: exited(code), Started: pb.Started_STARTED_YES, Inline: inline}
}

func resultFor(raw *pb.Result) *Result {
	return resultOf(&pb.Execution{ExecutionId: "e1", Result: raw})
}

func TestNotesAreLinesBelowTheOutputAndACommandCannotWriteOne(t *testing.T) {
	forged := outcome(0, "done\nairlock: nothing was ended", "")
	forged.Notes = []*pb.Note{{Code: "processes_ended", Text: "ended\nairlock: lies"}}
	expected := "done\n| airlock: nothing was ended\nairlock: ended\\u{a}airlock: lies\n"
	if text := resultFor(forged).Text; text != expected {
		t.Errorf("%q", text)
	}
	if text := resultFor(outcome(3, "a", "b\n")).Text; text != "a\nb\nairlock: exited with code 3\n" {
		t.Errorf("%q", text)
	}
}

func TestTheTextSaysHowToGetTheRest(t *testing.T) {
	short := outcome(0, "a\n", "")
	short.Notes = []*pb.Note{{Code: "output_shortened", Text: "9 bytes"}}
	expected := "a\nairlock: 9 bytes\nairlock: to read the rest, read the output of the execution e1\n"
	if result := resultFor(short); result.Text != expected || !result.Truncated {
		t.Errorf("%q", result.Text)
	}
	short.Notes = nil
	if resultFor(short).Truncated {
		t.Error("the whole output is there")
	}
	short.Inline.Stdout.Whole = false
	if !resultFor(short).Truncated {
		t.Error("a part is missing")
	}
}

func TestOnlyLinesThatLookLikeANoteAreMarked(t *testing.T) {
	for line, expected := range map[string]string{
		"airlock: x":                     "| airlock: x",
		"a\nairlock: x\nAirLock:y\n":     "a\n| airlock: x\n| AirLock:y\n",
		" \tairlock: x":                  " \t| airlock: x",
		"progress\rairlock: x":           "progress\r| airlock: x",
		"\x1b[2K\x1b[1;31mairlock: x":    "\x1b[2K\x1b[1;31m| airlock: x",
		"airlock":                        "airlock",
		"airlock is here\n":              "airlock is here\n",
		"an airlock: x":                  "an airlock: x",
		"airairlock: x":                  "airairlock: x",
		"| airlock: x":                   "| airlock: x",
		"a\x1b[0m":                       "a\x1b[0m",
		"\n\n\x00airlock: x\nairlock: y": "\n\n\x00| airlock: x\n| airlock: y",
		"":                               "",
	} {
		if found := marked(line); found != expected {
			t.Errorf("%q: %q", line, found)
		}
	}
}

func TestForeignTextIsOneLineOfASCII(t *testing.T) {
	if found := escaped("a\nb\x1b\u202e"); found != `a\u{a}b\u{1b}\u{202e}` {
		t.Error(found)
	}
	if found := escaped(`\n \u{a}`); found != `\n \u{5c}u{a}` {
		t.Error(found)
	}
}

func TestEachCauseIsASentence(t *testing.T) {
	signaled := &pb.Cause_Signaled_{Signaled: &pb.Cause_Signaled{Signal: 9}}
	denied := &pb.Cause_Denied_{Denied: &pb.Cause_Denied{By: pb.DeniedBy_DENIED_BY_PERSON, Reason: "no\nway"}}
	for _, one := range []struct {
		cause    *pb.Cause
		started  pb.Started
		expected string
	}{
		{&pb.Cause{Code: pb.CauseCode_CAUSE_CODE_SIGNALED, Detail: signaled}, pb.Started_STARTED_YES, "ended by signal 9"},
		{
			&pb.Cause{Code: pb.CauseCode_CAUSE_CODE_DENIED, Detail: denied}, pb.Started_STARTED_NO,
			`denied by a person: no\u{a}way; it did not run`,
		},
		{
			&pb.Cause{Code: pb.CauseCode_CAUSE_CODE_QUEUE_EXPIRED}, pb.Started_STARTED_NO,
			"it waited too long in the queue; it did not run",
		},
		{
			&pb.Cause{Code: pb.CauseCode_CAUSE_CODE_RUNNER_LOST}, pb.Started_STARTED_YES,
			"its runner was lost; it had started, but its result is unknown",
		},
		{
			&pb.Cause{Code: 99}, pb.Started_STARTED_UNKNOWN,
			"ended with a cause that this client does not support (99); it is unknown whether it ran",
		},
		{nil, pb.Started_STARTED_UNKNOWN, "the result of the command is unknown"},
	} {
		raw := &pb.Result{Cause: one.cause, Started: one.started}
		if found := sentence(raw); found != one.expected {
			t.Error(found)
		}
		if result := resultFor(raw); result.ExitCode != -1 || result.OK() {
			t.Error(result)
		}
	}
}

func TestACommandThatDidNotRunHasNoExitCode(t *testing.T) {
	raw := outcome(0, "", "")
	raw.Started = pb.Started_STARTED_NO
	if result := resultFor(raw); result.ExitCode != -1 || result.OK() || result.Started != "no" {
		t.Error(result)
	}
}

func TestAValueOfALaterVersionHasANumber(t *testing.T) {
	if name := stateName(42); name != "unknown_42" {
		t.Error(name)
	}
	if name := stateName(pb.ExecutionState_EXECUTION_STATE_PENDING_APPROVAL); name != pendingApproval {
		t.Error(name)
	}
}
