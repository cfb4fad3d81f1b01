package pagetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A request whose client disconnects in the middle of a stream is recorded, and is aborted
// at the service too.
func TestProxyRecordsClientThatLeaves(t *testing.T) {
	left := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // a server notices the end only after that
		w.Write([]byte("line\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	}))
	defer service.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h := &Server{t: t, ctx: ctx, proxy: newProxy()}
	h.proxy.forwardTo(strings.TrimPrefix(service.URL, "http://"))
	front := httptest.NewServer(h.proxy)
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
	if n, over := h.Count(http.MethodPost, "/stream"), len(h.Requests()); n != 1 || over != 0 {
		t.Errorf("%d requests have begun, %d are over; want one that has begun", n, over)
	}
	leave()
	select {
	case <-left:
	case <-ctx.Done():
		service.CloseClientConnections()
		t.Fatal("the request did not end at the service")
	}
	got := h.Await("the request", func(Request) bool { return true })
	want := Request{Method: http.MethodPost, Path: "/stream", Body: "question", Authorised: true, Status: http.StatusOK, over: true}
	if got != want {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
}

// A server closes a request's body when the response begins; a read after that fails
// and would cut the response off.
func TestProxyReadsNoBodyAfterItsEnd(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	defer service.Close()
	d := newProxy()
	d.forwardTo(strings.TrimPrefix(service.URL, "http://"))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/echo", &once{t: t, text: "question"})
	r.ContentLength = int64(len("question"))
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if got := w.Body.String(); w.Code != http.StatusOK || got != "question" {
		t.Errorf("answered %d %q", w.Code, got)
	}
}

// once is a body whose end may be read once.
type once struct {
	t     *testing.T
	text  string
	ended bool
}

func (o *once) Read(p []byte) (int, error) {
	if o.text != "" {
		n := copy(p, o.text)
		o.text = o.text[n:]
		return n, nil
	}
	if o.ended {
		o.t.Error("the body was read after its end")
	}
	o.ended = true
	return 0, io.EOF
}
