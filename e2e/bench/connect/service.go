package main

import (
	"context"
	"crypto/tls"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/pageserver"
)

// service is the local service, which runs in this process and serves the measured page.
type service struct {
	*localservice.Service
	files *countedFiles
}

// unlimited lets one page do everything again and again.
var unlimited = quota.Limit{Token: -1, Address: -1}

// startService starts a service on links with these conditions, with TLS if certificate is not nil.
func startService(ctx context.Context, http, rest netem.Conditions, certificate *tls.Certificate) (*service, error) {
	files := &countedFiles{FS: os.DirFS("..")}
	s, err := localservice.Start(ctx, localservice.Options{
		Voice:   "builtin", // the same on every machine
		Sockets: rest, HTTP: http, Relay: rest,
		Certificate: certificate,
		Quotas:      localservice.Quotas{Calls: unlimited, Offers: unlimited, Relay: unlimited},
		Pages:       &pageserver.Files{FS: files, Paths: []string{"e2e/bench/connect/page", "build/bench", "js/dist"}}, Page: "/e2e/bench/connect/page/",
	})
	return &service{s, files}, err
}

// page is the address of the page that is measured.
func (s *service) page() string { return s.Info().Page }

// countedFiles counts the bytes that are read of the files of both clients. The page's own
// statistics don't include the downloads of its workers.
type countedFiles struct {
	fs.FS
	read atomic.Int64 // bytes
}

func (c *countedFiles) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if file, ok := f.(*os.File); ok && (strings.HasPrefix(name, "js/dist/") || strings.HasPrefix(name, "build/bench/")) {
		return &countedFile{file, &c.read}, err
	}
	return f, err
}

type countedFile struct {
	*os.File
	read *atomic.Int64
}

func (c *countedFile) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	c.read.Add(int64(n))
	return n, err
}
