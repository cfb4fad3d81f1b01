package agentruntime

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"github.com/pion/webrtc/v4"
	"go.k6.io/k6/v2/metrics"

	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// Avatar is the AvatarSession of scripts: a live session that receives picture and voice,
// and discards them.
type Avatar struct {
	module  *instance
	options AvatarOptions
	out     sink
	mic     av.Microphone
	bytes   atomic.Int64 // of picture and voice

	mu      sync.Mutex
	session *avatar.Session // nil before connect
	turn    *turn           // the question under way, nil without one
	lost    time.Time       // when the connection was lost, zero while there is one
	live    bool            // connected, and not closed by the script
	free    func()          // ends the session, once
	ended   chan struct{}   // closed when free has ended it
}

func (i *instance) newAvatar(call sobek.ConstructorCall) *sobek.Object {
	a := &Avatar{module: i}
	i.begin(call, &a.options)
	a.out = newSink(i.vu, "avatar", a.options.Tags)
	return i.vu.Runtime().ToValue(a).ToObject(i.vu.Runtime())
}

// Connect opens the session, and resolves when its media can be played, with the milliseconds
// to each phase. It is rejected with the error of appInit or of the connect, with invalid_state
// the second time, and with timeout.
func (a *Avatar) Connect() *sobek.Promise {
	return promise(a.module, func(vu context.Context) (map[string]int64, error) {
		ctx, cancel := a.options.bound(vu)
		defer cancel()
		timings, err := a.connect(ctx, vu)
		m := a.module.meters
		a.out.add(m.sessions, 1)
		a.out.outcome(m.connectFailed, err)
		if err != nil {
			return nil, err
		}
		a.out.add(m.appInit, float64(timings["appInit"]))
		a.out.add(m.connect, float64(timings["connected"]))
		for phase, metric := range map[string]*metrics.Metric{"firstFrame": m.firstFrame, "mediaReady": m.mediaReady} {
			if at, reached := timings[phase]; reached {
				a.out.add(metric, float64(at))
			}
		}
		return timings, nil
	})
}

// connect returns the milliseconds from its call to each phase.
func (a *Avatar) connect(ctx, vu context.Context) (map[string]int64, error) {
	began := time.Now()
	access, err := a.options.access(ctx)
	if err != nil {
		return nil, err
	}
	o := avatar.OptionsFor(access)
	a.options.apply(&o.Options)
	o.AllowPrivateHosts = a.options.AllowPrivateHosts
	o.StatsInterval = a.options.stats()
	o.MicStart = avatar.MicDeferred
	if a.options.Microphone {
		o.MicStart = avatar.MicImmediate
		o.OpenMicrophone = a.mic.Open
	}
	o.OnTrack = a.discard
	o.OnEvent = a.receive
	session, err := avatar.New(o)
	if err != nil {
		return nil, err
	}
	end, err := a.own(session, vu)
	if err != nil {
		session.Close()
		return nil, err
	}
	before := time.Since(began).Milliseconds()
	if err := session.Connect(ctx); err != nil {
		end()
		return nil, err
	}
	a.mu.Lock()
	a.live = true
	a.mu.Unlock()
	timings := map[string]int64{"appInit": before}
	for phase, at := range session.Snapshot().Timings {
		timings[phase] = before + at
	}
	return timings, nil
}

// own makes s the session of a, until the end of the iteration, and returns the function that
// ends it before.
func (a *Avatar) own(s *avatar.Session, vu context.Context) (free func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session != nil {
		return nil, fault.New(fault.InvalidState, "the session was connected before; make another one")
	}
	a.session, a.ended = s, make(chan struct{})
	end := sync.OnceFunc(func() {
		a.mu.Lock()
		a.live = false
		a.mu.Unlock()
		s.Close()
		close(a.ended)
	})
	forget := context.AfterFunc(vu, end)
	a.free = func() { forget(); end() }
	return a.free, nil
}

// discard reads a track to its end and counts its bytes.
func (a *Avatar) discard(track *webrtc.TrackRemote) {
	packet := make([]byte, 1600)
	for {
		n, _, err := track.Read(packet)
		if err != nil {
			return
		}
		a.bytes.Add(int64(n))
	}
}

// receive takes the events of the session.
func (a *Avatar) receive(e event.Event) {
	a.mu.Lock()
	if a.turn != nil && a.turn.receive(e) {
		a.turn = nil
	}
	live := a.live
	a.mu.Unlock()

	m := a.module.meters
	switch e := e.(type) {
	case event.ConnectionQuality:
		channel := string(e.Channel)
		a.out.add(m.rtt, e.RTTMs, "channel", channel)
		a.out.add(m.jitter, e.JitterMs, "channel", channel)
		a.out.add(m.loss, e.PacketLossPct, "channel", channel)
		a.out.add(m.bitrate, e.BitrateKbps, "channel", channel)
	case event.MediaRecovered:
		a.out.add(m.repairs, 1, "method", e.Method)
	case event.Reconnecting:
		stamp(&a.lost) // only events use it, one after another
	case event.Reconnected:
		a.out.add(m.reconnects, 1)
		if !a.lost.IsZero() {
			a.out.add(m.reconnect, ms(time.Since(a.lost)))
		}
		a.lost = time.Time{}
	case event.TurnUnconfirmed:
		a.out.add(m.unconfirmed, 1)
	case event.Warning:
		a.out.add(m.warnings, 1, "code", string(e.Code))
	case event.Ended:
		if live {
			a.out.add(m.sessionsLost, 1, "reason", e.Reason)
		}
	}
}

// Ask sends a typed text, and resolves with the [Answer] when the agent has spoken it. It is
// rejected with invalid_state without a connection or during another question, with stream_error,
// ended and timeout when no answer came, and with the errors of speak() in a page.
func (a *Avatar) Ask(text string) *sobek.Promise {
	return a.ask(func(ctx context.Context, s *avatar.Session) error {
		sent, err := s.Speak(ctx, text)
		if err == nil && !sent {
			err = fault.New(fault.Ended, "the session ended before the text was sent")
		}
		return err
	})
}

// Say speaks a recording into the microphone, and resolves as Ask does. recording has the bytes
// of Opus in Ogg, from open(path, "b"). It is rejected with mic_not_started without the option
// microphone, and with bad_request for other bytes.
func (a *Avatar) Say(recording sobek.ArrayBuffer) *sobek.Promise {
	data := recording.Bytes()
	return a.ask(func(ctx context.Context, s *avatar.Session) error {
		if !s.Snapshot().MicStarted {
			return fault.New(fault.MicNotStarted, "the session needs the option microphone: true")
		}
		source, err := media.Ogg(bytes.NewReader(data))
		if err == nil {
			err = a.mic.Say(ctx, source)
		}
		if err != nil && ctx.Err() == nil {
			return fault.New(fault.BadRequest, "the recording must be Opus in Ogg").Wrap(err)
		}
		return err
	})
}

func (a *Avatar) ask(send func(context.Context, *avatar.Session) error) *sobek.Promise {
	t := newTurn()
	session, err := a.start(t) // before it returns, so that an interrupt can follow
	return promise(a.module, func(vu context.Context) (answer Answer, _ error) {
		ctx, cancel := a.options.bound(vu)
		defer cancel()
		if err == nil {
			answer, err = a.answer(ctx, t, func() error { return send(ctx, session) })
		}
		m := a.module.meters
		a.out.outcome(m.answerFailed, err)
		if err != nil {
			return answer, err
		}
		if answer.Text != "" {
			a.out.add(m.firstText, answer.FirstText)
		}
		if !t.firstSound.IsZero() {
			a.out.add(m.firstSound, answer.FirstSound)
		}
		if !answer.Interrupted {
			a.out.add(m.answer, answer.Duration)
		}
		return answer, nil
	})
}

func (a *Avatar) answer(ctx context.Context, t *turn, send func() error) (Answer, error) {
	defer a.stop(t)
	if err := send(); err != nil {
		return Answer{}, err
	}
	asked := time.Now()
	select {
	case <-t.over:
		t.asked = asked
		return t.answer()
	case <-ctx.Done():
		return Answer{}, fault.New(fault.Timeout, "the agent did not finish an answer in time").Wrap(context.Cause(ctx))
	}
}

// start makes t the question under way.
func (a *Avatar) start(t *turn) (*avatar.Session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.session == nil:
		return nil, fault.New(fault.InvalidState, "the session is not connected")
	case a.turn != nil:
		return nil, fault.New(fault.InvalidState, "a question is under way; wait for its answer, or interrupt it")
	}
	a.turn = t
	return a.session, nil
}

func (a *Avatar) stop(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn == t {
		a.turn = nil
	}
}

// Interrupt silences the agent while it answers; if it does not talk yet, it waits for its first
// sound. It resolves with the milliseconds until the service has confirmed it, and the answer then
// resolves as interrupted. It is rejected with invalid_state when no question is under way, with
// timeout, and with the error of the answer.
func (a *Avatar) Interrupt() *sobek.Promise {
	a.mu.Lock()
	t, session := a.turn, a.session
	a.mu.Unlock()
	return promise(a.module, func(vu context.Context) (float64, error) {
		if t == nil {
			return 0, fault.New(fault.InvalidState, "no question is under way")
		}
		ctx, cancel := a.options.bound(vu)
		defer cancel()
		if err := reach(ctx, t, t.talks); err != nil {
			return 0, err
		}
		began := time.Now()
		if err := session.Interrupt(); err != nil {
			return 0, err
		}
		if err := reach(ctx, t, t.over); err != nil {
			return 0, err
		}
		if !t.interrupted {
			return 0, fault.New(fault.InvalidState, "the answer ended before it could be interrupted")
		}
		took := ms(t.ended.Sub(began))
		a.out.add(a.module.meters.interrupt, took)
		return took, nil
	})
}

// reach waits for a point of t, and returns the error of a turn that ended with one.
func reach(ctx context.Context, t *turn, point <-chan struct{}) error {
	select {
	case <-point:
		return nil
	case <-t.over:
		return t.err
	case <-ctx.Done():
		return fault.New(fault.Timeout, "the agent could not be interrupted in time").Wrap(context.Cause(ctx))
	}
}

// Close ends the conversation, and resolves when its end was reported to the service. It counts
// the media that was received. The end of an iteration does not: samples that are pushed after it
// race with the end of the test, and the type of k6's event IterEnd is internal to k6.
func (a *Avatar) Close() *sobek.Promise {
	return promise(a.module, func(context.Context) (any, error) {
		a.mu.Lock()
		free := a.free
		a.free = func() {}
		a.mu.Unlock()
		if free != nil {
			free()
			a.out.add(a.module.meters.received, float64(a.bytes.Load()))
		}
		return nil, nil
	})
}
