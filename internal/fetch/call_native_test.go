//go:build !js

package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// script is a Client that answers with one step after the other.
type script struct {
	steps []func(ctx context.Context) (*Response, error)
	at    []time.Duration // when each request came
	start time.Time
}

func newScript(steps ...func(context.Context) (*Response, error)) *script {
	return &script{steps: steps, start: time.Now()}
}

func (s *script) Do(ctx context.Context, _ *Request) (*Response, error) {
	step := s.steps[min(len(s.at), len(s.steps)-1)]
	s.at = append(s.at, time.Since(s.start))
	return step(ctx)
}

func reply(status int, body string) func(context.Context) (*Response, error) {
	return func(context.Context) (*Response, error) {
		return &Response{Status: status, Header: Header{"x-request-id": "r-9"}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func noReply(context.Context) (*Response, error) {
	return nil, fault.New(fault.NetworkError, "")
}

func silence(ctx context.Context) (*Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCallDecodesOrTellsWhy(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		code   fault.Code
		detail string
	}{
		{"value", 200, `{"name":"a"}`, "", ""},
		{"created", 201, `{"name":"a"}`, "", ""},
		{"empty", 200, " \n", fault.ServerError, "the reply has no body"},
		{"garbage", 200, `{"name":`, fault.InvalidResponse, "a reply that looks like JSON but does not parse, or lacks what it must have"},
		{"page", 200, `<html>`, fault.InvalidResponse, "a reply that looks like JSON but does not parse, or lacks what it must have"},
		{"wrong type", 200, `{"name":1}`, fault.InvalidResponse, "a reply that looks like JSON but does not parse, or lacks what it must have"},
		{"hidden error", 200, `{"code":"A_B","message":"refused","args":[]}`, fault.APIException, "refused"},
		{"error status", 404, `{"message":"gone"}`, fault.NotFound, "gone"},
		{"too large", 200, strings.Repeat(" ", DefaultLimit+1), fault.ResponseTooLarge, "the reply is larger than 10 MiB"},
		{"error status, too large", 500, strings.Repeat(" ", DefaultLimit+1), fault.ServerError, "HTTP 500 or above, or a success status without the required body"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out struct{ Name string }
			c := newScript(reply(test.status, test.body))
			err := Call(t.Context(), c, &Request{URL: "https://x.example/v1/a?b=c"}, &out)
			if test.code == "" {
				if err != nil || out.Name != "a" {
					t.Errorf("got %+v, %v", out, err)
				}
				return
			}
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("got %v", err)
			}
			if f.Code != test.code || f.Detail != test.detail || f.Status != test.status || f.Instance != "/v1/a" {
				t.Errorf("got %s %d %q at %q", f.Code, f.Status, f.Detail, f.Instance)
			}
			if f.Code != fault.ResponseTooLarge && test.status != 500 && f.RequestID != "r-9" {
				t.Errorf("request id %q", f.RequestID)
			}
			expect.Equal(t, len(c.at), 1, "requests")
		})
	}
}

// TestAStatusCountsWithoutItsBody: the reply of a refusal may be cut off, but not the refusal itself.
func TestAStatusCountsWithoutItsBody(t *testing.T) {
	cut := func(status int, err error) func(context.Context) (*Response, error) {
		return func(context.Context) (*Response, error) {
			body := io.MultiReader(strings.NewReader(`{"message":"ex`), iotest.ErrReader(err))
			return &Response{Status: status, Header: Header{"x-request-id": "r-9"}, Body: io.NopCloser(body)}, nil
		}
	}
	post := &Request{URL: "https://x.example/v1/a"}
	broken := (&Request{URL: "https://x.example/v1/a"}).unreadable()
	c := newScript(cut(401, broken))
	var f *fault.Error
	if err := Call(t.Context(), c, post, nil); !errors.As(err, &f) || f.Code != fault.Unauthorized || f.Status != 401 || f.RequestID != "r-9" || f.Instance != "/v1/a" {
		t.Errorf("401 that is cut off: %v", err)
	}
	expect.Equal(t, len(c.at), 1, "requests")
	expect.Error(t, Call(t.Context(), newScript(cut(401, context.Canceled)), post, nil), fault.Aborted, "401 that is aborted")
}

func TestCallWithoutResultIgnoresTheBody(t *testing.T) {
	for _, body := range []string{"", "{}", "not JSON"} {
		expect.Equal(t, Call(t.Context(), newScript(reply(200, body)), &Request{URL: "https://x.example"}, nil), nil, "%q", body)
	}
	if err := Call(t.Context(), newScript(reply(200, `{"success":false}`)), &Request{URL: "https://x.example"}, nil); !errors.Is(err, fault.APIException) {
		t.Errorf("hidden error: %v", err)
	}
}

func TestCallRetries(t *testing.T) {
	get := &Request{Method: "GET", URL: "https://x.example"}
	post := &Request{URL: "https://x.example"}
	safePost := &Request{URL: "https://x.example", Repeatable: true}
	tests := []struct {
		name     string
		request  *Request
		step     func(context.Context) (*Response, error)
		requests int
		code     fault.Code
	}{
		{"network, any method", post, noReply, 4, fault.NetworkError},
		{"503 GET", get, reply(503, ""), 4, fault.ServerError},
		{"503 POST", post, reply(503, ""), 1, fault.ServerError},
		{"429, repeatable", safePost, reply(429, ""), 4, fault.RateLimited},
		{"500 GET", get, reply(500, ""), 1, fault.ServerError},
		{"401 GET", get, reply(401, ""), 1, fault.Unauthorized},
		{"silence POST", post, silence, 1, fault.Timeout},
		{"silence GET", get, silence, 1, fault.Timeout},
		{"silence, repeatable", safePost, silence, 4, fault.Timeout},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newScript(test.step)
				err := Call(t.Context(), c, test.request, nil)
				if !errors.Is(err, test.code) || len(c.at) != test.requests {
					t.Fatalf("%d requests, %v", len(c.at), err)
				}
				var each, waited time.Duration // each attempt, and between them
				if test.code == fault.Timeout {
					each = 30 * time.Second
				}
				for i, full := range []time.Duration{200, 400, 800}[:len(c.at)-1] {
					wait := c.at[i+1] - c.at[i] - each
					if full *= time.Millisecond; wait < full/2 || wait > full {
						t.Errorf("waited %v before request %d, want %v to %v", wait, i+2, full/2, full)
					}
					waited += wait
				}
				expect.Equal(t, time.Since(c.start), waited+time.Duration(test.requests)*each, "took")
			})
		})
	}
}

// TestCallRespectsRetryAfter: a call waits between one and two times the server's Retry-After; a
// Retry-After above the limit ends the call.
func TestCallRespectsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := func(after string) func(context.Context) (*Response, error) {
			return func(context.Context) (*Response, error) {
				return &Response{Status: 429, Header: Header{"retry-after": after}, Body: io.NopCloser(strings.NewReader(""))}, nil
			}
		}
		for _, after := range []string{"4", time.Now().UTC().Add(4 * time.Second).Format(http.TimeFormat)} {
			seconds := map[time.Duration]bool{} // in which calls refused at the same time are repeated
			for range 50 {
				c := newScript(refusal(after), reply(200, ""))
				if err := Call(t.Context(), c, &Request{Method: "GET", URL: "https://x.example"}, nil); err != nil || len(c.at) != 2 {
					t.Fatalf("Retry-After %q: %d requests, %v", after, len(c.at), err)
				}
				wait := c.at[1] - c.at[0]
				if after == "4" && (wait < 4*time.Second || wait > 8*time.Second) {
					t.Errorf("waited %v, want 4 s to 8 s", wait)
				}
				seconds[wait.Truncate(time.Second)] = true
				if after != "4" {
					break // it has passed now
				}
			}
			if after == "4" && len(seconds) < 3 {
				t.Errorf("they come back within %d seconds", len(seconds))
			}
		}
		c := newScript(refusal("11"))
		err := Call(t.Context(), c, &Request{Method: "GET", URL: "https://x.example"}, nil)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.RateLimited || len(c.at) != 1 || f.Headers["retry-after"] != "11" {
			t.Errorf("Retry-After 11: %d requests, %v", len(c.at), err)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(1999, 12, 31, 23, 59, 30, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"soon":                          0,
		"Fri, 31 Dec 1999 23:59:59 GMT": 29 * time.Second,
		"Sat, 01 Jan 2000 00:00:05 GMT": 35 * time.Second,
		"Fri, 31 Dec 1999 23:59:29 GMT": 0,
		"Fri, 31 Dez 1999 23:59:59 GMT": 0,
		"Fri, 31 Dec 1999 23:5x:59 GMT": 0,
		"99999999999999999999":          0,
	} {
		expect.Equal(t, retryAfter(value, now), want, "%q", value)
	}
}

func TestOnceAsksOnce(t *testing.T) {
	c := newScript(noReply)
	if err := Attempt(t.Context(), c, &Request{Method: "GET", URL: "https://x.example"}, nil); !errors.Is(err, fault.NetworkError) || len(c.at) != 1 {
		t.Errorf("%d requests, %v", len(c.at), err)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	for name, step := range map[string]func(context.Context) (*Response, error){"in a request": silence, "between requests": noReply} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(50*time.Millisecond, cancel)
				err := Call(ctx, newScript(step), &Request{URL: "https://x.example/v1"}, nil)
				var f *fault.Error
				if !errors.As(err, &f) || f.Code != fault.Aborted || f.Instance != "/v1" || !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
