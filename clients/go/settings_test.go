package airlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"

// devState returns the state directory of a running `airlock dev`.
func devState(t *testing.T) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "airlock")
	put(t, filepath.Join(directory, "keys/ca.pem"), certificate)
	put(t, filepath.Join(directory, "keys/client.token"), "  the-token\n")
	put(t, filepath.Join(directory, "connection.json"),
		`{"address": "https://127.0.0.1:7", "ca": "keys/ca.pem", "token_file": "keys/client.token"}`)
	lock, err := os.Create(filepath.Join(directory, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return directory
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func variables(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

func mustFind(t *testing.T, settings Settings) *found {
	t.Helper()
	made, err := settings.find()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestFieldsComeBeforeTheEnvironmentAndTheEnvironmentBeforeDev(t *testing.T) {
	state := devState(t)
	env := map[string]string{"XDG_STATE_HOME": filepath.Dir(state)}
	settings := Settings{Getenv: variables(env)}
	if made := mustFind(t, settings); made.targets[0].address != "https://127.0.0.1:7" {
		t.Error(made.targets)
	}
	env["AIRLOCK_ADDRESS"], env["AIRLOCK_TOKEN_FILE"] = "https://env:1", "/env"
	env["AIRLOCK_CA"] = filepath.Join(state, "keys/ca.pem")
	if made := mustFind(t, settings); made.targets[0].address != "https://env:1" || made.TokenFile != "/env" {
		t.Error(made.targets, made.TokenFile)
	}
	named := settings
	named.Address, named.TokenFile = "https://arg:2, https://other", "/arg"
	made := mustFind(t, named)
	if made.targets[0].hostPort() != "arg:2" || made.targets[1].hostPort() != "other:443" || made.TokenFile != "/arg" {
		t.Error(made.targets, made.TokenFile)
	}
	settings.State = state
	if made := mustFind(t, settings); made.targets[0].address != "https://127.0.0.1:7" {
		t.Error("a named state directory comes before the environment: ", made.targets)
	}
}

func TestTheStateDirectoryIsFoundAsTheCommandLineFindsIt(t *testing.T) {
	state := devState(t)
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".local"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(state), filepath.Join(home, ".local/state")); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AIRLOCK_STATE": state, "XDG_STATE_HOME": filepath.Dir(state), "HOME": home,
	} {
		made := mustFind(t, Settings{Getenv: variables(map[string]string{name: value})})
		who, err := made.identity()
		if err != nil || who.token != "the-token" {
			t.Error(name, err)
		}
		if made.Patience.Call != 5*time.Second || made.Patience.View != 2*time.Minute {
			t.Error("a local server is not waited for long: ", made.Patience)
		}
	}
}

func TestFilesThatADeadDevLeftAreNotUsed(t *testing.T) {
	state := devState(t)
	settings := Settings{State: state, Getenv: variables(nil)}
	mustFind(t, settings)
	// A dev that is killed leaves its files, and its lock is gone.
	if err := os.Remove(filepath.Join(state, "lock")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(state, "lock"), "")
	_, err := settings.find()
	says(t, err, "no `airlock dev` is running")
	says(t, err, "start one with `airlock dev`")
}

// says fails unless the error is one of the settings and has the text.
func says(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, KindSettings) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v does not say `%s`", err, text)
	}
}

func TestWrongSettingsAreRefusedBeforeARequest(t *testing.T) {
	for text, settings := range map[string]Settings{
		"plain text; use https://":    {Address: "http://127.0.0.1:1"},
		"never allowed":               {Address: "http://example.com:1", InsecureLoopback: true},
		"to another host":             {Address: "http://localhost:1", InsecureLoopback: true},
		"AIRLOCK_CA":                  {Address: "https://example.com:1"},
		"`127.0.0.1:1` is not":        {Address: "127.0.0.1:1"},
		"write https://HOST:PORT":     {Address: "https://h:x"},
		"`https://h:1/path` is not":   {Address: "https://h:1/path"},
		"`` is not a server's":        {Address: "https://h:1,", CA: "/x"},
		"mix https":                   {Address: "https://h:1,http://127.0.0.1:2", InsecureLoopback: true, CA: "/x"},
		"use one of them":             {Address: "https://h:1", CA: "/x", Token: "t", Cert: "/c", Key: "/k"},
		"a client certificate needs ": {Address: "https://h:1", CA: "/x", Cert: "/c"},
		"there is no HOME":            {},
	} {
		settings.Getenv = variables(nil)
		_, err := settings.find()
		says(t, err, text)
	}
}

func TestWrongFilesAreNamed(t *testing.T) {
	directory := t.TempDir()
	ca, token, wrong := filepath.Join(directory, "ca"), filepath.Join(directory, "token"), filepath.Join(directory, "x")
	put(t, ca, certificate)
	put(t, token, " \n")
	put(t, wrong, "no certificate")
	for text, settings := range map[string]Settings{
		"contains no certificate in PEM format": {CA: wrong},
		"none` is not a file":                   {CA: filepath.Join(directory, "none")},
		"` is not a file":                       {CA: directory},
		"is empty":                              {CA: ca, TokenFile: token},
		"no token can contain":                  {CA: ca, Token: "a\nb"},
		"contains no private key":               {CA: ca, Cert: ca, Key: wrong},
	} {
		settings.Address, settings.Getenv = "https://h:1", variables(nil)
		_, err := mustFind(t, settings).identity()
		says(t, err, text)
	}
}

func TestNoSecretIsShown(t *testing.T) {
	settings := Settings{
		Address: "http://127.0.0.1:1", InsecureLoopback: true, Token: "hunter2", Getenv: variables(nil),
	}
	made := mustFind(t, settings)
	who, err := made.identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if shown := fmt.Sprintf(format+format+format, settings, made, who); strings.Contains(shown, "hunter2") {
			t.Error(shown)
		}
	}
}

func TestUnknownNamesOfOptionsAreErrors(t *testing.T) {
	_, err := specOf("true", "s", Options{Mode: "loose"})
	says(t, err, "use one of: plan, default, accept_edits, bypass")
	_, err = createOf(SessionOptions{Shell: "fish"})
	says(t, err, "`fish` is not a shell")
	says(t, checkStart(Options{KeepOnCancel: true}), "applies only to Run")
}

func TestTextThatIsNotUTF8IsSentAsBytes(t *testing.T) {
	spec, err := specOf("echo \xff", "s", Options{Env: map[string]string{"A": "\xfe", "B": "b"}})
	if err != nil || spec.Command != "" || string(spec.CommandBytes) != "echo \xff" ||
		string(spec.EnvBytes["A"]) != "\xfe" || spec.Env["B"] != "b" || len(spec.Env)+len(spec.EnvBytes) != 2 {
		t.Error(spec, err)
	}
	if len(newKey()) != 36 || newKey() == newKey() {
		t.Error(newKey())
	}
}
