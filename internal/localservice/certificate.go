package localservice

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"math/big"
	"net"
	"time"
)

// certificateLife is longer than any run of a service for development.
const certificateLife = 365 * 24 * time.Hour

// NewCertificate makes a key and a self-signed certificate for [Options.Certificate]: for the host names of loopback and for
// hosts, which are names or IP addresses.
func NewCertificate(hosts ...string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "agentruntime local service"},
		NotBefore:    now.Add(-time.Hour), // the clocks of other machines
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// A program that is given the certificate itself as a root accepts it.
		BasicConstraintsValid: true,
	}
	for _, host := range append([]string{"localhost", "*.localhost", "127.0.0.1", "::1"}, hosts...) {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// CertificateHash returns the base64 of the SHA-256 hash of a certificate's public key, the form that Chromium's flag
// --ignore-certificate-errors-spki-list takes.
func CertificateHash(c *tls.Certificate) string {
	hash := sha256.Sum256(c.Leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(hash[:])
}
