package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

const testAnswer = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"

// fakeHTTP is the network of a virtual-time test. Requests run their handler.
type fakeHTTP struct {
	handle func(ctx context.Context, n int, r *fetch.Request) (*fetch.Response, error)

	mu      sync.Mutex
	start   time.Time
	log     []string // "time method path", "S" before those of Send
	posts   int
	deletes int
}

func (f *fakeHTTP) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	return f.do(ctx, "", r)
}

func (f *fakeHTTP) Send(r *fetch.Request, done func(int, error)) {
	go func() {
		resp, err := f.do(context.Background(), "S ", r)
		if err != nil {
			done(0, err)
			return
		}
		done(resp.Status, nil)
	}()
}

func (f *fakeHTTP) do(ctx context.Context, how string, r *fetch.Request) (*fetch.Response, error) {
	f.mu.Lock()
	method := r.Method
	if method == "" {
		method = "POST"
		f.posts++
	} else {
		f.deletes++
	}
	n := f.posts
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL, "https://"), "/")
	f.log = append(f.log, fmt.Sprintf("%s%v %s /%s", how, time.Since(f.start), method, path))
	f.mu.Unlock()
	if method == "DELETE" {
		return answered(200, "", ""), ctx.Err()
	}
	return f.handle(ctx, n, r)
}

func (f *fakeHTTP) lines() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.log, "\n")
}

func answered(status int, location, body string) *fetch.Response {
	h := fetch.Header{}
	if location != "" {
		h.Set("Location", location)
	}
	return &fetch.Response{Status: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// always is the handler that gives one answer.
func always(status int, location, body string) func(context.Context, int, *fetch.Request) (*fetch.Response, error) {
	return func(context.Context, int, *fetch.Request) (*fetch.Response, error) {
		return answered(status, location, body), nil
	}
}

// slow is a body that never ends, or ends with an error when ctx does.
type slow struct{ ctx context.Context }

func (s slow) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}
func (slow) Close() error { return nil }

func newWHEP(handle func(ctx context.Context, n int, r *fetch.Request) (*fetch.Response, error)) (*whep, *fakeHTTP) {
	f := &fakeHTTP{handle: handle, start: time.Now()}
	return &whep{&Config{Limits: signaling.Limits{}.WithDefaults(), Log: func(string, string, map[string]any) {}}, f, func() float64 { return 0.5 }}, f
}

var errOffline = fault.New(fault.NetworkError, "POST edge.example/secret got no complete reply").Wrap(errors.New("offline"))

func never(ctx context.Context) (*fetch.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestSubscribeOutcomes(t *testing.T) {
	long := strings.Repeat("é", 300)
	for _, test := range []struct {
		name   string
		handle func(ctx context.Context, n int, r *fetch.Request) (*fetch.Response, error)
		want   fault.Code // "" is success
		status int
		retry  bool
		gone   int
		text   string // in the error
		log    string
	}{
		{
			name: "answered",
			handle: func(_ context.Context, _ int, r *fetch.Request) (*fetch.Response, error) {
				if r.Body.ContentType != "application/sdp" || string(r.Body.Data) != "offer" || len(r.Header) != 0 {
					t.Errorf("request %+v", r)
				}
				return answered(201, "/viewer/v", testAnswer), nil
			},
			log: "0s POST /p/s",
		},
		{
			name: "answered after network trouble and a time-out",
			handle: func(ctx context.Context, n int, _ *fetch.Request) (*fetch.Response, error) {
				switch n {
				case 1:
					return nil, errOffline
				case 2:
					return never(ctx)
				}
				return answered(200, "", testAnswer), nil
			},
			log: "0s POST /p/s\n1s POST /p/s\n7s POST /p/s",
		},
		{
			name:   "timed out every time",
			handle: func(ctx context.Context, _ int, _ *fetch.Request) (*fetch.Response, error) { return never(ctx) },
			want:   fault.WHEPTimeout, retry: true,
			log: "0s POST /p/s\n6s POST /p/s\n12s POST /p/s",
		},
		{
			name:   "no network",
			handle: func(context.Context, int, *fetch.Request) (*fetch.Response, error) { return nil, errOffline },
			want:   fault.WHEPFailed, retry: true, text: "can't be reached: offline",
			log: "0s POST /p/s\n1s POST /p/s\n2s POST /p/s",
		},
		{
			name:   "gone",
			handle: always(404, "/viewer/x", "no such session"),
			gone:   404, log: "0s POST /p/s",
		},
		{
			name:   "taken",
			handle: always(409, "", "taken"),
			gone:   409, log: "0s POST /p/s",
		},
		{
			name:   "refused type",
			handle: always(415, "", "what?"),
			want:   fault.WHEPFailed, status: 415, text: "content type must be application/sdp", log: "0s POST /p/s",
		},
		{
			name:   "broken server",
			handle: always(503, "", long),
			want:   fault.WHEPFailed, status: 503, log: "0s POST /p/s",
		},
		{
			name: "body never ends",
			handle: func(ctx context.Context, _ int, _ *fetch.Request) (*fetch.Response, error) {
				r := answered(201, "/viewer/v", "")
				r.Body = slow{ctx}
				return r, nil
			},
			want: fault.WHEPTimeout, retry: true, log: "0s POST /p/s\nS 5s DELETE /p/s/viewer/v",
		},
		{
			name:   "body is a page",
			handle: always(200, "/viewer/v", "<!DOCTYPE html>"),
			want:   fault.WHEPFailed, status: 200, text: "not a usable session description", log: "0s POST /p/s\nS 0s DELETE /p/s/viewer/v",
		},
		{
			name:   "body is endless",
			handle: always(200, "/viewer/v", "v=0\r\n"+strings.Repeat("a", maxAnswer)),
			want:   fault.WHEPFailed, status: 200, log: "0s POST /p/s\nS 0s DELETE /p/s/viewer/v",
		},
		{
			name:   "private place",
			handle: always(201, "https://192.168.0.1/viewer/v", testAnswer),
			want:   fault.WHEPPrivateIP, log: "0s POST /p/s",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, net := newWHEP(test.handle)
				sent := 0
				answer, viewer, err := w.subscribe(t.Context(), "https://edge.example/p/s", "offer", func() { sent++ })
				synctest.Wait()
				var gone *Gone
				var f *fault.Error
				switch {
				case test.gone != 0:
					if !errors.As(err, &gone) || gone.Status != test.gone {
						t.Errorf("error %v", err)
					}
				case test.want != "":
					if !errors.As(err, &f) || f.Code != test.want || f.Status != test.status || f.Retryable != test.retry || f.Phase != fault.PhaseWHEP {
						t.Fatalf("error %#v", err)
					}
					if !strings.Contains(f.Error(), test.text) || strings.Contains(f.Error(), "secret") {
						t.Errorf("error %v", f)
					}
				case err != nil || answer != testAnswer:
					t.Errorf("answer %q, error %v", answer, err)
				}
				if err != nil && viewer != nil {
					t.Error("a place was kept")
				}
				if f != nil && f.Status == 503 && f.Body != strings.Repeat("é", 200) {
					t.Errorf("body %v", f.Body)
				}
				expect.Equal(t, sent, 1, "how often sent")
				if net.lines() != test.log {
					t.Errorf("requests:\n%s\nwant:\n%s", net.lines(), test.log)
				}
			})
		})
	}
}

func TestSubscribeAsksNoPrivateAddress(t *testing.T) {
	w, net := newWHEP(nil)
	_, _, err := w.subscribe(t.Context(), "https://127.0.0.1/p/s", "offer", func() { t.Error("sent") })
	if !errors.Is(err, fault.WHEPPrivateIP) || net.lines() != "" {
		t.Errorf("error %v, requests %q", err, net.lines())
	}
}

// A quoted refusal is redacted before it is shortened, because redaction would not
// recognise half a token.
func TestRefusalHidesSecrets(t *testing.T) {
	token := "djJ8NTUwMXx" + strings.Repeat("Qx7", 40)
	resp := answered(500, "", strings.Repeat(".", 150)+" "+token)
	var f *fault.Error
	if err := refusal(resp); !errors.As(err, &f) || strings.Contains(fmt.Sprint(f.Body), "djJ8") {
		t.Errorf("body %v", f.Body)
	}
}

func TestLateAnswersAreReleased(t *testing.T) {
	disconnected := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(fault.New(fault.ConnectFailed, "disconnected")) })
		return ctx, func() { cancel(nil) }
	}
	for _, test := range []struct {
		name  string
		delay time.Duration // of the answer
		end   func(context.Context) (context.Context, context.CancelFunc)
		want  fault.Code
		at    time.Duration // when subscribe returns
		log   string
	}{
		{
			name: "after the overall deadline", delay: 4 * time.Second,
			end: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, 3*time.Second, fault.New(fault.Timeout, "ConnectTimeout").InPhase(fault.PhaseConnect))
			},
			want: fault.Timeout, at: 3 * time.Second, log: "0s POST /p/s\nS 4s DELETE /p/s/viewer/v",
		},
		{
			name: "after a bare deadline", delay: 4 * time.Second,
			end: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 3*time.Second)
			},
			want: fault.Timeout, at: 3 * time.Second, log: "0s POST /p/s\nS 4s DELETE /p/s/viewer/v",
		},
		{
			name: "after cancelling", delay: 2 * time.Second,
			end: disconnected, want: fault.ConnectFailed, at: time.Second, log: "0s POST /p/s\nS 2s DELETE /p/s/viewer/v",
		},
		{
			name: "never, because the try ends first", delay: time.Minute,
			end: disconnected, want: fault.ConnectFailed, at: time.Second, log: "0s POST /p/s",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, net := newWHEP(func(ctx context.Context, _ int, _ *fetch.Request) (*fetch.Response, error) {
					select {
					case <-time.After(test.delay):
						return answered(201, "/viewer/v", testAnswer), nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})
				ctx, cancel := test.end(t.Context())
				defer cancel()
				start := time.Now()
				_, viewer, err := w.subscribe(ctx, "https://edge.example/p/s", "offer", func() {})
				if took := time.Since(start); took != test.at || viewer != nil {
					t.Errorf("returned after %v with %v", took, viewer)
				}
				var f *fault.Error
				if !errors.As(err, &f) || f.Code != test.want {
					t.Fatalf("error %v", err)
				}
				if f.Code == fault.Timeout && (f.Phase != fault.PhaseWHEP || !f.Retryable) {
					t.Errorf("error %v", f)
				}
				if strings.Contains(test.name, "overall") && f.Detail != "ConnectTimeout" {
					t.Errorf("label %q", f.Detail)
				}
				time.Sleep(time.Minute)
				if net.lines() != test.log {
					t.Errorf("requests:\n%s\nwant:\n%s", net.lines(), test.log)
				}
			})
		})
	}
}

func TestNoTryAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, net := newWHEP(func(context.Context, int, *fetch.Request) (*fetch.Response, error) { return nil, errOffline })
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, _, err := w.subscribe(ctx, "https://edge.example/p/s", "offer", func() {})
		if !errors.Is(err, fault.Timeout) || net.lines() != "0s POST /p/s\n1s POST /p/s" {
			t.Errorf("error %v after\n%s", err, net.lines())
		}
	})
}

func TestViewerIsReleasedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, net := newWHEP(nil)
		v := &viewer{whep: w, url: "https://edge.example/v"}
		v.release(t.Context())
		v.abandon()
		v.release(t.Context())
		(*viewer)(nil).release(t.Context())
		(*viewer)(nil).abandon()
		synctest.Wait()
		expect.Equal(t, net.lines(), "0s DELETE /v", "requests")
	})
}

// TestTriesAreSpread: clients that a media server failed together don't come back together.
func TestTriesAreSpread(t *testing.T) {
	for place, want := range map[float64]string{
		0:    "0s POST /p/s\n500ms POST /p/s",
		0.75: "0s POST /p/s\n1.25s POST /p/s",
	} {
		synctest.Test(t, func(t *testing.T) {
			w, net := newWHEP(func(_ context.Context, n int, _ *fetch.Request) (*fetch.Response, error) {
				if n == 1 {
					return nil, errOffline
				}
				return answered(201, "/viewer/v", testAnswer), nil
			})
			w.random = func() float64 { return place }
			_, _, err := w.subscribe(t.Context(), "https://edge.example/p/s", "offer", func() {})
			if err != nil || net.lines() != want {
				t.Errorf("%v, requests:\n%s\nwant:\n%s", err, net.lines(), want)
			}
		})
	}
}

func TestReleaseWaitsNoLongerThanItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged []string
		w := &whep{&Config{Limits: signaling.Limits{}.WithDefaults(), Log: func(level, message string, _ map[string]any) {
			logged = append(logged, level+" "+message)
		}}, struct {
			fetch.Client
			fetch.Sender
		}{Client: hanging{}}, nil}
		start := time.Now()
		(&viewer{whep: w, url: "https://edge.example/v"}).release(t.Context())
		expect.Equal(t, time.Since(start), 3*time.Second, "took")
		if len(logged) != 1 || logged[0] != "warn the viewer was not released" {
			t.Errorf("log %q", logged)
		}
	})
}

type hanging struct{}

func (hanging) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	if r.Method != "DELETE" || !r.Keepalive || len(r.Body.Data) != 0 || len(r.Header) != 0 {
		return nil, fmt.Errorf("request %+v", r)
	}
	return never(ctx)
}

// TestLocationNeverLeavesEncryption gives the viewer of an https address an http
// address, which the switches for development would allow by itself.
func TestLocationNeverLeavesEncryption(t *testing.T) {
	for _, test := range []struct {
		subscribed, location string
		released             bool
	}{
		{"https://edge.example/p/s", "http://edge.example/viewer/1", false},
		{"HTTPS://edge.example/p/s", "HTTP://edge.example/viewer/1", false},
		{"https://edge.example/p/s", "http://127.0.0.1/viewer/1", false},
		{"https://edge.example/p/s", "https://other.example/viewer/1", true},
		{"http://127.0.0.1/p/s", "http://127.0.0.1/viewer/1", true},
	} {
		w, _ := newWHEP(nil)
		w.AllowPrivateHosts, w.AllowInsecureTransport = true, true
		v, err := w.viewerAt(test.subscribed, test.location)
		if err != nil || (v != nil) != test.released {
			t.Errorf("%s names %s: viewer %v, %v", test.subscribed, test.location, v, err)
		}
	}
}
