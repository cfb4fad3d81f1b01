package recognizer

import (
	"context"
	"errors"
	"sync"
	"time"
)

// backlog is how many turns may wait for the transcriber. More cannot be said in the time that one transcription may take.
const backlog = 16

var errBacklog = errors.New("recognizer: the transcriber doesn't keep up")

// Listener listens to one user: it finds turns and has them transcribed, one after the other. Its methods may be called
// concurrently.
type Listener struct {
	transcriber Transcriber
	started     func()
	ended       func(text string, err error)
	turns       chan Turn

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	task   sync.WaitGroup

	mu       sync.Mutex
	detector *Detector
	heard    time.Time // when sound came last
	muted    bool
	zero     []int16 // replaces the sound while muted
}

// NewListener returns a listener. It calls started when the user has begun to speak, except during tap-to-talk, and ended when the user
// has finished, or a tap-to-talk window was closed, with the words, "" for none, or with why they are unknown, such as [ErrNoTranscriber].
// Both must not block and must not call the listener. Nothing is reported after Close, which must be called.
func NewListener(t Transcriber, started func(), ended func(text string, err error)) *Listener {
	l := &Listener{transcriber: t, started: started, ended: ended, turns: make(chan Turn, backlog), detector: &Detector{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.task.Go(l.transcribe)
	return l
}

// Hear takes sound, mono at [Rate].
func (l *Listener) Hear(pcm []int16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = time.Now()
	if l.muted {
		if len(l.zero) < len(pcm) {
			l.zero = make([]int16, len(pcm))
		}
		pcm = l.zero[:len(pcm)]
	}
	l.detector.Feed(pcm, func() { l.report(l.started) }, l.enqueue)
}

// stale is how long after the last sound the user no longer counts as speaking, because the microphone is gone.
const stale = 2 * time.Second

// Speaking reports whether the user is speaking, or a tap-to-talk window is open.
func (l *Listener) Speaking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return (l.detector.speaking || l.detector.tap) && time.Since(l.heard) < stale
}

// Mute replaces the sound by silence, so that speech before the mute still becomes a turn.
func (l *Listener) Mute(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.muted = on
}

// OpenTap begins a tap-to-talk window: everything until CloseTap is one turn, whatever the pauses.
func (l *Listener) OpenTap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.detector.OpenTap()
}

// CloseTap ends the window. With report, its end is reported, even when nothing was said; otherwise the sound is dropped. Without a
// window CloseTap does nothing.
func (l *Listener) CloseTap(report bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.detector.CloseTap(); ok && report {
		l.enqueue(t)
	}
}

// Close drops what has not been transcribed yet.
func (l *Listener) Close() {
	l.cancel()
	l.task.Wait()
	l.mu.Lock() // a report under way has finished
	defer l.mu.Unlock()
}

// enqueue queues a turn for transcription.
func (l *Listener) enqueue(t Turn) {
	select {
	case l.turns <- t:
	default:
		l.report(func() { l.ended("", errBacklog) })
	}
}

func (l *Listener) report(call func()) {
	if l.ctx.Err() == nil {
		call()
	}
}

func (l *Listener) transcribe() {
	for {
		select {
		case t := <-l.turns:
			var text string
			var err error
			if t.Speech > 0 { // otherwise nothing was said in a tap-to-talk window
				text, err = l.transcriber.Transcribe(l.ctx, t.PCM, Rate)
			}
			l.report(func() { l.ended(text, err) })
		case <-l.ctx.Done():
			return
		}
	}
}
