package airlock_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	airlock "airlock.example/airlock"
)

// calls makes the calls of the conformance cases. Responses are values of JSON.
type calls struct {
	ctx      context.Context
	client   *airlock.Client
	sessions map[string]*airlock.Session
	inputs   map[string]*airlock.Stdin
	known    map[string]func(object) (object, error)
}

func newCalls(ctx context.Context, client *airlock.Client) *calls {
	c := &calls{
		ctx: ctx, client: client, sessions: map[string]*airlock.Session{}, inputs: map[string]*airlock.Stdin{},
	}
	c.known = map[string]func(object) (object, error){
		"session.create": c.sessionCreate, "session.list": c.sessionList, "session.close": c.sessionClose,
		"run": c.run, "start": c.start, "attach": c.attach, "wait": c.wait, "kill": c.kill, "signal": c.signal,
		"resize": c.resize, "stdin.write": c.stdinWrite, "stdin.end": c.stdinEnd, "output.read": c.outputRead,
		"watch": c.watch, "file.write": c.fileWrite, "file.read": c.fileRead, "file.stat": c.fileStat,
		"file.list": c.fileList, "file.diff": c.fileDiff, "directory.make": c.directoryMake,
		"directory.upload": c.directoryUpload, "directory.download": c.directoryDownload,
		"directory.read": c.directoryRead, "port.exchange": c.portExchange, "approval.list": c.approvalList,
		"approval.allow": c.approvalAllow, "approval.deny": c.approvalDeny, "approval.wait": c.approvalWait,
		"connect": c.connect,
	}
	return c
}

func (c *calls) call(name string, args object) (object, error) {
	known, ok := c.known[name]
	if !ok {
		return nil, fmt.Errorf("there is no call `%s`", name)
	}
	if args == nil {
		args = object{}
	}
	return known(args)
}

func (c *calls) session(args object) *airlock.Session { return c.sessions[args["session"].(string)] }

func (c *calls) execution(args object) *airlock.Execution {
	return c.client.Attach(args["execution"].(string))
}

// limited returns a context with the deadline of a call in seconds.
func (c *calls) limited(args object) (context.Context, context.CancelFunc) {
	if seconds, ok := args["deadline"].(float64); ok {
		return context.WithTimeout(c.ctx, time.Duration(seconds*float64(time.Second)))
	}
	return context.WithCancel(c.ctx)
}

// number, text and list return an argument, or the zero value if it is missing.
func number(args object, name string) float64 { found, _ := args[name].(float64); return found }

func text(args object, name string) string { found, _ := args[name].(string); return found }

func list(args object, name string) []string {
	var made []string
	found, _ := args[name].([]interface{})
	for _, one := range found {
		made = append(made, one.(string))
	}
	return made
}

// fields maps the names of an ExecutionSpec and of a creation to those of the options.
var fields = strings.NewReplacer("_", "")

// into sets the fields of options from arguments. An unknown argument is an error.
func into(options interface{}, args object, ignored ...string) error {
	renamed := object{}
	for name, value := range args {
		renamed[fields.Replace(name)] = value
	}
	for _, name := range ignored {
		delete(renamed, name)
	}
	for _, name := range []string{"timeout", "idletimeout", "yieldafter"} {
		if seconds, ok := renamed[name].(float64); ok {
			renamed[name] = time.Duration(seconds * float64(time.Second))
		}
	}
	content, err := json.Marshal(renamed)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	// Names of fields match without regard to case.
	decoder.DisallowUnknownFields()
	return decoder.Decode(options)
}

func ofBytes(data []byte) object {
	hash := sha256.Sum256(data)
	made := object{"bytes": len(data), "sha256": hex.EncodeToString(hash[:])}
	if len(data) <= 4096 {
		made["text"] = strings.ToValidUTF8(string(data), string(utf8.RuneError))
	}
	return made
}

func ofResult(result *airlock.Result) object {
	made := object{
		"execution": result.ExecutionID, "exit_code": nil, "cause": result.Cause.Code,
		"cause_detail": result.Cause.Detail, "started": result.Started, "ok": result.OK(), "text": result.Text,
		"stdout": result.Stdout, "stderr": result.Stderr, "truncated": result.Truncated,
	}
	if result.ExitCode >= 0 {
		made["exit_code"] = result.ExitCode
	}
	notes := []string{}
	for _, note := range result.Notes {
		notes = append(notes, note.Code)
	}
	made["notes"] = notes
	return made
}

func ofError(t *testing.T, err error) object {
	t.Helper()
	var own *airlock.Error
	if !errors.As(err, &own) {
		t.Fatalf("%v is not an error of the client", err)
	}
	made := object{
		"kind": own.Kind, "reason": own.Reason, "remedy": own.Remedy, "span": nil, "text": own.Text(),
		"execution": own.ExecutionID,
	}
	if own.Span != nil {
		made["span"] = []int{own.Span.Start, own.Span.End}
	}
	return made
}

// recorder has the events of a view.
type recorder struct {
	kinds    []string
	data     map[string][]byte
	gaps     [][]uint64
	states   map[string]bool
	cursor   []byte
	approval string
}

func newRecorder() *recorder {
	return &recorder{data: map[string][]byte{}, gaps: [][]uint64{}, states: map[string]bool{}}
}

func (r *recorder) record(event airlock.Event) error {
	r.cursor = event.Position()
	kind := ""
	switch event := event.(type) {
	case airlock.Opened:
		kind = "opened"
		r.states[event.Execution.State] = true
		r.asked(event.Execution.ApprovalID)
	case airlock.StateChanged:
		kind = "state_changed"
		r.states[event.State] = true
		r.asked(event.ApprovalID)
	case airlock.Output:
		kind = "output"
		r.data[event.Stream] = append(r.data[event.Stream], event.Data...)
	case airlock.Gap:
		kind = "gap"
		r.gaps = append(r.gaps, []uint64{event.Start, event.End})
	case airlock.Progress:
		kind = "progress"
	case airlock.Finished:
		kind = "finished"
	case airlock.Backgrounded:
		kind = "backgrounded"
	}
	r.kinds = append(r.kinds, kind)
	return nil
}

func (r *recorder) asked(approval string) {
	if approval != "" {
		r.approval = approval
	}
}

// reached reports whether the view has what it was opened for.
func (r *recorder) reached(until object) bool {
	if least, ok := until["bytes"].(float64); ok {
		return len(r.data["stdout"])+len(r.data["stderr"]) >= int(least)
	}
	return until != nil && r.states[text(until, "state")]
}

func (r *recorder) json() object {
	made := object{
		"first": nil, "last": nil, "stdout": ofBytes(r.data["stdout"]), "stderr": ofBytes(r.data["stderr"]),
		"gaps": r.gaps, "cursor": hex.EncodeToString(r.cursor), "approval": r.approval,
	}
	opened, finished := 0, 0
	for i, kind := range r.kinds {
		if i == 0 {
			made["first"] = kind
		}
		made["last"] = kind
		if kind == "opened" {
			opened++
		}
		if kind == "finished" {
			finished++
		}
	}
	made["opened"], made["finished"] = opened, finished
	return made
}
