package airlock_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	airlock "airlock.example/airlock"
)

func (c *calls) sessionCreate(args object) (object, error) {
	var options airlock.SessionOptions
	if err := into(&options, args); err != nil {
		return nil, err
	}
	session, err := c.client.Session(c.ctx, options)
	if err != nil {
		return nil, err
	}
	c.sessions[session.ID] = session
	info := session.Info()
	return object{"id": info.ID, "state": info.State, "profile": info.Profile}, nil
}

func (c *calls) sessionList(args object) (object, error) {
	all, err := c.client.Sessions(c.ctx)
	count := 0
	for _, info := range all {
		has := true
		for name, value := range args["labels"].(object) {
			has = has && info.Labels[name] == value
		}
		if has {
			count++
		}
	}
	return object{"count": count}, err
}

func (c *calls) sessionClose(args object) (object, error) { return nil, c.session(args).Close(c.ctx) }

// options returns the options of a command.
func options(args object) (airlock.Options, error) {
	var made airlock.Options
	err := into(&made, args, "session", "command", "deadline", "input")
	return made, err
}

func (c *calls) run(args object) (object, error) {
	ctx, cancel := c.limited(args)
	defer cancel()
	options, err := options(args)
	if err != nil {
		return nil, err
	}
	recorder := newRecorder()
	options.OnEvent = recorder.record
	var written bytes.Buffer
	options.Stdout = &written
	if input, ok := args["input"].(string); ok {
		options.Input = strings.NewReader(input)
	}
	var result *airlock.Result
	if session := args["session"]; session != nil {
		result, err = c.session(args).Run(ctx, text(args, "command"), options)
	} else {
		result, err = c.client.Run(ctx, text(args, "command"), options)
	}
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(written.Bytes(), recorder.data["stdout"]) {
		return nil, errors.New("the writer and the events received different bytes")
	}
	made := ofResult(result)
	made["events"] = recorder.json()
	return made, nil
}

func (c *calls) start(args object) (object, error) {
	options, err := options(args)
	if err != nil {
		return nil, err
	}
	execution, err := c.session(args).Start(c.ctx, text(args, "command"), options)
	if err != nil {
		return nil, err
	}
	c.inputs[execution.ID] = execution.Stdin
	return object{"execution": execution.ID}, nil
}

func (c *calls) attach(args object) (object, error) {
	var from airlock.From
	cursor, err := hex.DecodeString(text(args, "cursor"))
	if err != nil {
		return nil, err
	}
	from.Cursor = cursor
	if at, ok := args["offsets"].([]interface{}); ok {
		from.Offsets = &airlock.Offsets{Stdout: uint64(at[0].(float64)), Stderr: uint64(at[1].(float64))}
	}
	until, _ := args["until"].(object)
	recorder := newRecorder()
	events := c.execution(args).Events(c.ctx, from)
	defer events.Close()
	for !recorder.reached(until) {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := recorder.record(event); err != nil {
			return nil, err
		}
	}
	return object{"events": recorder.json()}, nil
}

func (c *calls) wait(args object) (object, error) {
	ctx, cancel := c.limited(args)
	defer cancel()
	result, err := c.execution(args).Wait(ctx)
	if err != nil {
		return nil, err
	}
	return ofResult(result), nil
}

func (c *calls) kill(args object) (object, error) {
	_, err := c.execution(args).Kill(c.ctx)
	return nil, err
}

func (c *calls) signal(args object) (object, error) {
	_, err := c.execution(args).Signal(c.ctx, airlock.Signal(text(args, "signal")))
	return nil, err
}

func (c *calls) resize(args object) (object, error) {
	_, err := c.execution(args).Resize(c.ctx, uint32(number(args, "rows")), uint32(number(args, "cols")))
	return nil, err
}

func (c *calls) stdinWrite(args object) (object, error) {
	return nil, c.inputs[text(args, "execution")].Write(c.ctx, []byte(text(args, "data")))
}

func (c *calls) stdinEnd(args object) (object, error) {
	return nil, c.inputs[text(args, "execution")].End(c.ctx)
}

func (c *calls) outputRead(args object) (object, error) {
	stderr, _ := args["stderr"].(bool)
	var reader *airlock.OutputReader
	if wanted, ok := args["search"].(object); ok {
		search := airlock.Search{Stderr: stderr}
		if err := into(&search, wanted); err != nil {
			return nil, err
		}
		reader = c.execution(args).SearchOutput(c.ctx, search)
	} else {
		selection := airlock.Selection{Stderr: stderr}
		wanted, _ := args["selection"].(object)
		if err := into(&selection, wanted); err != nil {
			return nil, err
		}
		reader = c.execution(args).ReadOutput(c.ctx, selection)
	}
	defer reader.Close()
	var data []byte
	gaps, lines, done := [][]uint64{}, []object{}, object(nil)
	for {
		piece, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return object{"data": ofBytes(data), "gaps": gaps, "lines": lines, "done": done}, nil
		}
		if err != nil {
			return nil, err
		}
		switch piece := piece.(type) {
		case airlock.OutputBytes:
			data = append(data, piece.Data...)
		case airlock.OutputGap:
			gaps = append(gaps, []uint64{piece.Start, piece.End})
		case airlock.OutputLine:
			line := object{"number": piece.Number, "text": string(piece.Data), "context": piece.Context}
			lines = append(lines, line)
		case airlock.OutputDone:
			done = object{
				"total": piece.Total, "complete": piece.Complete, "matches": piece.Matches, "more": piece.More,
			}
		}
	}
}

func (c *calls) watch(args object) (object, error) {
	cursor, err := hex.DecodeString(text(args, "cursor"))
	if err != nil {
		return nil, err
	}
	watch := c.session(args).Watch(c.ctx, cursor)
	defer watch.Close()
	kinds, last := []string{}, []byte(nil)
	for len(kinds) < int(number(args, "count")) {
		event, err := watch.Next()
		if err != nil {
			return nil, err
		}
		last = event.Cursor
		// A watch that continues is confirmed, too.
		if len(cursor) == 0 || event.Execution != nil {
			kinds = append(kinds, event.Kind)
		}
	}
	return object{"kinds": kinds, "cursor": hex.EncodeToString(last)}, nil
}

func (c *calls) approvalList(args object) (object, error) {
	all, err := c.client.Approvals.List(c.ctx, text(args, "session"))
	found := []object{}
	for _, one := range all {
		found = append(found, object{"id": one.ID, "state": one.State, "command": one.Command})
	}
	return object{"approvals": found}, err
}

func (c *calls) approvalAllow(args object) (object, error) {
	approval, err := c.client.Approvals.Show(c.ctx, text(args, "approval"))
	if err == nil {
		approval, err = c.client.Approvals.Allow(c.ctx, approval)
	}
	return object{"state": approval.State}, err
}

func (c *calls) approvalDeny(args object) (object, error) {
	approval, err := c.client.Approvals.Show(c.ctx, text(args, "approval"))
	if err == nil {
		approval, err = c.client.Approvals.Deny(c.ctx, approval, text(args, "reason"))
	}
	return object{"state": approval.State}, err
}

func (c *calls) approvalWait(args object) (object, error) {
	approval, err := c.client.Approvals.Show(c.ctx, text(args, "approval"))
	if err == nil {
		approval, err = c.client.Approvals.Wait(c.ctx, approval)
	}
	return object{"state": approval.State, "reason": approval.Reason}, err
}
