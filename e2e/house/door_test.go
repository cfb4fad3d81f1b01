package house

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A visitor who leaves in the middle of a stream is noted, and the service hears
// of it.
func TestDoorNotesVisitorWhoLeaves(t *testing.T) {
	left := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // a server hears of the end only after that
		w.Write([]byte("line\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	}))
	defer service.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h := &House{t: t, ctx: ctx, door: newDoor()}
	h.door.leadTo(strings.TrimPrefix(service.URL, "http://"))
	front := httptest.NewServer(h.door)
	defer front.Close()

	visit, leave := context.WithCancel(ctx)
	r, err := http.NewRequestWithContext(visit, http.MethodPost, front.URL+"/stream", strings.NewReader("question"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "KS x")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	line := make([]byte, 5)
	if _, err := reply.Body.Read(line); err != nil || string(line) != "line\n" {
		t.Fatalf("read %q, %v before the end of the reply", line, err)
	}
	leave()
	select {
	case <-left:
	case <-ctx.Done():
		service.CloseClientConnections()
		t.Fatal("the service did not hear that the visitor left")
	}
	got := h.Await("the visit", func(Visit) bool { return true })
	want := Visit{Method: http.MethodPost, Path: "/stream", Body: "question", Authorised: true, Status: http.StatusOK}
	if got != want {
		t.Errorf("noted %+v, want %+v", got, want)
	}
}

func TestOnlyPagesAreShown(t *testing.T) {
	s := shown{nil, shownDirs(t)}
	for _, name := range []string{"go.mod", "js/package.json", "js/distant", "e2e/avatar/testdata/talk.js", "."} {
		if _, err := s.Open(name); err == nil {
			t.Errorf("%s is served", name)
		}
	}
}
