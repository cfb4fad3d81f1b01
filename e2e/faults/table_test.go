// Package faults breaks the connection of native sessions to a real local service
// in every way that docs/resilience.md lists, and writes what came of it there:
//
//	make faults
//
// Without -all, as in `cd e2e && go test ./faults`, the rows run that take few seconds.
package faults

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

var (
	all   = flag.Bool("all", false, "run every row of the table")
	write = flag.String("write", "", "`file` whose list is replaced")
)

const (
	// patience bounds steps that take a second or two on a machine that is not busy.
	patience = 30 * time.Second
	// settles bounds the time from a repair to the picture, or to the error.
	settles = 45 * time.Second
)

// row is a fault: what breaks, for how long, and the expected outcome.
type row struct {
	name  string
	quick bool // runs without -all too
	lasts time.Duration
	// life, if it is not 0, is the lifetime of tokens and of logins to the relay. The fault
	// begins when the first ones have expired, and the session ends when the last ones have.
	life time.Duration
	// noToken and noLogin are applications without a function for new tokens, or for new logins
	// to the relay.
	noToken, noLogin bool
	// mediaLost replaces the limit of a picture that does not come back, unless it is 0.
	mediaLost time.Duration
	breaks    func(*rig)
	repairs   func(*rig)
	// ends is the error of a session that cannot go on; "" for one that must.
	ends fault.Code
	// within bounds the time from the repair to the picture; default 10 s.
	within time.Duration
}

// rig is one row under way.
type rig struct {
	*service
	guest
	t *testing.T
}

// guest is a session whose connections a row breaks: a native one, or that of an element in a
// page.
type guest interface {
	// answerWHEP makes WHEP requests get a response with that status, or none if it is 0, and
	// restoreWHEP ends that.
	answerWHEP(status int)
	restoreWHEP()
	// awaitExpiry returns when the newest token, and the login to the relay that came with
	// it, have expired.
	awaitExpiry()
	// noticed waits until the session has reported a fault that began at a time. On a busy machine,
	// frames that were sent before it still arrive, in a session that is connected as far as it
	// knows: they must not count as a picture after the fault.
	noticed(broken time.Time)
	// awaitPicture fails the test if there is no new picture in a live session within limit.
	awaitPicture(limit time.Duration)
	// ask sends a turn and waits for its answer to be spoken.
	ask(text string, limit time.Duration)
}

func (r *rig) cut(links ...string)  { r.condition("cut", links...) }
func (r *rig) mend(links ...string) { r.condition("none", links...) }

func (r *rig) condition(c string, links ...string) {
	conditions := map[string]string{}
	for _, l := range links {
		conditions[l] = c
	}
	r.service.links(conditions)
}

// session sends a command for the session to the service's control address.
func (r *rig) session(command string, body any) {
	r.control("/sessions/newest/"+command, cmp.Or(body, any(struct{}{})))
}

// restart kills the service; the repair starts it again on the same store.
func restart(r *rig) { r.kill() }

// socket is a lost socket that can't be made again for a while.
func socket(lasts time.Duration, recovery bool) row {
	how := "recovery granted"
	if !recovery {
		how = "recovery refused"
	}
	w := row{
		name: fmt.Sprintf("socket cut for %v, %s", lasts, how), lasts: lasts, quick: lasts == time.Second,
		breaks: func(r *rig) {
			if !recovery {
				r.control("/recovery", map[string]any{"refuseNext": true})
			}
			r.session("drop", nil)
			r.cut("sockets")
		},
		repairs: func(r *rig) { r.mend("sockets") },
	}
	if lasts > 22*time.Second {
		w.ends = fault.ReconnectTimeout
	}
	return w
}

func relay(lasts time.Duration) row {
	return row{
		name: fmt.Sprintf("relay dead for %v", lasts), lasts: lasts,
		breaks:  func(r *rig) { r.cut("relay") },
		repairs: func(r *rig) { r.mend("relay") },
	}
}

func condition(name, c string, links ...string) row {
	return row{
		name: name, lasts: 15 * time.Second,
		breaks:  func(r *rig) { r.condition(c, links...) },
		repairs: func(r *rig) { r.mend(links...) },
	}
}

// expired is a fault after the token and the login to the relay have expired.
func expired(name string, lasts time.Duration, breaks, repairs func(*rig)) row {
	return row{name: name, lasts: lasts, breaks: breaks, repairs: repairs, life: 8 * time.Second, within: comeback}
}

// comeback bounds the time to a picture where a token or a login has expired.
const comeback = 15 * time.Second

// without is a row whose application has no function for new tokens or logins.
func (w row) without(name string, ends fault.Code, change func(*row)) row {
	w.name, w.ends = w.name+", "+name, ends
	change(&w)
	return w
}

func dropSocket(r *rig) { r.session("drop", nil) }
func killMedia(r *rig)  { r.session("kill-media", nil) }
func nothing(*rig)      {}

// expiries breaks a session again and again for two minutes, each time after the token and the
// login have expired: five times its socket, twice the service.
func expiries(r *rig) {
	for n := range 7 {
		r.awaitExpiry()
		broken := time.Now()
		if n%3 == 2 {
			r.kill()
			pause(r.t.Context(), time.Second)
			r.start()
		} else {
			r.session("drop", nil)
		}
		r.noticed(broken)
		r.awaitPicture(comeback)
		r.ask(fmt.Sprintf("What is %d?", n), patience)
	}
}

// whep is a broken picture for which WHEP requests get a response with status, so that each
// rebuild (timeouts.coldAttempts) fails. With 0 there is no response, and a later attempt
// succeeds.
func whep(status int) row {
	name, lasts, ends := fmt.Sprintf("media broken, WHEP answers %d", status), 15*time.Second, fault.ReconnectFailed
	if status == 0 {
		name, lasts, ends = "media broken, WHEP hangs for 6 s", 6*time.Second, ""
	}
	return row{
		name: name, lasts: lasts, ends: ends,
		breaks: func(r *rig) {
			r.answerWHEP(status)
			r.session("kill-media", nil)
		},
		repairs: func(r *rig) { r.restoreWHEP() },
		within:  20 * time.Second,
	}
}

var table = slices.Concat(
	[]row{
		socket(time.Second, true), socket(time.Second, false),
		socket(5*time.Second, true), socket(5*time.Second, false),
		socket(20*time.Second, true), socket(20*time.Second, false),
		socket(40*time.Second, true), socket(40*time.Second, false),
		relay(time.Second), relay(5 * time.Second), relay(15 * time.Second), relay(time.Minute),
		{
			name: "video bytes stopped for 20s", lasts: 20 * time.Second,
			breaks:  func(r *rig) { r.session("stop-video", map[string]any{"stopped": true}) },
			repairs: nothing, // by a new picture, which has bytes
		},
		condition("5 % loss", "loss=5%", "relay"),
		condition("20 % loss", "loss=20%", "relay"),
		condition("50 % loss", "loss=50%", "relay"),
		condition("300 ms delay with 100 ms of jitter", "delay=300ms,jitter=100ms", "relay", "sockets", "http"),
		{
			name: "service killed and started again after 3 s", lasts: 3 * time.Second,
			breaks: restart, repairs: func(r *rig) { r.start() }, within: 20 * time.Second,
		},
	},
	[]row{whep(404), whep(409), whep(500), whep(503), whep(0)},
	[]row{
		expired("token expired, socket dropped", 0, dropSocket, nothing),
		expired("token expired, socket dropped", 0, dropSocket, nothing).
			without("no function for a new token", fault.Unauthorized, func(w *row) { w.noToken = true }),
		expired("relay login expired, media broken", 0, killMedia, nothing),
		expired("relay login expired, media broken", 0, killMedia, nothing).
			without("no function for a new login", fault.MediaRecoverFailed, func(w *row) { w.noLogin, w.mediaLost = true, 20*time.Second }),
		expired("token and relay login expired, service killed and started again after 3 s", 3*time.Second, restart, func(r *rig) { r.start() }),
		{
			name: "tokens and relay logins of 12 s, for two minutes with 5 lost sockets and 2 restarts of the service",
			life: 12 * time.Second, breaks: expiries, repairs: nothing, within: comeback,
		},
	},
	[]row{
		{
			name: "network changed: socket and media break at once", lasts: time.Second, quick: true,
			breaks:  func(r *rig) { r.session("kill-media", nil); r.session("drop", nil); r.cut("sockets", "relay", "http") },
			repairs: func(r *rig) { r.mend("sockets", "relay", "http") },
			within:  20 * time.Second,
		},
		{
			name: "everything at once: links lossy and slow, media broken, service killed", lasts: 4 * time.Second,
			breaks: func(r *rig) {
				r.condition("delay=200ms,jitter=50ms,loss=5%", "sockets", "http", "relay")
				r.session("kill-media", nil)
				r.kill()
			},
			repairs: func(r *rig) { r.start("-link", "delay=200ms,jitter=50ms,loss=5%") },
			within:  30 * time.Second,
		},
	},
)

// outcome is what a row found.
type outcome struct {
	events         []string
	picture, voice time.Duration // after the repair
	seen           sight
	ran            bool
}

func TestFaults(t *testing.T) {
	outcomes := make([]outcome, len(table))
	t.Run("rows", func(t *testing.T) {
		for i, w := range table {
			if !w.quick && !*all {
				continue
			}
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				w.run(t, &outcomes[i])
			})
		}
	})
	text := render(outcomes)
	t.Log("\n" + text)
	if *write != "" && !t.Failed() {
		replaceList(t, *write, text)
	}
}

func (w row) run(t *testing.T, o *outcome) {
	var args []string
	if w.life > 0 {
		args = append(args, "-relay-login", w.life.String())
	}
	s := startService(t, args...)
	v := enter(t, s.Info, w.life, func(o *avatar.Options) {
		if w.noToken {
			o.OnTokenNeeded = nil
		}
		if w.noLogin {
			o.OnRelayNeeded = nil
		}
		if w.mediaLost > 0 {
			o.Limits.MediaLost = w.mediaLost
		}
	})
	r := &rig{service: s, guest: v, t: t}
	must.Do(t, v.Connect(t.Context()))
	opened := v.await(patience, func() bool {
		return slices.ContainsFunc(v.events, func(o occurrence) bool { _, ok := o.event.(event.AvatarStopTalking); return ok })
	})
	if !opened {
		t.Fatal("the agent did not open the conversation")
	}
	r.ask("What is before?", patience)

	r.awaitExpiry()
	broken := time.Now()
	w.breaks(r)
	ctx, cancel := context.WithTimeout(t.Context(), w.lasts+settles)
	defer cancel()
	v.speak(ctx, "What is during?")
	pause(t.Context(), w.lasts) // which is part of the fault's definition
	repaired := time.Now()
	if w.life > 0 {
		r.noticed(broken)
	}
	v.seek(time.Now())
	w.repairs(r)

	within := cmp.Or(w.within, 10*time.Second)
	back, over := v.sighted(settles)
	if !back {
		t.Errorf("neither a picture nor an end within %v: %s", settles, v.story(broken))
		return
	}
	o.ran = true
	var ended fault.Code
	if over {
		v.mu.Lock()
		failed, _ := v.ended()
		v.mu.Unlock()
		if failed != nil {
			ended = failed.Code
			if !strings.Contains(failed.Detail, "connect again") {
				t.Errorf("the error does not say what to do: %v", failed)
			}
		}
	} else {
		o.picture = v.picture.first.Sub(repaired)
		if o.picture > within {
			t.Errorf("picture back after %v, want %v: %s", o.picture, within, v.story(broken))
		}
		// A frame that was sent earlier can arrive before the socket is connected again.
		if !v.await(settles, func() bool { return v.Snapshot().State == avatar.Connected }) {
			t.Errorf("not connected again: %s", v.story(broken))
		}
		asked := time.Now()
		r.ask("What is after?", patience)
		o.voice = time.Since(asked)
	}
	v.speaking.Wait()
	if ended != w.ends {
		t.Errorf("ended with %q, want %q: %s", ended, w.ends, v.story(broken))
	}
	if n := v.falseRepairs(); n > 0 {
		t.Errorf("mediaRecovered %d times without a picture: %s", n, v.story(broken))
	}
	thread := v.Snapshot().ThreadID
	v.mu.Lock()
	o.seen, o.events = v.seen(broken), v.summary(broken)
	renewals := v.renewals
	v.mu.Unlock()
	if w.life > 0 && w.ends == "" && renewals == 0 {
		t.Errorf("no token or login was asked for: nothing was refused: %s", v.story(broken))
	}
	r.awaitExpiry()
	v.Disconnect(session.DisconnectOptions{})
	v.Settle()
	if !over && !v.completed() {
		t.Errorf("the completion was not sent: %s", v.story(broken))
	}
	v.mu.Lock()
	reported := slices.Concat(v.unconfirmed, v.refused)
	v.mu.Unlock()
	times := s.typed(thread)
	texts := []string{"What is before?", "What is during?"}
	if !over {
		texts = append(texts, "What is after?")
	}
	for _, text := range texts {
		if n := times[text]; n > 1 || n == 0 && !slices.Contains(reported, text) {
			t.Errorf("%q is in the thread %d times; reported were %q", text, n, reported)
		}
	}
}

// noticed implements [guest].
func (v *visitor) noticed(broken time.Time) {
	v.t.Helper()
	if !v.await(settles, func() bool { return len(v.summary(broken)) > 0 }) {
		v.t.Errorf("the session did not notice the fault within %v", settles)
	}
}

// seek notes the first picture after a time.
func (v *visitor) seek(from time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.picture.from(from)
}

// sighted waits for that picture in a connected session, or for the session's end.
func (v *visitor) sighted(limit time.Duration) (back, over bool) {
	back = v.await(limit, func() bool {
		_, over = v.ended()
		return over || !v.picture.first.IsZero() && v.Snapshot().State == avatar.Connected
	})
	return back, over
}

// awaitPicture implements [guest].
func (v *visitor) awaitPicture(limit time.Duration) {
	v.t.Helper()
	began := time.Now()
	v.seek(began)
	if back, over := v.sighted(limit); !back || over {
		v.t.Fatalf("no picture within %v: %s", limit, v.story(began))
	}
}

// ask implements [guest].
func (v *visitor) ask(text string, limit time.Duration) {
	v.t.Helper()
	asked := time.Now()
	if sent, err := v.Speak(v.t.Context(), text); !sent || err != nil {
		v.t.Errorf("%q: %v, %v", text, sent, err)
		return
	}
	if !v.await(limit, func() bool { return v.answered(asked) }) {
		v.t.Errorf("%q was not answered within %v: %s", text, limit, v.story(asked))
	}
}

// story is the summary for callers without the lock.
func (v *visitor) story(since time.Time) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return cmp.Or(strings.Join(v.summary(since), ", "), "none")
}

// render returns the list as Markdown.
func render(outcomes []outcome) string {
	var b strings.Builder
	for i, o := range outcomes {
		if !o.ran {
			continue
		}
		fmt.Fprintf(&b, "- **%s**: %s\n", table[i].name, o.seen)
		if o.seen.over == 0 {
			fmt.Fprintf(&b, "  - After the repair: a new picture in %s, the next answer in %s\n", seconds(o.picture), seconds(o.voice))
		}
		if len(o.events) > 0 {
			fmt.Fprintf(&b, "  - Events: %s\n", strings.Join(shortened(o.events), ", "))
		}
	}
	return b.String()
}

// shortened returns a long list without its middle: what is done again and again is seen from its beginning.
func shortened(events []string) []string {
	const first, last = 8, 2
	left := len(events) - first - last
	if left < 2 {
		return events
	}
	return slices.Concat(events[:first], []string{fmt.Sprintf("… (%d more)", left)}, events[len(events)-last:])
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// The list is between these lines.
const (
	listStart = "<!-- make faults writes this list -->\n"
	listEnd   = "<!-- end of the list -->\n"
)

func replaceList(t *testing.T, file, text string) {
	old := must.Get(os.ReadFile(file))(t)
	head, rest, found := bytes.Cut(old, []byte(listStart))
	_, tail, ended := bytes.Cut(rest, []byte(listEnd))
	if !found || !ended {
		t.Fatalf("%s has no list", file)
	}
	day := fmt.Sprintf("\nRun of %s.\n\n", time.Now().Format(time.DateOnly))
	must.Do(t, os.WriteFile(file, slices.Concat(head, []byte(listStart), []byte(day), []byte(text), []byte("\n"), []byte(listEnd), tail), 0o644))
}
