package airlock

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

const (
	// The number of attempts for a connection that is cut while it is established, and the first pause.
	cutTries = 5
	cutPause = 50 * time.Millisecond
)

// probe connects to a server, and returns KindUnreachable or KindUntrusted if that fails. An attempt that is cut while the
// connection is established is repeated. An unreachable server is an error at once.
func probe(ctx context.Context, one target, who identity, name string) error {
	for try, pause := 1, cutPause; ; try, pause = try+1, pause*2 {
		err := connectOnce(ctx, one, who, name)
		if err == nil {
			return nil
		}
		if err := stopped(ctx); err != nil {
			return err
		}
		var own *Error
		if errors.As(err, &own) {
			return err
		}
		if !wasCut(err) || try == cutTries {
			return classified(one, err)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func connectOnce(ctx context.Context, one target, who identity, name string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var dialer net.Dialer
	plain, err := dialer.DialContext(ctx, "tcp", one.hostPort())
	if err != nil {
		return err
	}
	defer plain.Close()
	if !one.secure {
		return nil
	}
	config, err := who.tls(name)
	if err != nil {
		return err
	}
	secure := tls.Client(plain, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	// A server that refuses a client certificate says so after the handshake. Otherwise it sends its first frame.
	if err := secure.SetReadDeadline(time.Now().Add(connectTimeout)); err != nil {
		return err
	}
	_, err = secure.Read(make([]byte, 1))
	return err
}

// classified returns the error of this package for a failed connection.
func classified(one target, err error) error {
	kind, message := KindUnreachable, "no answer from "+one.address+": "
	if one.secure && isUntrusted(err) {
		kind, message = KindUntrusted, "no secure connection to "+one.address+": "
	}
	made := newError(kind, message+oneLine(err.Error()))
	if wasCut(err) {
		made.Message = message + "the connection was cut"
	}
	made.cause = err
	return made
}

func wasCut(err error) bool {
	for _, one := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// isUntrusted reports whether TLS failed: a certificate, an alert of the server, or a response that is not TLS.
func isUntrusted(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		operation *net.OpError
		network   net.Error
	)
	switch {
	case wasCut(err):
		return false
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid), errors.As(err, &record):
		return true
	case errors.As(err, &operation):
		return operation.Op == "remote error"
	}
	// The library's other errors of TLS have no type.
	return !errors.As(err, &network)
}
