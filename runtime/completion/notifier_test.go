package completion

import (
	"context"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// brain counts the requests that arrive.
type brain struct {
	mu       sync.Mutex
	requests []string
	status   int           // 0 fails on the network
	delay    time.Duration // before the reply
	body     string        // of the reply
}

func text(r *fetch.Request) string {
	return strings.Join([]string{r.URL, r.Header.Get("authorization"), string(r.Body.Data)}, " ")
}

func (b *brain) take(r *fetch.Request) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, text(r))
	if b.status == 0 {
		return 0, errors.New("no network")
	}
	return b.status, nil
}

func (b *brain) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	status, err := b.take(r)
	select {
	case <-time.After(b.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &fetch.Response{Status: status, Body: io.NopCloser(strings.NewReader(b.body))}, nil
}

func (b *brain) Send(r *fetch.Request, done func(int, error)) {
	status, err := b.take(r) // before Send returns, as the real one
	go done(status, err)
}

func (b *brain) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// tabs is a browser with pages of one origin.
type tabs struct {
	message time.Duration // how long a message between tabs takes

	mu       sync.Mutex
	channels map[*tabChannel]bool
}

type tabChannel struct {
	page    *page
	name    string
	receive func(string)

	handling sync.Mutex
	waiting  []string // guarded by tabs.mu
}

type page struct {
	tabs     *tabs
	listener Listener
	gone     atomic.Bool
	left     map[*int]string // the requests that were left to the browser; "*": of a cached page too
}

func (p *page) Watch(l Listener) func() {
	p.listener = l
	return func() { p.listener = Listener{} }
}

func (p *page) sendAtHide(_ fetch.Network, r *fetch.Request, cached bool) (withdraw func()) {
	id := new(int)
	p.left[id] = text(r) + map[bool]string{true: "*"}[cached]
	return func() { delete(p.left, id) }
}
func (p *page) UserAgent() string { return "test" }

// close is what a browser does with a tab that is closed.
func (p *page) close() {
	p.listener.Hide(false)()
	p.kill()
}

// kill ends the tab without any event, like a crash.
func (p *page) kill() { p.gone.Store(true) }

func (p *page) Channel(name string, receive func(string)) Channel {
	c := &tabChannel{page: p, name: name, receive: receive}
	p.tabs.mu.Lock()
	defer p.tabs.mu.Unlock()
	p.tabs.channels[c] = true
	return c
}

func (c *tabChannel) Post(message string) {
	if c.page.gone.Load() {
		return
	}
	tabs := c.page.tabs
	tabs.mu.Lock()
	defer tabs.mu.Unlock()
	for other := range tabs.channels {
		if other != c && other.name == c.name {
			other.waiting = append(other.waiting, message)
			time.AfterFunc(tabs.message, other.next)
		}
	}
}

// next receives the next message, in the order in which they were posted.
func (c *tabChannel) next() {
	c.handling.Lock()
	defer c.handling.Unlock()
	tabs := c.page.tabs
	tabs.mu.Lock()
	message := c.waiting[0]
	c.waiting = c.waiting[1:]
	open := tabs.channels[c]
	tabs.mu.Unlock()
	if open && !c.page.gone.Load() {
		c.receive(message)
	}
}

func (c *tabChannel) Close() {
	c.page.tabs.mu.Lock()
	defer c.page.tabs.mu.Unlock()
	delete(c.page.tabs.channels, c)
}

type rig struct {
	*Notifier
	brain    *brain
	page     *page
	mu       sync.Mutex
	attempts []Attempt
	left     []string
}

func newRig(t *testing.T, browser *tabs, s Settings) *rig {
	r := &rig{brain: &brain{status: 200}, page: &page{tabs: browser, left: map[*int]string{}}}
	s.Page = r.page
	r.Notifier = New(Options{
		URL: "https://brain.example/", HTTPClient: fetch.As(r), Settings: s,
		Trace: func() httpclient.TraceContext { return httpclient.TraceContext{} },
		Leave: func(reason string) { r.left = append(r.left, reason) },
		Attempt: func(a Attempt) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.attempts = append(r.attempts, a)
		},
	})
	t.Cleanup(r.Close)
	return r
}

// alone calls f with the one notifier of a browser, which has a thread.
func alone(t *testing.T, o Settings, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newBrowser(), o)
		r.SetThread("5f0c", "token")
		f(t, r)
	})
}

// Do implements [fetch.Client]; nothing comes from a tab that is gone.
func (r *rig) Do(ctx context.Context, request *fetch.Request) (*fetch.Response, error) {
	if r.page.gone.Load() {
		return nil, errors.New("the tab is gone")
	}
	return r.brain.Do(ctx, request)
}

// Send implements [fetch.Sender].
func (r *rig) Send(request *fetch.Request, done func(int, error)) {
	if !r.page.gone.Load() {
		r.brain.Send(request, done)
	}
}

// now sends the signal and waits.
func (r *rig) now() Result {
	result, _ := r.NotifyNow(context.Background()) // which does not end
	return result
}

func newBrowser() *tabs {
	return &tabs{channels: map[*tabChannel]bool{}}
}

const request = `https://brain.example/thread/session_completed KS token {"id":"5f0c"}`

func TestTheSignalIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newBrowser(), Settings{})
		if got := r.now(); got.Reason != "no_thread" {
			t.Errorf("without a thread: %+v", got)
		}
		r.SetThread("5f0c", "")
		if got := r.now(); got.Reason != "no_token" {
			t.Errorf("without a token: %+v", got)
		}
		r.SetThread("5f0c", "token")
		expect.Equal(t, r.now(), (Result{OK: true, Reason: "manual"}), "first")
		expect.Equal(t, r.now(), (Result{OK: true, Reason: "already_sent"}), "second")
		r.Notify("disconnect")
		synctest.Wait()
		expect.List(t, r.brain.seen(), []string{request}, "requests")
		if !reflect.DeepEqual(r.attempts, []Attempt{{Reason: "manual", Sent: true}}) {
			t.Errorf("attempts = %+v", r.attempts)
		}
	})
}

func TestAFailedSignalMayBeTriedAgain(t *testing.T) {
	alone(t, Settings{}, func(t *testing.T, r *rig) {
		r.brain.status = 503
		expect.Equal(t, r.now(), (Result{Reason: "http_error", Status: 503}), "refused")
		r.brain.status, r.brain.body = 200, `{"code":"SERVICE_FORBIDDEN","message":"No","objectType":"KalturaAPIException","args":[]}`
		expect.Equal(t, r.now(), (Result{Reason: "http_error", Status: 200}), "refused with a good status")
		r.brain.status, r.brain.body = 0, ""
		expect.Equal(t, r.now(), (Result{Reason: "network_error"}), "no network")
		r.brain.status, r.brain.delay = 200, time.Minute
		began := time.Now()
		if got := r.now(); got.OK || time.Since(began) != 5*time.Second {
			t.Errorf("slow: %+v after %v", got, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := r.NotifyNow(ctx); got != (Result{}) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not waited for: %+v, %v", got, err)
		}
		r.Wait()
		r.brain.delay = 0
		if got := r.now(); !got.OK {
			t.Errorf("at last: %+v", got)
		}
	})
}

// TestWait is for a program that ends after the report was sent, or could not be sent
// in time.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newBrowser(), Settings{})
		r.Wait() // for nothing
		r.SetThread("5f0c", "token")
		r.brain.delay = time.Minute
		began := time.Now()
		r.Notify("disconnect")
		r.Close()
		r.Wait()
		if took := time.Since(began); took != 5*time.Second || !reflect.DeepEqual(r.attempts, []Attempt{{Reason: "disconnect"}}) {
			t.Errorf("after %v: %+v", took, r.attempts)
		}
		r.brain.delay = time.Second
		r.Notify("disconnect")
		r.Wait()
		if want := (Attempt{Reason: "disconnect", Sent: true}); len(r.attempts) != 2 || r.attempts[1] != want {
			t.Errorf("%+v", r.attempts)
		}
		r.Wait()
	})
}

func TestPageExitSendsInsideTheListener(t *testing.T) {
	alone(t, Settings{}, func(t *testing.T, r *rig) {
		r.page.listener.Hide(false)()
		if got := r.brain.seen(); !slices.Equal(got, []string{request}) || !slices.Equal(r.left, []string{"pagehide"}) {
			t.Errorf("when the listener returned: %q, left %v", got, r.left)
		}
	})
}

// TestTheReportIsLeftToTheBrowser while the conversation can end without the program, and only then.
func TestTheReportIsLeftToTheBrowser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := false
		want := func(r *rig, requests ...string) {
			t.Helper()
			synctest.Wait()
			expect.List(t, slices.Collect(maps.Values(r.page.left)), requests, "left")
		}
		browser := newBrowser()
		r := newRig(t, browser, Settings{})
		want(r)
		r.SetThread("5f0c", "old")
		r.SetThread("5f0c", "token")
		want(r, request+"*")

		other := newRig(t, browser, Settings{tab: "other", CompleteOnBFCache: &off})
		other.SetThread("5f0c", "token")
		want(r)
		want(other)
		other.page.close()
		want(r, request+"*")

		other = newRig(t, browser, Settings{tab: "other", CompleteOnBFCache: &off})
		other.SetThread("5f0c", "token")
		time.Sleep(time.Second)
		r.Close()
		want(r)
		want(other, request)
		other.page.kill()

		r = newRig(t, browser, Settings{tab: "third"}) // counts the tab that crashed until it was silent for long
		r.SetThread("5f0c", "token")
		time.Sleep(time.Minute)
		want(r, request+"*")
		r.brain.status = 500
		r.now()
		want(r, request+"*")
		r.brain.status = 200
		r.now()
		want(r)

		sent, browser := new(atomic.Bool), newBrowser()
		one, two := newRig(t, browser, Settings{Sent: sent}), newRig(t, browser, Settings{Sent: sent})
		one.SetThread("5f0c", "token")
		two.SetThread("5f0c", "token")
		one.page.listener.Hide(true)
		two.page.listener.Hide(true) // has nothing to report any more
		want(one)
		want(two)

		for _, s := range []Settings{{PageLifecycle: &off}, {CompleteOnEnd: &off}} {
			s.tab = "silent"
			r := newRig(t, newBrowser(), s)
			r.SetThread("5f0c", "token")
			want(r)
		}
	})
}

func TestTheBackForwardCacheKeepsTheSession(t *testing.T) {
	alone(t, Settings{}, func(t *testing.T, r *rig) {
		r.page.listener.Hide(true)
		synctest.Wait()
		if len(r.left) != 0 || len(r.attempts) != 1 || r.attempts[0].Reason != "pagehide_bfcache" {
			t.Errorf("left %v, attempts %+v", r.left, r.attempts)
		}
	})
}

func TestAHiddenPageHasAGrace(t *testing.T) {
	alone(t, Settings{}, func(t *testing.T, r *rig) {
		r.page.listener.Visible(false)
		time.Sleep(29 * time.Second)
		r.Activity() // the avatar still talks
		time.Sleep(29 * time.Second)
		r.page.listener.Visible(true)
		time.Sleep(time.Minute)
		expect.Len(t, r.brain.seen(), 0, "sent although the visitor came back")
		r.page.listener.Visible(false)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if len(r.attempts) != 1 || r.attempts[0] != (Attempt{Reason: "hidden_grace", Sent: true}) {
			t.Errorf("attempts = %+v", r.attempts)
		}
	})
}

// TestSessionsOfOneTabAreNoPeers: during a switch between text and avatar a page has two
// sessions on one thread; when the page is closed then, one of them must report the end.
func TestSessionsOfOneTabAreNoPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		browser := newBrowser()
		one, two := newRig(t, browser, Settings{}), newRig(t, browser, Settings{})
		one.SetThread("5f0c", "token")
		two.SetThread("5f0c", "token")
		time.Sleep(5 * time.Second)
		if got := one.now(); got != (Result{OK: true, Reason: "manual"}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestASwitchIsNoGoodbyeToOtherTabs: a transport that a switch ends says bye for its tab, which the other one revokes at
// once, and not with its next beat.
func TestASwitchIsNoGoodbyeToOtherTabs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		browser := newBrowser()
		old, next, other := newRig(t, browser, Settings{tab: "1"}), newRig(t, browser, Settings{tab: "1"}), newRig(t, browser, Settings{tab: "2"})
		for _, r := range []*rig{old, next, other} {
			r.SetThread("5f0c", "token")
		}
		time.Sleep(5 * time.Second)
		old.Close()
		time.Sleep(time.Millisecond)
		if got := other.now(); got != (Result{OK: true, Reason: "suppressed", Peers: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// TestNotifiersOfOneConversationSendOnce: when the page is closed during a switch, both
// notifiers get the event.
func TestNotifiersOfOneConversationSendOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		browser, sent := newBrowser(), new(atomic.Bool)
		one, two := newRig(t, browser, Settings{Sent: sent}), newRig(t, browser, Settings{Sent: sent})
		one.SetThread("5f0c", "token")
		two.SetThread("5f0c", "token")
		one.brain.status = 500
		if got := one.now(); got.OK {
			t.Errorf("%+v", got)
		}
		one.brain.status = 200 // after a failed attempt any of them may send
		two.page.listener.Hide(false)()
		one.page.listener.Hide(false)()
		synctest.Wait()
		if got := two.brain.seen(); !slices.Equal(got, []string{request}) || len(one.brain.seen()) != 1 {
			t.Errorf("requests %q, and %q before", got, one.brain.seen())
		}
		if len(one.left) != 1 || len(two.left) != 1 {
			t.Errorf("left %v and %v", one.left, two.left)
		}
	})
}

func TestAHiddenPageCanHaveNoGrace(t *testing.T) {
	none := time.Duration(0)
	alone(t, Settings{HiddenGrace: &none}, func(t *testing.T, r *rig) {
		r.page.listener.Visible(false)
		synctest.Wait()
		expect.List(t, r.brain.seen(), []string{request}, "requests")
	})
}

// TestNothingIsSentAfterClose, also if the page closes the session, or is seen again, after the grace
// has ended and before its request is made.
func TestNothingIsSentAfterClose(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"closed": (*rig).Close,
		"seen":   func(r *rig) { r.page.listener.Visible(true) },
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, Settings{}, func(t *testing.T, r *rig) {
				r.o.Trace = func() httpclient.TraceContext {
					change(r)
					return httpclient.TraceContext{}
				}
				r.page.listener.Visible(false)
				time.Sleep(time.Hour)
				synctest.Wait()
				if got := r.brain.seen(); len(got) != 0 {
					t.Errorf("requests = %q", got)
				}
			})
		})
	}
}

func TestASilentTabIsForgotten(t *testing.T) {
	alone(t, Settings{}, func(t *testing.T, r *rig) {
		for _, message := range []string{"no JSON", `{"v":2,"id":"x","t":"alive"}`, `{"v":1,"id":"x","t":"alive"}`} {
			r.presence.receive(message)
		}
		time.Sleep(13 * time.Second)
		if got := r.now(); got.Reason != "manual" {
			t.Errorf("%+v", got)
		}
	})
}

func TestSwitchedOff(t *testing.T) {
	alone(t, Settings{CompleteOnEnd: new(bool)}, func(t *testing.T, r *rig) {
		if got := r.now(); got.Reason != "disabled" || len(r.brain.seen()) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestOneTabReportsTheEnd has two or three tabs go at nearly the same time, closed, killed
// or disconnected, with every mixture of orders, distances and delays between them. No
// mixture has two reports; there is one if the last to leave has heard the byes of all others.
func TestOneTabReportsTheEnd(t *testing.T) {
	type exit struct {
		how string
		at  time.Duration
	}
	const stale = 12 * time.Second
	ms := time.Millisecond
	ways := []string{"closed", "killed", "disconnected", "stays"}
	times := []time.Duration{0, ms, 10 * ms, 300 * ms, stale + 4*time.Second}
	run := func(t *testing.T, message time.Duration, exits []exit) {
		synctest.Test(t, func(t *testing.T) {
			browser := newBrowser()
			browser.message = message
			service := &brain{status: 200}
			var all []*rig
			for i := range exits {
				r := newRig(t, browser, Settings{tab: string(rune('a' + i))})
				r.brain = service
				r.SetThread("5f0c", "token")
				all = append(all, r)
			}
			time.Sleep(5 * time.Second)
			var going sync.WaitGroup
			for i, e := range exits {
				r := all[i]
				going.Go(func() {
					time.Sleep(e.at)
					switch e.how {
					case "closed":
						r.page.close()
					case "killed":
						r.page.kill()
					case "disconnected":
						r.Notify("disconnect")
						r.Close()
					}
				})
			}
			going.Wait()
			time.Sleep(2 * time.Second)
			last := slices.MaxFunc(exits, func(a, b exit) int { return int(a.at - b.at) })
			heard := last.how == "closed" || last.how == "disconnected"
			for _, e := range exits {
				switch {
				case e == last:
				case e.how == "stays":
					heard = false
				case e.how == "killed":
					heard = heard && last.at-e.at > stale
				default:
					heard = heard && last.at-e.at > message
				}
			}
			same := 0 // tabs like the last, of which two can't hear each other
			for _, e := range exits {
				if e == last {
					same++
				}
			}
			got := len(service.seen())
			if got > 1 || got != 1 && heard && same == 1 {
				t.Errorf("message %v, %+v: %d requests", message, exits, got)
			}
			if slices.ContainsFunc(exits, func(e exit) bool { return e.how == "stays" }) && got != 0 {
				t.Errorf("message %v, %+v: %d requests although a tab stays", message, exits, got)
			}
		})
	}
	for _, message := range []time.Duration{0, 3 * ms, 100 * ms} {
		for _, a := range ways {
			for _, b := range ways {
				for _, at := range times {
					run(t, message, []exit{{a, 0}, {b, at}})
					run(t, message, []exit{{a, at}, {b, 0}})
					for _, c := range ways {
						run(t, message, []exit{{a, 0}, {b, at}, {c, at / 2}})
						run(t, message, []exit{{a, at}, {b, 2 * ms}, {c, 0}})
					}
				}
			}
		}
	}
}

// TestATabWhoseReportFailedIsThere: the others count it again, and do not rely on its report.
func TestATabWhoseReportFailedIsThere(t *testing.T) {
	for _, test := range []struct {
		name  string
		later bool // the other tab is opened after the report; else its timers are slowed, so that it is not counted
		first int  // the tab that ends first
	}{
		{"a later tab ends first", true, 1},
		{"a later tab ends last", true, 0},
		{"a slowed tab ends first", false, 1},
		{"a slowed tab ends last", false, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			browser, service := newBrowser(), &brain{}
			browser.message = time.Millisecond
			var all [2]*rig
			open := func(i int, beat time.Duration) {
				all[i] = newRig(t, browser, Settings{tab: string(rune('a' + i)), PresenceBeat: beat})
				all[i].brain = service
				all[i].SetThread("5f0c", "token")
			}
			open(0, 4*time.Second)
			if !test.later {
				open(1, time.Minute)
			}
			time.Sleep(40 * time.Second)
			if got := all[0].now(); got.Reason != "network_error" {
				t.Fatalf("%s: %+v", test.name, got)
			}
			if test.later {
				open(1, 4*time.Second)
			}
			service.status = 200
			time.Sleep(time.Second)
			first := all[test.first].now()
			all[test.first].Close()
			time.Sleep(time.Second)
			last := all[1-test.first].now()
			if first.Reason != "suppressed" || last.Reason != "manual" || len(service.seen()) != 2 {
				t.Errorf("%s: %+v, then %+v, after %d requests", test.name, first, last, len(service.seen()))
			}
		})
	}
}

// TestASlowedTabIsNoSecondReport: browsers slow the timers of a hidden tab, so that the others
// hear from it too seldom.
func TestASlowedTabIsNoSecondReport(t *testing.T) {
	const slow, normal = time.Minute, 4 * time.Second
	for _, test := range []struct {
		beats [2]time.Duration
		gap   time.Duration // from the end of the first tab to that of the second
		want  [2]string
	}{
		{[2]time.Duration{normal, slow}, time.Second, [2]string{"manual", "already_sent"}},
		{[2]time.Duration{slow, normal}, time.Second, [2]string{"suppressed", "manual"}},
		{[2]time.Duration{normal, slow}, 0, [2]string{"manual", "suppressed"}},
		{[2]time.Duration{slow, slow}, 0, [2]string{"suppressed", "suppressed"}},
		{[2]time.Duration{slow, slow}, time.Second, [2]string{"suppressed", "manual"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			browser := newBrowser()
			browser.message = time.Millisecond
			service := &brain{status: 200}
			var all [2]*rig
			for i, beat := range test.beats {
				all[i] = newRig(t, browser, Settings{tab: string(rune('a' + i)), PresenceBeat: beat})
				all[i].brain = service
				all[i].SetThread("5f0c", "token")
			}
			time.Sleep(40 * time.Second)
			first := all[0].now().Reason
			time.Sleep(test.gap)
			expect.Equal(t, [2]string{first, all[1].now().Reason}, test.want, "beats %v, %v apart", test.beats, test.gap)
		})
	}
}
