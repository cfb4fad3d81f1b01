package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// visitor is a native session and a record of what it showed.
type visitor struct {
	*avatar.Session
	t    testing.TB
	http *client

	mu          sync.Mutex
	events      []occurrence
	picture     stream
	voice       stream
	unconfirmed []string // texts of typed turns that were reported as such
	refused     []string // texts whose Speak failed
	renewals    int      // how often a new token or login to the relay was asked for
	expires     time.Time
	changed     chan struct{}
	speaking    sync.WaitGroup
}

// occurrence is an event with its time.
type occurrence struct {
	at    time.Time
	event event.Event
}

// stream is the arrival of a track's packets.
type stream struct {
	last  time.Time
	gaps  []gap
	after time.Time // a time of interest
	first time.Time // the first packet after it
}

// gap is a time without packets.
type gap struct{ from, to time.Time }

// shortGap is the longest gap that is ignored, because packets arrive in bursts.
const shortGap = 300 * time.Millisecond

func (s *stream) arrive(now time.Time) {
	if !s.last.IsZero() && now.Sub(s.last) > shortGap {
		s.gaps = append(s.gaps, gap{s.last, now})
	}
	s.last = now
	if s.first.IsZero() && !s.after.IsZero() && now.After(s.after) {
		s.first = now
	}
}

// longest is the longest time without a packet between two times.
func (s *stream) longest(from, to time.Time) (d time.Duration) {
	gaps := s.gaps
	if to.Sub(s.last) > shortGap {
		gaps = append(slices.Clone(gaps), gap{s.last, to})
	}
	for _, g := range gaps {
		if g.to.After(from) {
			d = max(d, g.to.Sub(g.from))
		}
	}
	return d
}

func (s *stream) from(t time.Time) { s.after, s.first = t, time.Time{} }

// enter makes a session with the agent. life, if it is not 0, is the lifetime of its tokens.
// change may alter its options.
func enter(t testing.TB, info localservice.Info, life time.Duration, change func(*avatar.Options)) *visitor {
	t.Helper()
	agent, ok := info.Agent("receptionist")
	if !ok {
		t.Fatal("no agent")
	}
	v := &visitor{t: t, http: &client{HTTPClient: fetch.New()}, changed: make(chan struct{})}
	t.Cleanup(func() { v.http.Close() })
	arrive := func(ctx context.Context) (*appinit.Result, error) {
		o := appinit.Options{
			WidgetID: agent.WidgetID, HTTPClient: fetch.As(v.http),
			Config: appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
		}
		if life > 0 {
			token, expires, err := mint(ctx, v.http, info, agent, life)
			v.mu.Lock()
			v.expires = expires
			v.mu.Unlock()
			if err != nil {
				return nil, err
			}
			o.Token = token
		}
		return appinit.Init(ctx, o)
	}
	again := func(ctx context.Context) (*appinit.Result, error) {
		v.mu.Lock()
		v.renewals++
		v.mu.Unlock()
		return arrive(ctx)
	}
	init := must.Get(arrive(t.Context()))(t)
	o := avatar.OptionsFor(init)
	o.AllowPrivateHosts = true
	o.MicStart = avatar.MicDeferred
	o.Platform = media.Platform{OnTrack: v.receive}
	o.OnEvent = v.record
	// A restarted service does not accept the relay's earlier logins.
	o.OnRelayNeeded = func(ctx context.Context) (*appinit.TURNCredentials, error) {
		init, err := again(ctx)
		if err != nil {
			return nil, err
		}
		return avatar.OptionsFor(init).TURNCredentials, nil
	}
	o.OnTokenNeeded = func(ctx context.Context) (string, error) {
		init, err := again(ctx)
		if err != nil {
			return "", err
		}
		return init.KS, nil
	}
	if change != nil {
		change(&o)
	}
	o.HTTPClient = fetch.As(v.http)
	v.Session = must.Get(avatar.New(o))(t)
	t.Cleanup(v.Close)
	return v
}

// mint makes a token of a visitor that lives for a while, as a page's own server does.
func mint(ctx context.Context, client fetch.Client, info localservice.Info, agent localservice.AgentInfo, life time.Duration) (token string, expires time.Time, err error) {
	expires = time.Now().Add(life + time.Second) // the service counts whole seconds
	err = fetch.Call(ctx, client, &fetch.Request{
		URL: info.OVPURL + "/service/session/action/start",
		Body: fetch.Form(map[string]string{
			"format": "1", "secret": info.AdminSecret, "partnerId": fmt.Sprint(info.PartnerID), "type": "0", "userId": "visitor",
			"expiry": fmt.Sprint(int(life.Seconds())), "privileges": "agentid:" + agent.AgentID,
		}),
	}, &token)
	return token, expires, err
}

// awaitExpiry implements [guest].
func (v *visitor) awaitExpiry() {
	v.mu.Lock()
	at := v.expires
	v.mu.Unlock()
	pause(v.t.Context(), time.Until(at))
}

func (v *visitor) receive(track *webrtc.TrackRemote) {
	s := &v.voice
	if track.Kind() == webrtc.RTPCodecTypeVideo {
		s = &v.picture
	}
	for {
		if _, _, err := track.ReadRTP(); err != nil {
			return
		}
		v.mu.Lock()
		s.arrive(time.Now())
		v.signal()
		v.mu.Unlock()
	}
}

func (v *visitor) record(e event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events = append(v.events, occurrence{time.Now(), e})
	if e.Name() == "turnUnconfirmed" {
		data, _ := json.Marshal(e) // an event has a JSON form
		var turn struct{ Text string }
		_ = json.Unmarshal(data, &turn)
		v.unconfirmed = append(v.unconfirmed, strings.Split(turn.Text, "\n")...)
	}
	v.signal()
}

// signal wakes all waiting calls of await. The caller must hold the lock.
func (v *visitor) signal() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// await waits until met, which is called with the lock held, returns true. It reports
// whether that happened within limit.
func (v *visitor) await(limit time.Duration, met func() bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		v.mu.Lock()
		done, changed := met(), v.changed
		v.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}

// since returns the events after a time. The caller holds the lock.
func (v *visitor) since(at time.Time) []event.Event {
	var events []event.Event
	for _, o := range v.events {
		if o.at.After(at) {
			events = append(events, o.event)
		}
	}
	return events
}

// answered reports whether an answer was spoken to its end after a time. The caller
// holds the lock.
func (v *visitor) answered(at time.Time) bool {
	return slices.ContainsFunc(v.since(at), func(e event.Event) bool {
		stop, ok := e.(event.AvatarStopTalking)
		return ok && strings.Contains(stop.Text, "I understand")
	})
}

// ended returns the error of a session that has ended. The caller holds the lock.
func (v *visitor) ended() (err *fault.Error, over bool) {
	for _, o := range v.events {
		switch e := o.event.(type) {
		case event.Failed:
			err = e.Error
		case event.Ended:
			over = true
		}
	}
	return err, over
}

// sight is what a visitor could notice of a fault.
type sight struct {
	still   time.Duration // the longest time without a picture
	waiting time.Duration // how long the session was reconnecting, which a page shows
	noVideo bool          // the session reported that there is no picture
	refused int           // texts that were not taken
	doubt   int           // turns that the session reported as possibly lost
	over    time.Duration // when the session ended; 0 for one that went on
	why     *fault.Error
}

// seen is what was observed since a fault began. The caller holds the lock.
func (v *visitor) seen(began time.Time) sight {
	s := sight{refused: len(v.refused), doubt: len(v.unconfirmed)}
	now := time.Now()
	var since time.Time // of reconnecting
	for _, o := range v.events {
		if o.at.Before(began) {
			continue
		}
		switch e := o.event.(type) {
		case avatar.StateChanged:
			if !since.IsZero() {
				s.waiting += o.at.Sub(since)
			}
			since = time.Time{}
			if e.State == avatar.ReconnectingState {
				since = o.at
			}
		case event.Warning:
			s.noVideo = s.noVideo || e.Code == fault.MediaNoVideo
		case event.Failed:
			s.why = e.Error
		case event.Ended:
			s.over, now = o.at.Sub(began), o.at
		}
	}
	s.still = v.picture.longest(began, now)
	return s
}

// String is s in plain words.
func (s sight) String() string {
	var words []string
	add := func(noticed bool, format string, args ...any) {
		if noticed {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	noticed := s.still >= time.Second/2
	add(noticed, "The picture stands still for %s.", seconds(s.still))
	add(s.waiting > 0 && !noticed, "The picture goes on.")
	add(s.waiting > 0, "For %s the page shows that it reconnects.", seconds(s.waiting))
	add(s.noVideo, "The page says that the picture is missing.")
	add(s.refused > 0, "A text that is sent meanwhile is not taken.")
	add(s.doubt > 0, "The page says that a text may not have arrived.")
	if s.over > 0 {
		reason := "ends"
		if s.why != nil {
			reason = fmt.Sprintf("ends with `%s`: “%s”", s.why.Code, s.why.Detail)
		}
		add(true, "After %s the conversation %s.", seconds(s.over), reason)
	}
	if len(words) == 0 {
		return "The visitor notices nothing."
	}
	return strings.Join(words, " ")
}

// TestWhatIsSeenInWords holds the words against observations.
func TestWhatIsSeenInWords(t *testing.T) {
	why := fault.New(fault.ReconnectTimeout, "connect again")
	for want, s := range map[string]sight{
		"The visitor notices nothing.": {still: 400 * time.Millisecond},
		"The picture goes on. For 1.0 s the page shows that it reconnects. A text that is sent meanwhile is not taken.":                                                                                               {waiting: time.Second, refused: 1},
		"The picture stands still for 5.4 s. The page says that the picture is missing. The page says that a text may not have arrived. After 6.0 s the conversation ends with `reconnect_timeout`: “connect again”.": {still: 5400 * time.Millisecond, noVideo: true, doubt: 2, over: 6 * time.Second, why: why},
	} {
		expect.Equal(t, s.String(), want, "%+v is", s)
	}
}

// completed reports whether the service was told of the end.
func (v *visitor) completed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.ContainsFunc(v.events, func(o occurrence) bool {
		e, ok := o.event.(event.SessionCompleted)
		return ok && e.Sent
	})
}

// falseRepairs counts the repairs of the picture that were reported although no packet
// arrived from half a second before until half a second after the report.
func (v *visitor) falseRepairs() (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, o := range v.events {
		if e, ok := o.event.(event.MediaRecovered); !ok || e.Channel != event.ChannelSTV {
			continue
		}
		if slices.ContainsFunc(v.picture.gaps, func(g gap) bool {
			return g.from.Before(o.at.Add(-time.Second/2)) && g.to.After(o.at.Add(time.Second/2))
		}) {
			n++
		}
	}
	return n
}

// speak sends a typed turn in the background.
func (v *visitor) speak(ctx context.Context, text string) {
	v.speaking.Go(func() {
		sent, err := v.Speak(ctx, text)
		if sent && err == nil {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.refused = append(v.refused, text)
		v.signal()
	})
}

// summary lists the connection events after a time, with their times; repetitions of one kind
// in a row are listed once. The caller holds the lock.
func (v *visitor) summary(since time.Time) (story []string) {
	last := ""
	for _, o := range v.events {
		if !o.at.After(since) {
			continue
		}
		text := ""
		switch e := o.event.(type) {
		case avatar.StateChanged:
			text = string(e.State)
		case event.MediaRecovering:
			text = fmt.Sprintf("mediaRecovering (%s)", e.Channel)
		case event.MediaRecovered:
			text = fmt.Sprintf("mediaRecovered (%s)", e.Channel)
		case event.Reconnected:
			text = fmt.Sprintf("reconnected (recovered: %v)", e.Recovered)
		case event.Failed:
			text = "error " + string(e.Error.Code)
		case event.ConnectivityChanged:
			if e.State == "recover_failed" {
				text = "recover_failed"
			}
		case event.Warning:
			text = "warning " + string(e.Code)
		default:
			if o.event.Name() == "turnUnconfirmed" {
				text = "turnUnconfirmed"
			}
		}
		if text == "" || text == last {
			continue
		}
		last = text
		story = append(story, fmt.Sprintf("%s %.1f s", text, o.at.Sub(since).Seconds()))
	}
	return story
}
