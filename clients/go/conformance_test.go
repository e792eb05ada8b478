package airlock_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	airlock "airlock.example/airlock"
)

// The conformance cases of all clients, run with this one. AIRLOCK_STATE names the state directory of a server.
const (
	conformance = "../conformance"
	// The interval in seconds at which all connections are cut while the cases run again.
	every = 2
	// Far more than a case needs on a busy host.
	caseLimit = 3 * time.Minute
)

// program is a helper that prints its address, and ends with its input.
type program struct {
	address string
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

func startProgram(t *testing.T, name string, arguments ...string) *program {
	t.Helper()
	// PYTHON names another interpreter.
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	p := &program{command: exec.Command(python, append([]string{filepath.Join(conformance, name)}, arguments...)...)}
	p.command.Stderr = os.Stderr
	var err error
	if p.input, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.output = bufio.NewReader(output)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.input.Close()
		if err := p.command.Wait(); err != nil {
			t.Error(err)
		}
	})
	p.address = p.read(t)
	return p
}

func (p *program) read(t *testing.T) string {
	t.Helper()
	line, err := p.output.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (p *program) tell(t *testing.T, command string) string {
	t.Helper()
	if _, err := io.WriteString(p.input, command+"\n"); err != nil {
		t.Fatal(err)
	}
	return p.read(t)
}

func (p *program) number(t *testing.T, command string) int {
	t.Helper()
	number, err := strconv.Atoi(p.tell(t, command))
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// server is a real server behind the proxy.
type server struct {
	settings airlock.Settings
	proxy    *program
	other    string
}

// state returns the state directory of the server.
func state(t *testing.T) string {
	t.Helper()
	found := os.Getenv("AIRLOCK_STATE")
	if found == "" {
		t.Fatal("AIRLOCK_STATE does not name the state directory of an `airlock dev`")
	}
	return found
}

func noEnvironment(string) string { return "" }

func startServer(t *testing.T) *server {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(state(t), "connection.json"))
	if err != nil {
		t.Fatal(err)
	}
	var connection struct {
		Address, CA string
		TokenFile   string `json:"token_file"`
	}
	if err := json.Unmarshal(content, &connection); err != nil {
		t.Fatal(err)
	}
	proxy := startProgram(t, "proxy.py", strings.TrimPrefix(connection.Address, "https://"))
	return &server{
		settings: airlock.Settings{
			Address: "https://" + proxy.address, CA: airlock.Within(state(t), connection.CA),
			TokenFile: airlock.Within(state(t), connection.TokenFile), Getenv: noEnvironment,
		},
		proxy: proxy,
		other: newPKI(t).ca,
	}
}

// conformanceCase is a case of the files.
type conformanceCase struct {
	Name, Server string
	// false, "only", or missing.
	Cuts  interface{}
	Steps []step
	file  string
}

type step struct {
	Proxy, Call, Save string
	Args              map[string]interface{}
	Expect            map[string]interface{}
	Error             map[string]interface{}
}

func cases(t *testing.T) []conformanceCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(conformance, "cases/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no cases: ", err)
	}
	var all []conformanceCase
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var some []conformanceCase
		decoder := json.NewDecoder(strings.NewReader(string(content)))
		if err := decoder.Decode(&some); err != nil {
			t.Fatal(file, ": ", err)
		}
		for i := range some {
			some[i].file = strings.TrimSuffix(filepath.Base(file), ".json")
		}
		all = append(all, some...)
	}
	return all
}

func TestConformance(t *testing.T) {
	t.Run("cases", func(t *testing.T) {
		t.Parallel()
		server := startServer(t)
		old := startProgram(t, "old_server.py")
		for _, one := range cases(t) {
			if one.Cuts == "only" {
				continue
			}
			settings := server.settings
			if one.Server == "old" {
				settings = airlock.Settings{Address: old.address, InsecureLoopback: true, Getenv: noEnvironment}
			}
			one.check(t, server, settings)
			if left := server.proxy.tell(t, "left"); left != "none" {
				t.Fatalf("%s: the cut of the case has not happened: %s", one.Name, left)
			}
		}
	})
	t.Run("cases although connections are cut", func(t *testing.T) {
		t.Parallel()
		server := startServer(t)
		server.proxy.tell(t, fmt.Sprintf("every %d", every))
		for _, one := range cases(t) {
			if one.Cuts != false {
				one.check(t, server, server.settings)
			}
		}
		server.proxy.tell(t, "every 0")
		if cuts := server.proxy.number(t, "cuts"); cuts < 3 {
			t.Fatalf("only %d connections were cut", cuts)
		}
	})
}

// check runs a case as a test.
func (c conformanceCase) check(t *testing.T, server *server, settings airlock.Settings) {
	t.Run(c.file+"-"+c.Name, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), caseLimit)
		defer cancel()
		client, err := airlock.Connect(ctx, settings)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		saved := object{
			"server": object{
				"address": server.settings.Address, "ca": server.settings.CA, "token_file": server.settings.TokenFile,
			},
			"closed": "https://127.0.0.1:1", "other_ca": server.other, "tmp": t.TempDir(),
			"unique": fmt.Sprintf("%s-%d", c.Name, time.Now().UnixNano()),
		}
		calls := newCalls(ctx, client)
		for _, one := range c.Steps {
			one.take(t, calls, server.proxy, saved)
		}
		for _, session := range calls.sessions {
			if err := session.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

func (s step) take(t *testing.T, calls *calls, proxy *program, saved object) {
	t.Helper()
	if s.Proxy != "" {
		if answer := proxy.tell(t, s.Proxy); answer != "ok" {
			t.Fatal(answer)
		}
		return
	}
	args, _ := resolved(s.Args, saved).(object)
	response, err := calls.call(s.Call, args)
	expected := s.Expect
	if s.Error != nil {
		expected = s.Error
		if err == nil {
			t.Fatalf("%s did not fail: %v", s.Call, response)
		}
		response = ofError(t, err)
	} else if err != nil {
		t.Fatalf("%s: %v", s.Call, err)
	}
	if problem := difference(resolved(expected, saved), normal(t, response), s.Call); problem != "" {
		t.Fatal(problem)
	}
	if s.Save != "" {
		saved[s.Save] = normal(t, response)
	}
}
