package localservice_test

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
	"github.com/agentruntime/agentruntime/pageserver"
)

// TestSlowClientsOfEveryRoute: each part of the service has the time limits of one server.
func TestSlowClientsOfEveryRoute(t *testing.T) {
	t.Parallel()
	const short = 100 * time.Millisecond
	info := servicetest.Start(t, localservice.Options{
		Limits: pageserver.Limits{Header: short, Request: 2 * short, Reply: 10 * short, Idle: short},
		Page:   "/example/avatar/", Pages: pages(fstest.MapFS{"example/avatar/index.html": {Data: []byte("<p>page")}}),
	}).Info()
	var clients sync.WaitGroup
	for address, paths := range map[string][]string{
		info.GenieURL: {
			"/", "/example/avatar/", "/service.json", "/socket.io/?EIO=4&transport=websocket", "/socket.io/?EIO=4&transport=polling", "/rtc/v1/stv/a/whep/session/b",
			"/assistant/converse", "/v1/application/appInit", "/api_v3/service/system/action/ping", "/assets/robin.webm", "/knowledge/", "/oauth/consent", "/nothing",
		},
		info.ControlURL: {"/sessions", "/script", "/nothing"},
	} {
		for _, path := range paths {
			for name, start := range map[string]string{
				"a slow header":   "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nX: ",
				"a slow body":     "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + info.ControlToken + "\r\nContent-Length: 1000000\r\n\r\n{",
				"a body of a GET": "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n",
				"an upgrade with a body": "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
					"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=\r\nContent-Length: 1000000\r\n\r\n",
				"no next request": "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
			} {
				c := rawhttp.Dial(t, address)
				clients.Go(func() {
					if _, err := io.WriteString(c, start); err != nil {
						return
					}
					ended := make(chan struct{})
					go func() {
						for { // 100 bytes a second
							select {
							case <-ended:
								return
							case <-time.After(10 * time.Millisecond):
								_, _ = io.WriteString(c, "y")
							}
						}
					}()
					_, err := io.Copy(io.Discard, c)
					close(ended)
					if errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("%s%s: %s: the connection stays open", address, path, name)
					}
				})
			}
		}
	}
	clients.Wait()
}

// upload adds a picture of that many bytes to the catalog, and returns its address.
func upload(t *testing.T, info localservice.Info, size int) string {
	t.Helper()
	picture := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"), make([]byte, size)...)
	var form bytes.Buffer
	fields := multipart.NewWriter(&form)
	file, err := fields.CreateFormFile("file", "face.png")
	if err == nil {
		_, err = file.Write(picture)
	}
	must.Do(t, errors.Join(err, fields.Close()))
	reply, text := send(t, http.MethodPost, info.AgenticURL+"/catalog-item/create",
		http.Header{"Authorization": {"KS " + adminToken(t, info)}, "Content-Type": {fields.FormDataContentType()}}, form.String())
	_, address, found := strings.Cut(text, `"imageUrl":"`)
	if !found {
		t.Fatalf("%s: %s", reply.Status, text)
	}
	address, _, _ = strings.Cut(address, `"`)
	return address
}

// TestSlowReadersOfOneFile: the service has only the part of a file in memory that it sends
// next, and closes the connections of those that read nothing.
func TestSlowReadersOfOneFile(t *testing.T) {
	// A quarter of what whole copies of the file would take: on a busy machine there is garbage of several reads.
	const size, readers, most = 8 << 20, 60, 60 * (8 << 20) / 4
	data := t.TempDir()
	first := servicetest.Start(t, localservice.Options{Data: data})
	address := upload(t, first.Info(), size)
	began := time.Now()
	reply, body := fetch(t, http.MethodGet, address, nil)
	if reply.StatusCode != http.StatusOK || len(body) < size || !strings.HasPrefix(body, "\x89PNG") || reply.Header.Get("Content-Type") != "image/png" {
		t.Fatalf("%s, %d bytes of %s", reply.Status, len(body), reply.Header.Get("Content-Type"))
	}
	part, body := fetch(t, http.MethodGet, address, http.Header{"Range": {"bytes=1-3"}})
	if part.StatusCode != http.StatusPartialContent || body != "PNG" {
		t.Errorf("a part: %s %.20q", part.Status, body)
	}
	must.Do(t, first.Close())
	// All readers must be there at once, however long this machine takes to send a file.
	limit := 5*time.Second + 3*time.Since(began)
	info := servicetest.Start(t, localservice.Options{Data: data, Limits: pageserver.Limits{Reply: limit, PerAddress: readers}}).Info()
	path := strings.TrimPrefix(address, first.Info().GenieURL)
	before := leaktest.Heap()
	for begun := 0; begun < readers; {
		c := rawhttp.Dial(t, info.GenieURL)
		if err := c.(*net.TCPConn).SetReadBuffer(8 << 10); err != nil { // so that the system stores little of the file
			t.Fatal(err)
		}
		must.Get(io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
		start := make([]byte, 1024)
		if _, err := io.ReadFull(c, start); err == nil && strings.Contains(string(start), " 200 OK") {
			begun++ // otherwise a connection from before counts, until it is closed
		}
	}
	if grown := leaktest.Heap() - before; grown > most {
		t.Errorf("%d readers of a file of %d MB take %d MB", readers, size>>20, grown>>20)
	}
	for let := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		c := rawhttp.Dial(t, info.GenieURL)
		if _, err := io.WriteString(c, "GET /service.json HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil {
			start := make([]byte, 64)
			if n, _ := c.Read(start); strings.Contains(string(start[:n]), " 200 OK") {
				break
			}
		}
		_ = c.Close()
		if time.Since(let) > limit+patience {
			t.Fatal("the slow readers still have all connections")
		}
	}
}
