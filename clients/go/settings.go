package airlock

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	callPatience = 20 * time.Second
	// The time that a call waits for a local `airlock dev` to answer again.
	devCallPatience = 5 * time.Second
)

// Settings say where the server is and who the caller is. A field that is not set comes from its environment variable.
// Without an address, the settings are those of the connection.json of `airlock dev`. The names and the order are those of
// the `airlock` command.
type Settings struct {
	// Address is https://HOST:PORT. Several, separated by commas, are servers of one store. Variable: AIRLOCK_ADDRESS.
	Address string
	// CA is the file with the CA of the server's certificate. Variable: AIRLOCK_CA.
	CA string
	// Token is a bearer token, instead of a token file.
	Token string
	// TokenFile is the file with a bearer token. Variable: AIRLOCK_TOKEN_FILE.
	TokenFile string
	// Cert and Key are the files with a client certificate and its key, instead of a token. Variables: AIRLOCK_CERT,
	// AIRLOCK_KEY.
	Cert, Key string
	// State is the state directory of `airlock dev`. It is used if Address is not set. Variable: AIRLOCK_STATE. Default:
	// $XDG_STATE_HOME/airlock or ~/.local/state/airlock.
	State string
	// InsecureLoopback permits plain text to a server on this host.
	InsecureLoopback bool
	// ServerName is the name in the server's certificate, if it differs from the host of the address.
	ServerName string
	// Patience has the times to retry.
	Patience Patience
	// Getenv returns an environment variable. Default: os.Getenv.
	Getenv func(string) string
}

// String hides the token.
func (s Settings) String() string { return "the settings for `" + s.Address + "`" }

// GoString hides the token.
func (s Settings) GoString() string { return s.String() }

// target is the host and port of a server.
type target struct {
	address string
	host    string
	port    string
	secure  bool
}

func (t target) hostPort() string { return net.JoinHostPort(t.host, t.port) }

// found are complete settings.
type found struct {
	Settings
	targets     []target
	traceparent string
}

// find returns the settings: each field, else its variable; without an address, connection.json.
func (s Settings) find() (*found, error) {
	env := s.Getenv
	if env == nil {
		env = os.Getenv
	}
	if s.State != "" && s.Address == "" {
		return s.ofDev(s.State, env)
	}
	if s.Address == "" {
		s.Address = env("AIRLOCK_ADDRESS")
	}
	if s.Address == "" {
		state, err := stateDirectory(env)
		if err != nil {
			return nil, err
		}
		return s.ofDev(state, env)
	}
	for _, one := range []struct {
		field    *string
		variable string
	}{{&s.CA, "AIRLOCK_CA"}, {&s.TokenFile, "AIRLOCK_TOKEN_FILE"}, {&s.Cert, "AIRLOCK_CERT"}, {&s.Key, "AIRLOCK_KEY"}} {
		if *one.field == "" {
			*one.field = env(one.variable)
		}
	}
	if s.Token != "" {
		s.TokenFile = ""
	}
	return s.checked(env, callPatience)
}

func stateDirectory(env func(string) string) (string, error) {
	if named := env("AIRLOCK_STATE"); named != "" {
		return filepath.Abs(named)
	}
	if home := env("XDG_STATE_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "airlock"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local/state/airlock"), nil
	}
	return "", settingsError("no server was named, and there is no HOME", "name an address or a state directory")
}

// ofDev returns the settings of an `airlock dev`. Only the times to retry are those of the caller.
func (s Settings) ofDev(directory string, env func(string) string) (*found, error) {
	if !isLocked(filepath.Join(directory, "lock")) {
		return nil, settingsError("no `airlock dev` is running with the state directory "+directory,
			"start one with `airlock dev`, or name a server: Settings.Address or AIRLOCK_ADDRESS")
	}
	path := filepath.Join(directory, "connection.json")
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return nil, settingsError("the `airlock dev` of "+directory+" is starting or stopping", "try again in a moment")
	}
	content, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var parts struct {
		Address   string `json:"address"`
		CA        string `json:"ca"`
		TokenFile string `json:"token_file"`
	}
	err = json.Unmarshal(content, &parts)
	if err != nil || parts.Address == "" || parts.CA == "" || parts.TokenFile == "" {
		return nil, settingsError(path+" is not a connection file",
			"stop `airlock dev`, remove the file, and start it again")
	}
	dev := Settings{Address: parts.Address, Patience: s.Patience}
	dev.CA, dev.TokenFile = within(directory, parts.CA), within(directory, parts.TokenFile)
	return dev.checked(env, devCallPatience)
}

// within returns a path that is relative to a directory unless it is absolute.
func within(directory, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(directory, path)
}

// isLocked reports whether an instance holds the lock of a state directory. Files alone can be left over.
func isLocked(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

func (s Settings) checked(env func(string) string, call time.Duration) (*found, error) {
	all := &found{Settings: s, traceparent: env("TRACEPARENT")}
	all.Patience = s.Patience.withDefaults(call)
	for _, address := range strings.Split(s.Address, ",") {
		one, err := targetOf(strings.TrimSpace(address))
		if err != nil {
			return nil, err
		}
		all.targets = append(all.targets, one)
	}
	for _, one := range all.targets {
		if one.secure != all.targets[0].secure {
			return nil, settingsError("the addresses mix https:// with http://", "")
		}
		if err := s.checkPlain(one); err != nil {
			return nil, err
		}
	}
	switch {
	case all.targets[0].secure && s.CA == "":
		return nil, settingsError(
			fmt.Sprintf("the server's address `%s` needs the certificate of its authority", all.targets[0].address),
			"name a CA file: Settings.CA or AIRLOCK_CA")
	case (s.Token != "" || s.TokenFile != "") && s.Cert != "":
		return nil, settingsError("a token and a certificate select different identities", "use one of them")
	case (s.Cert == "") != (s.Key == ""):
		return nil, settingsError("a client certificate needs its private key", "name both Cert and Key")
	}
	return all, nil
}

func (s Settings) checkPlain(one target) error {
	switch {
	case one.secure:
		return nil
	case !s.InsecureLoopback:
		return settingsError(fmt.Sprintf("the server's address `%s` is plain text", one.address),
			"use https://, or InsecureLoopback for a server on this host")
	case !net.ParseIP(one.host).IsLoopback():
		return settingsError(
			fmt.Sprintf("the server's address `%s` is plain text to another host, which is never allowed", one.address), "")
	}
	return nil
}

func targetOf(address string) (target, error) {
	parts, err := url.Parse(address)
	if err != nil || parts.Hostname() == "" || parts.Scheme != "https" && parts.Scheme != "http" ||
		strings.Trim(parts.Path, "/") != "" || parts.User != nil {
		return target{}, settingsError(fmt.Sprintf("`%s` is not a server's address", address), "write https://HOST:PORT")
	}
	one := target{address: address, host: parts.Hostname(), port: parts.Port(), secure: parts.Scheme == "https"}
	if one.port == "" {
		one.port = map[bool]string{true: "443", false: "80"}[one.secure]
	}
	return one, nil
}
