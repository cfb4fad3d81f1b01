package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const (
	sdpType = "application/sdp"
	// maxAnswer bounds an answer: a server's has a few kB.
	maxAnswer = 256 << 10
	// maxRefusal and maxQuote bound what is read and kept of a refusal's body
	// (protocol §6.4).
	maxRefusal = 4 << 10
	maxQuote   = 200
)

// whep does the HTTP requests of a subscription (protocol §6.4 and §6.5).
type whep struct {
	*Config
	network fetch.Network
	random  func() float64 // varies the delays between attempts by up to half, in both directions
}

// reply is the outcome of one POST. viewer is set if the server created one, even when
// something else failed.
type reply struct {
	answer string
	viewer *viewer
	err    error
	again  bool // the network failed: another try may help
}

// subscribe posts the offer and returns the answer and the viewer, nil if the
// server named none. sent is called when the first request is sent.
//
// The end of ctx does not abort a request under way, because the server might have
// created the viewer already, and only its reply has the address for the release. The
// request ends by itself, within the limit of an attempt.
func (w *whep) subscribe(ctx context.Context, url, offer string, sent func()) (string, *viewer, error) {
	if err := w.check(url); err != nil {
		return "", nil, err
	}
	if ctx.Err() != nil {
		return "", nil, canceled(ctx)
	}
	for try := 1; ; try++ {
		replies := make(chan reply, 1)
		go func() { replies <- w.post(context.WithoutCancel(ctx), url, offer) }()
		if try == 1 {
			sent()
		}
		var r reply
		select {
		case r = <-replies:
		case <-ctx.Done():
			go func() { (<-replies).viewer.abandon() }()
			return "", nil, canceled(ctx)
		}
		switch {
		case ctx.Err() != nil:
			r.viewer.abandon()
			return "", nil, canceled(ctx)
		case r.err == nil:
			return r.answer, r.viewer, nil
		}
		r.viewer.abandon()
		if !r.again || try >= w.Limits.WHEPTries {
			return "", nil, r.err
		}
		w.Log("debug", "the media server did not answer; trying again", map[string]any{"try": try})
		select {
		case <-time.After(time.Duration(float64(w.Limits.WHEPBackoff) * (0.5 + w.random()))):
		case <-ctx.Done():
			return "", nil, canceled(ctx)
		}
	}
}

// canceled is the error of a subscription whose context ended.
func canceled(ctx context.Context) error {
	cause := context.Cause(ctx)
	var f *fault.Error
	if !errors.Is(cause, context.DeadlineExceeded) && !(errors.As(cause, &f) && f.Code == fault.Timeout) {
		return cause
	}
	detail := "the time was up"
	if f != nil {
		detail = f.Detail // the label of the limit (protocol §2.3)
	}
	return fault.New(fault.Timeout, detail).InPhase(fault.PhaseWHEP).Wrap(cause)
}

// post does one attempt, from the request to the end of the body.
func (w *whep) post(ctx context.Context, url, offer string) reply {
	ctx, cancel := context.WithTimeout(ctx, w.Limits.WHEPTry)
	defer cancel()
	resp, err := w.network.Do(ctx, &fetch.Request{URL: url, Body: fetch.Bytes(sdpType, []byte(offer))})
	if err != nil {
		return reply{err: noReply(err), again: true}
	}
	if !resp.OK() {
		return reply{err: refusal(resp)}
	}
	v, err := w.viewerAt(url, resp.Header.Get("Location"))
	if err != nil {
		_ = resp.Body.Close()
		return reply{err: err}
	}
	body, err := fetch.ReadAll(resp, maxAnswer)
	switch {
	case errors.Is(err, fault.ResponseTooLarge):
		return reply{viewer: v, err: badAnswer(resp.Status, err)}
	case err != nil:
		return reply{viewer: v, err: noReply(err)}
	}
	answer := string(body)
	if !looksLikeSDP(answer) {
		return reply{viewer: v, err: badAnswer(resp.Status, nil)}
	}
	return reply{viewer: v, answer: answer}
}

// noReply is the error of a request without a reply.
func noReply(err error) *fault.Error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.WHEPTimeout, "").InPhase(fault.PhaseWHEP)
	}
	var f *fault.Error
	if errors.As(err, &f) && f.Cause != nil {
		err = f.Cause // without the address, which is enough to watch the stream
	}
	return fault.New(fault.WHEPFailed, "the media server can't be reached").InPhase(fault.PhaseWHEP).Wrap(err)
}

// refusal returns the error of a reply whose status is not 2xx.
func refusal(resp *fetch.Response) error {
	defer resp.Body.Close()
	if resp.Status == 404 || resp.Status == 409 {
		return &Gone{resp.Status}
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	detail := fmt.Sprintf("the media server refused the subscription with status %d", resp.Status)
	if resp.Status == 415 {
		detail += "; the content type must be " + sdpType
	}
	f := fault.New(fault.WHEPFailed, detail).InPhase(fault.PhaseWHEP).WithStatus(resp.Status)
	if text := strings.TrimSpace(string(body)); text != "" {
		f.WithBody(fault.Excerpt(strings.ToValidUTF8(text, "\uFFFD"), maxQuote))
	}
	return f
}

// badAnswer is the error of an answer that can't be used.
func badAnswer(status int, cause error) *fault.Error {
	return fault.New(fault.WHEPFailed, "the media server's answer is not a usable session description").
		InPhase(fault.PhaseWHEP).WithStatus(status).WithRetryable(false).Wrap(cause)
}

// looksLikeSDP distinguishes a session description from an error page with a 2xx
// status. The peer checks the rest.
func looksLikeSDP(s string) bool {
	return strings.HasPrefix(s, "v=0\r\n") || strings.HasPrefix(s, "v=0\n")
}

// viewerAt returns the viewer that location names. A private address is an error, and
// no DELETE is sent to it (protocol §6.7), nor from an https address to a plain http
// one; another https origin is allowed (§6.5), as the request has no token and no body.
func (w *whep) viewerAt(url, location string) (*viewer, error) {
	address := releaseURL(url, location)
	if address == "" {
		w.Log("debug", "the media server named no viewer to release", nil)
		return nil, nil
	}
	f := w.check(address)
	if f == nil && hasScheme(url, "https") && !hasScheme(address, "https") {
		f = fault.New(fault.InsecureTransport, "the media server's https address names an http address")
	}
	if f != nil {
		if f.Code == fault.WHEPPrivateIP {
			return nil, f
		}
		w.Log("warn", "the viewer can't be released: "+f.Message(), nil)
		return nil, nil
	}
	return &viewer{whep: w, url: address}, nil
}

// viewer is the resource of a subscription at the media server. It is released at
// most once; a nil viewer has nothing to release.
type viewer struct {
	whep     *whep
	url      string
	released atomic.Bool
}

// release deletes the viewer and waits for it, up to the limit and no longer than
// ctx.
func (v *viewer) release(ctx context.Context) {
	if v == nil || v.released.Swap(true) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, v.whep.Limits.WHEPRelease)
	defer cancel()
	r := v.request()
	r.Keepalive = true
	resp, err := v.whep.network.Do(ctx, r)
	status := 0
	if err == nil {
		status = resp.Status
		_ = resp.Body.Close()
	}
	v.report(status, err)
}

// abandon deletes the viewer without waiting. In a page the request is sent before
// abandon returns, even from a pagehide listener.
func (v *viewer) abandon() {
	if v != nil && !v.released.Swap(true) {
		r := v.request()
		r.SendLimit = v.whep.Limits.WHEPRelease
		v.whep.network.Send(r, v.report)
	}
}

func (v *viewer) request() *fetch.Request { return &fetch.Request{Method: "DELETE", URL: v.url} }

func (v *viewer) report(status int, err error) {
	switch {
	case err != nil:
		v.whep.Log("warn", "the viewer was not released", map[string]any{"error": noReply(err).Error()})
	case status < 200 || status > 299:
		v.whep.Log("warn", "the viewer was not released", map[string]any{"status": status})
	}
}

// check refuses an address before anything is sent to it (protocol §6.7).
// It looks at the text only and resolves no name.
func (w *whep) check(address string) *fault.Error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fault.New(fault.WHEPFailed, "the media server's address is not an http or https URL").
			InPhase(fault.PhaseWHEP).WithRetryable(false)
	}
	switch private := privateHost(u.Hostname()); {
	case private && !w.AllowPrivateHosts:
		return fault.New(fault.WHEPPrivateIP, "").InPhase(fault.PhaseWHEP)
	case !private && u.Scheme == "http" && !w.AllowInsecureTransport:
		return fault.New(fault.InsecureTransport, "the media server's address uses http to a public host").InPhase(fault.PhaseWHEP)
	}
	return nil
}

// privateHost reports a host of [fetch.PrivateHost], and every host with characters
// beyond ASCII: browsers map other alphabets' digits and dots to ASCII first, so that such
// a host may be a private address. The ASCII form of a name is accepted.
func privateHost(host string) bool {
	return strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 }) || fetch.PrivateHost(host)
}

// releaseURL returns the address at which the viewer that a reply's Location names is
// released (protocol §6.5); "" when there is nothing to release.
func releaseURL(subscribed, location string) string {
	relative, err := url.Parse(location)
	if err != nil || location == "" || relative.IsAbs() {
		return location
	}
	if i := strings.Index(location, "/viewer/"); i >= 0 {
		base, _, _ := strings.Cut(subscribed, "#")
		base, _, _ = strings.Cut(base, "?")
		return strings.TrimRight(base, "/") + location[i:]
	}
	base, err := url.Parse(subscribed)
	if err != nil {
		return location
	}
	return base.ResolveReference(relative).String()
}

// hasScheme reports whether the address begins with the scheme, in any case.
func hasScheme(address, scheme string) bool {
	given, _, _ := strings.Cut(address, ":")
	return strings.EqualFold(given, scheme)
}
