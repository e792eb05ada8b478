package airlock_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pki is a CA with a certificate for a server and one for a client.
type pki struct {
	directory string
	// The file with the CA.
	ca          string
	pool        *x509.CertPool
	server      tls.Certificate
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	p := &pki{directory: t.TempDir(), pool: x509.NewCertPool()}
	p.ca = filepath.Join(p.directory, "ca.pem")
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	p.key, p.certificate = p.issue(t, "ca", template)
	p.pool.AddCert(p.certificate)
	p.issue(t, "server", &x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
	p.issue(t, "client", &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, DNSNames: []string{"client"}})
	var err error
	if p.server, err = tls.LoadX509KeyPair(p.file("server.pem"), p.file("server.key")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pki) file(name string) string { return filepath.Join(p.directory, name) }

// issue writes a certificate, signed by the CA or by itself, and its key.
func (p *pki) issue(t *testing.T, name string, template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := p.certificate, p.key
	if parent == nil {
		parent, signer = template, key
	}
	made, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(made)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: made}, name + ".key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(p.file(file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key, certificate
}
