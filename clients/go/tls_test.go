package airlock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	airlock "airlock.example/airlock"
)

// serveTLS starts a server for clients with a certificate of its CA.
func serveTLS(t *testing.T, p *pki) string {
	t.Helper()
	config := &tls.Config{
		Certificates: []tls.Certificate{p.server}, ClientCAs: p.pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	(&fake{}).register(server)
	return "https://" + serve(t, server)
}

func listed(address, ca, cert, key string) error {
	client, err := airlock.Connect(context.Background(), airlock.Settings{
		Address: address, CA: ca, Cert: cert, Key: key, Patience: impatient, Getenv: noEnvironment,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Executions(context.Background(), "")
	return err
}

func TestTLS(t *testing.T) {
	own, other := newPKI(t), newPKI(t)
	address := serveTLS(t, own)
	cert, key := own.file("client.pem"), own.file("client.key")
	for _, one := range []struct {
		about              string
		address, ca        string
		cert, key, message string
	}{
		{"a certificate of the CA is accepted", address, own.ca, cert, key, ""},
		{"a server of another CA is not trusted", address, other.ca, cert, key, "check that the CA file"},
		{"a client without a certificate is told", address, own.ca, "", "", "certificate"},
		{
			"a client with another CA's certificate is told", address, own.ca,
			other.file("client.pem"), other.file("client.key"), "certificate",
		},
		{
			"a name that is not in the certificate is not trusted",
			strings.Replace(address, "127.0.0.1", "localhost", 1), own.ca, cert, key, "localhost",
		},
	} {
		err := listed(one.address, one.ca, one.cert, one.key)
		if one.message == "" {
			if err != nil {
				t.Error(one.about, err)
			}
		} else if !errors.Is(err, airlock.KindUntrusted) || !strings.Contains(err.Error(), one.message) {
			t.Error(one.about, err)
		}
	}
}
