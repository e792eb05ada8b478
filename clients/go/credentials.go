package airlock

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

const fileBytes = 1024 * 1024

// identity is the CA and the credentials that a connection uses, as they were read.
type identity struct {
	// PEM certificates of the CAs that may have signed the server's certificate.
	ca          []byte
	token       string
	certificate []byte
	key         []byte
}

func (i identity) equal(other identity) bool {
	return i.token == other.token && bytes.Equal(i.ca, other.ca) && bytes.Equal(i.certificate, other.certificate) &&
		bytes.Equal(i.key, other.key)
}

// String hides the secrets.
func (i identity) String() string { return "an identity" }

// GoString hides the secrets.
func (i identity) GoString() string { return i.String() }

// identity reads the files.
func (f *found) identity() (identity, error) {
	var made identity
	var err error
	if f.CA != "" {
		if made.ca, err = pem(f.CA, "CERTIFICATE"); err != nil {
			return made, err
		}
	}
	made.token = f.Token
	if made.token == "" && f.TokenFile != "" {
		if made.token, err = tokenIn(f.TokenFile); err != nil {
			return made, err
		}
	}
	if made.token != "" {
		return made, checkToken(made.token)
	}
	if f.Cert != "" {
		if made.certificate, err = pem(f.Cert, "CERTIFICATE"); err == nil {
			made.key, err = pem(f.Key, "PRIVATE KEY")
		}
	}
	return made, err
}

// tls returns the configuration for a connection to a server with this name.
func (i identity) tls(name string) (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(i.ca) {
		return nil, settingsError("the CA file contains no valid certificate", "")
	}
	config := &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	if i.certificate != nil {
		pair, err := tls.X509KeyPair(i.certificate, i.key)
		if err != nil {
			return nil, settingsError("the client certificate and its key cannot be used: "+err.Error(), "")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func pem(path, what string) ([]byte, error) {
	content, err := readFile(path)
	if err == nil && !bytes.Contains(content, []byte(what+"-----")) {
		err = settingsError(fmt.Sprintf("`%s` contains no %s in PEM format", path, strings.ToLower(what)), "")
	}
	return content, err
}

func tokenIn(path string) (string, error) {
	content, err := readFile(path)
	token := strings.TrimSpace(string(content))
	if err == nil && token == "" {
		err = settingsError(fmt.Sprintf("the token file `%s` is empty", path), "")
	}
	return token, err
}

func checkToken(token string) error {
	for _, r := range token {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return settingsError("the token has characters that no token can contain", "")
		}
	}
	if strings.TrimSpace(token) == "" {
		return settingsError("the token is empty", "")
	}
	return nil
}

// readFile returns the content of a small file. A pipe is refused, because reading it could block forever.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, settingsError(fmt.Sprintf("`%s` is not a file", path), "")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, fileBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(content) > fileBytes {
		return nil, settingsError(fmt.Sprintf("`%s` is over %d bytes", path, fileBytes), "")
	}
	return content, nil
}

func unreadable(path string, err error) error {
	return &Error{Kind: KindSettings, Message: fmt.Sprintf("cannot read `%s`: %v", path, err), cause: err}
}
