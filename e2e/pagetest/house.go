package pagetest

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

// House is a local service of one test, behind a front door. It ends with the
// test.
type House struct {
	*localservice.Service
	// URL is the address of the front door.
	URL string

	t    *testing.T
	ctx  context.Context
	door *door
}

// New starts a house. Its service gets the address of the front door, the pages
// to serve and a voice that sounds the same on every machine; everything else is
// as o says.
func New(t *testing.T, o localservice.Options) *House {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	h := &House{t: t, ctx: ctx, door: newDoor()}
	server := httptest.NewServer(h.door)
	t.Cleanup(server.Close)
	h.URL = server.URL
	o.PublicURL = server.URL
	o.Pages, o.Page = shown{os.DirFS(root), shownDirs(t)}, "/example/avatar/"
	o.Voice = "builtin"
	for h.Service == nil {
		o.Addr = freeAddr(t)
		service, err := localservice.Start(ctx, o)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue // somebody took it in between
		}
		if err != nil {
			t.Fatal(err)
		}
		h.Service = service
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	h.door.leadTo(o.Addr)
	return h
}

// Context ends when the test has taken too long.
func (h *House) Context() context.Context { return h.ctx }

// shown is what a page may load of the project.
type shown struct {
	files fs.FS
	dirs  []string
}

// shownDirs are the examples, the npm package as built, what the pages of all
// tests share, and what the package under test keeps beside its tests.
func shownDirs(t *testing.T) []string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"example", "js/dist", "e2e/pagetest/page", "e2e/" + filepath.Base(here) + "/testdata"}
}

func (s shown) Open(name string) (fs.File, error) {
	for _, dir := range s.dirs {
		if strings.HasPrefix(name, dir+"/") || name == dir {
			return s.files.Open(name)
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// freeAddr returns an address of loopback that is free at the moment: the service
// does not tell where it listens when something stands in front of it.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
