package main

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
)

// service is the local service, which runs in this process and serves the measured page.
type service struct {
	*localservice.Service
	files *countedFiles
}

func startService(ctx context.Context, link netem.Conditions) (*service, error) {
	files := &countedFiles{FS: os.DirFS(".")}
	s, err := localservice.Start(ctx, localservice.Options{
		Voice:   "builtin", // the same on every machine
		Sockets: link, HTTP: link, Relay: link,
		Quotas: localservice.Quotas{CallsPerToken: -1, CallsPerAddress: -1, RelayPerLogin: -1, RelayPerAddress: -1},
		Pages:  files, Page: "/bench/connect/page/",
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
