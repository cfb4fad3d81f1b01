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

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
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
	changed     chan struct{}
	speaking    sync.WaitGroup
}

// occurrence is an event with its time.
type occurrence struct {
	at    time.Time
	event avatar.Event
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

// shortGap is not kept: packets come in bursts.
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

// longest is the longest time without a packet.
func (s *stream) longest() (d time.Duration) {
	for _, g := range s.gaps {
		d = max(d, g.to.Sub(g.from))
	}
	return d
}

func (s *stream) from(t time.Time) { s.after, s.first = t, time.Time{} }

// enter makes a session with the agent. Change may alter its options.
func enter(t testing.TB, info localservice.Info, change func(*avatar.Options)) *visitor {
	t.Helper()
	agent, ok := info.Agent("receptionist")
	if !ok {
		t.Fatal("no agent")
	}
	v := &visitor{t: t, http: &client{Transport: fetch.New()}, changed: make(chan struct{})}
	t.Cleanup(func() { v.http.Close() })
	arrive := func(ctx context.Context) (*appinit.Result, error) {
		return appinit.Init(ctx, appinit.Options{
			WidgetID: agent.WidgetID, Client: v.http,
			Config: appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
		})
	}
	init, err := arrive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := avatar.OptionsFor(init)
	o.AllowPrivateHosts = true
	o.MicStart = avatar.MicDeferred
	o.Platform = media.Platform{OnTrack: v.receive}
	o.OnEvent = v.record
	// A service that was started again knows nothing of the relay's earlier logins.
	o.OnRelayNeeded = func(ctx context.Context) (*media.Credentials, error) {
		again, err := arrive(ctx)
		if err != nil {
			return nil, err
		}
		return avatar.OptionsFor(again).TURNCredentials, nil
	}
	o.OnTokenNeeded = func(ctx context.Context) (string, error) {
		again, err := arrive(ctx)
		if err != nil {
			return "", err
		}
		return again.KS, nil
	}
	if change != nil {
		change(&o)
	}
	if v.Session, err = avatar.New(o, avatar.Deps{Fetch: v.http, Send: v.http.Transport}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
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

func (v *visitor) record(e avatar.Event) {
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

// signal wakes those that wait. The caller holds the lock.
func (v *visitor) signal() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// await returns when met is true, which is called with the lock held. It reports
// whether that came in time.
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
func (v *visitor) since(at time.Time) []avatar.Event {
	var events []avatar.Event
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
	return slices.ContainsFunc(v.since(at), func(e avatar.Event) bool {
		stop, ok := e.(avatar.AvatarStopTalking)
		return ok && strings.Contains(stop.Text, "I understand")
	})
}

// ended returns the error of a session that has ended. The caller holds the lock.
func (v *visitor) ended() (err *fault.Error, over bool) {
	for _, o := range v.events {
		switch e := o.event.(type) {
		case avatar.Failed:
			err = e.Error
		case avatar.Ended:
			over = true
		}
	}
	return err, over
}

// falseRepairs counts the repairs of the picture that were reported although nothing
// came for a second around the report.
func (v *visitor) falseRepairs() (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, o := range v.events {
		if e, ok := o.event.(avatar.MediaRecovered); !ok || e.Channel != media.ChannelSTV {
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

// speak sends a typed turn beside what the caller does.
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

// summary is the story of the events after a time: each kind of connection event
// once in a row, with its time.
func (v *visitor) summary(since time.Time) string {
	var story []string
	last := ""
	for _, o := range v.events {
		if !o.at.After(since) {
			continue
		}
		text := ""
		switch e := o.event.(type) {
		case avatar.StateChanged:
			text = string(e.State)
		case avatar.MediaRecovering:
			text = fmt.Sprintf("mediaRecovering (%s)", e.Channel)
		case avatar.MediaRecovered:
			text = fmt.Sprintf("mediaRecovered (%s)", e.Channel)
		case avatar.Reconnected:
			text = fmt.Sprintf("reconnected (recovered: %v)", e.Recovered)
		case avatar.Failed:
			text = "error " + string(e.Error.Code)
		case avatar.ConnectivityChanged:
			if e.State == "recover_failed" {
				text = "recover_failed"
			}
		case avatar.Warning:
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
	if len(story) == 0 {
		return "none"
	}
	return strings.Join(story, ", ")
}
