package fetch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// These tests run natively and, through TestInChromium, in a page, where
// serverVariable names the server to use.
const serverVariable = "AGENTRUNTIME_FETCH_SERVER"

// echoed is what the server's /echo got.
type echoed struct {
	Method, URI, Body string
	Header            map[string]string
}

func newClient(t *testing.T) *HTTPClient {
	t.Helper()
	client := New()
	t.Cleanup(client.Close)
	return client
}

// get does r and returns its reply's body.
func get(t *testing.T, c Client, r *Request) (*Response, string) {
	t.Helper()
	resp := must.Get(c.Do(t.Context(), r))(t)
	data := must.Get(ReadAll(resp, 0))(t)
	return resp, string(data)
}

func echo(t *testing.T, r *Request) echoed {
	t.Helper()
	resp, text := get(t, newClient(t), r)
	if resp.Status != 200 || resp.Header.Get("X-Request-ID") != "r-1" {
		t.Errorf("status %d, headers %v", resp.Status, resp.Header)
	}
	var e echoed
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return e
}

func TestSendsMethodHeadersAndBodies(t *testing.T) {
	base := serverURL(t)
	jsonBody := must.Get(JSON(map[string]any{"a": 1, "b": "ü"}))(t)
	tests := []struct {
		name        string
		request     Request
		method      string
		contentType string
		body        string
	}{
		{"POST by default", Request{}, "POST", "", ""},
		{"GET", Request{Method: "GET"}, "GET", "", ""},
		{"DELETE", Request{Method: "DELETE"}, "DELETE", "", ""},
		{"JSON", Request{Body: jsonBody}, "POST", "application/json", `{"a":1,"b":"ü"}`},
		{
			"form",
			Request{Body: Form(map[string]string{"widgetId": "_1&2", "format": "1"})},
			"POST", "application/x-www-form-urlencoded", "format=1&widgetId=_1%262",
		},
		{"SDP", Request{Body: Bytes("application/sdp", []byte("v=0\r\n"))}, "POST", "application/sdp", "v=0\r\n"},
		{
			"own content type",
			Request{Header: Header{"content-type": "text/x"}, Body: Bytes("text/plain", []byte("a"))},
			"POST", "text/x", "a",
		},
		{"keepalive", Request{Keepalive: true, Body: jsonBody}, "POST", "application/json", `{"a":1,"b":"ü"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := test.request
			r.URL = base + "/echo?q=1"
			if r.Header == nil {
				r.Header = Header{}
			}
			r.Header.Set("Authorization", "KS abc")
			e := echo(t, &r)
			if e.Method != test.method || e.URI != "/echo?q=1" || e.Body != test.body {
				t.Errorf("got %s %s %q", e.Method, e.URI, e.Body)
			}
			expect.Equal(t, e.Header["content-type"], test.contentType, "content type")
			expect.Equal(t, e.Header["authorization"], "KS abc", "authorization")
			expect.Equal(t, e.Header["cookie"], "", "cookie")
		})
	}
}

// TestRedirectsAreNotFollowed redirects requests with a token and a body from https to
// plain http, to a host on this machine, to another origin and within one. Nothing
// arrives at the target.
func TestRedirectsAreNotFollowed(t *testing.T) {
	base := serverURL(t)
	c := trusting(t)
	var places struct{ Secure, Plain, Private, Other string }
	decode(t, c, base+"/places", &places)
	for _, to := range []string{places.Secure, places.Plain, places.Private, places.Other} {
		for _, code := range []string{"301", "302", "303", "307", "308"} {
			for _, method := range []string{"POST", "GET", "DELETE"} {
				r := &Request{
					Method: method,
					URL:    places.Secure + "/redirects?code=" + code + "&to=" + url.QueryEscape(to+"/target"),
					Header: Header{"authorization": "KS abc"},
				}
				if method == "POST" {
					r.Body = Bytes("application/sdp", []byte("v=0"))
				}
				name := method + " " + code + " to " + to
				resp, err := c.Do(t.Context(), r)
				if err == nil {
					resp.Body.Close()
				}
				if !errors.Is(err, fault.NetworkError) || !strings.Contains(err.Error(), "redirect") {
					t.Errorf("%s: Do: %v", name, err)
				}
				sent := make(chan error, 1)
				c.Send(r, func(_ int, err error) { sent <- err })
				expect.Error(t, <-sent, fault.NetworkError, "%s: Send", name)
			}
		}
	}
	var arrived []string
	decode(t, c, base+"/arrived", &arrived)
	expect.Len(t, arrived, 0, "arrived")
	get(t, c, &Request{URL: places.Secure + "/target"}) // or the test could not fail
	if decode(t, c, base+"/arrived", &arrived); len(arrived) != 1 {
		t.Errorf("without a redirect arrived %q", arrived)
	}
}

// decode reads the JSON at an address.
func decode(t *testing.T, c Client, address string, out any) {
	t.Helper()
	_, text := get(t, c, &Request{URL: address})
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

func TestStatusIsNoError(t *testing.T) {
	base := serverURL(t)
	for _, code := range []string{"204", "404", "503"} {
		resp, body := get(t, newClient(t), &Request{URL: base + "/status?code=" + code})
		if got := resp.Status; (got == 204) != resp.OK() || body != "" {
			t.Errorf("%s: status %d, OK %v, body %q", code, got, resp.OK(), body)
		}
	}
}

func TestReadAllLimit(t *testing.T) {
	base := serverURL(t)
	for _, test := range []struct {
		n     string
		limit int64
		ok    bool
	}{
		{"1000", 1000, true},
		{"1001", 1000, false},
		{"10485760", 0, true},
		{"10485761", 0, false},
	} {
		resp, err := newClient(t).Do(t.Context(), &Request{URL: base + "/body?n=" + test.n})
		must.Do(t, err)
		_, err = ReadAll(resp, test.limit)
		if test.ok && err != nil || !test.ok && !errors.Is(err, fault.ResponseTooLarge) {
			t.Errorf("%s bytes, limit %d: %v", test.n, test.limit, err)
		}
	}
}

// tell and wait use the server's events.
func tell(t *testing.T, c Client, base, event string) {
	t.Helper()
	get(t, c, &Request{URL: base + "/tell?id=" + event})
}

func wait(t *testing.T, c Client, base, event string) string {
	t.Helper()
	_, text := get(t, c, &Request{URL: base + "/wait?id=" + event})
	var data string
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return data
}

func TestStreamsAndAborts(t *testing.T) {
	base := serverURL(t)
	c := newClient(t)
	open := func(t *testing.T, ctx context.Context, id string) (*Response, *bufio.Reader) {
		t.Helper()
		resp := must.Get(c.Do(ctx, &Request{URL: base + "/stream?id=" + id}))(t)
		lines := bufio.NewReader(resp.Body)
		if line, err := lines.ReadString('\n'); line != "one\n" {
			t.Fatalf("got %q, %v before the reply was complete", line, err)
		}
		return resp, lines
	}

	t.Run("line by line", func(t *testing.T) {
		resp, lines := open(t, t.Context(), "lines")
		defer resp.Body.Close()
		tell(t, c, base, "lines-go")
		rest, err := io.ReadAll(lines)
		if string(rest) != "two\n" || err != nil {
			t.Errorf("got %q, %v", rest, err)
		}
		if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("after the end: %d, %v", n, err)
		}
	})
	t.Run("cancel before the reply", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Do(ctx, &Request{URL: base + "/wait?id=never"})
		if err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelled before the request", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Do(ctx, &Request{URL: base + "/echo"}); err != context.Canceled {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancel in the middle of the body", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		resp, lines := open(t, ctx, "cancel")
		defer resp.Body.Close()
		read := make(chan error)
		go func() {
			_, err := lines.ReadString('\n')
			read <- err
		}()
		cancel()
		if err := <-read; err != context.Canceled {
			t.Errorf("got %v", err)
		}
		expect.Equal(t, wait(t, c, base, "cancel-gone"), "gone", "the server was not left")
	})
	t.Run("close in the middle of the body", func(t *testing.T) {
		resp, _ := open(t, t.Context(), "close")
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		expect.Equal(t, wait(t, c, base, "close-gone"), "gone", "the server was not left")
		if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
			t.Errorf("read after close: %d, %v", n, err)
		}
	})
}

// TestUnreadReplyHoldsUpTheSender waits until the server can't write any more,
// because what is in the buffers on the way is not read.
func TestUnreadReplyHoldsUpTheSender(t *testing.T) {
	base := serverURL(t)
	c := newClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp := must.Get(c.Do(ctx, &Request{URL: base + "/endless?id=endless"}))(t)
	defer resp.Body.Close()
	const (
		settled = 500 * time.Millisecond
		most    = 256 << 20 // without back-pressure it is gigabytes
	)
	// No event reports that the server is blocked, so the count is compared twice.
	for last := int64(-1); ; time.Sleep(settled) {
		var sent int64
		must.Do(t, Attempt(t.Context(), c, &Request{URL: base + "/endless/sent"}, &sent))
		if sent > most {
			t.Fatalf("%d bytes were sent to nobody", sent)
		}
		if sent == last {
			break
		}
		last = sent
	}
	cancel()
	wait(t, c, base, "endless-gone")
}

func TestNetworkErrors(t *testing.T) {
	base := serverURL(t)
	c := newClient(t)
	const secret = "djJ8NTUwMXxabcdefgh"
	check := func(name string, err error, detail string, retryable bool) {
		t.Helper()
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.NetworkError || f.Cause == nil || f.Retryable != retryable || f.Detail != detail {
			t.Errorf("%s: %#v, want %q, retryable %v", name, err, detail, retryable)
		}
		if strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%s: the query is in %v", name, err)
		}
	}
	_, err := c.Do(t.Context(), &Request{URL: "http://127.0.0.1:1/x/y?ks=" + secret})
	check("nobody there", err, "POST 127.0.0.1:1/x/y got no reply"+perhaps, true)

	resp, err := c.Do(t.Context(), &Request{URL: base + "/break?ks=" + secret})
	must.Do(t, err)
	_, err = ReadAll(resp, 0)
	check("broken off", err, "the reply to POST "+strings.TrimPrefix(base, "http://")+"/break could not be read to its end", false)
}

func TestSendArrivesAndTellsItsStatus(t *testing.T) {
	base := serverURL(t)
	c := newClient(t)
	type result struct {
		status int
		err    error
	}
	for _, test := range []struct {
		name, url string
		status    int
		code      error
	}{
		{"arrives", base + "/tell?id=sent", 200, nil},
		{"refused", base + "/status?code=403", 403, nil},
		{"nobody there", "http://127.0.0.1:1/", 0, fault.NetworkError},
		{"not a request", "nowhere", 0, fault.BadRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			results := make(chan result, 1)
			c.Send(&Request{URL: test.url, Body: Bytes("text/plain", []byte("bye"))}, func(status int, err error) {
				results <- result{status, err}
			})
			got := <-results
			if got.status != test.status || !errors.Is(got.err, test.code) {
				t.Errorf("got %d, %v", got.status, got.err)
			}
		})
	}
	expect.Equal(t, wait(t, c, base, "sent"), "bye", "arrived")
}

func TestBadRequestsAreToldFromTheNetwork(t *testing.T) {
	const secret = "s3cret-value"
	for _, r := range []*Request{
		{},
		{URL: "/relative?ks=" + secret},
		{URL: "ftp://host/" + secret},
		{URL: "http://"},
		{URL: "http://host/%zz" + secret},
		{URL: "https://user:" + secret + "@host/"},
		{URL: "https://host/", Method: "GE T"},
		{URL: "https://host/", Header: Header{"authorization": "KS " + secret + "\r\nx: y"}},
		{URL: "https://host/", Header: Header{"authorization": "KS ü" + secret}},
		{URL: "https://host/", Header: Header{"na me": secret}},
	} {
		_, err := New().Do(t.Context(), r)
		if !errors.Is(err, fault.BadRequest) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
