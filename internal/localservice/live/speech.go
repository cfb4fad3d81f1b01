package live

import (
	"context"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

const (
	// captionLead is how long before its sound a caption chunk is sent
	// (protocol §4.6 and appendix D).
	captionLead = 400 * time.Millisecond
	// silentOpening is how long a silent opening turn takes (protocol §7.6).
	silentOpening = 500 * time.Millisecond
	// sentinelMs is the duration of a chunk that is no caption (protocol §4.6).
	sentinelMs = 1
	// lookAhead bounds how much finished sound waits to be played, so that a long
	// answer costs the memory of seconds and not of minutes.
	lookAhead = 20 * time.Second
)

// speech is one utterance: everything said under one speechId. At most one is
// active in a session; what belongs to any other is dropped (protocol
// §7.2). The session goroutine owns it.
type speech struct {
	id     string
	turnID string
	by     trigger
	asked  string // what the user said, "" for the agent's own lines
	cause  string // what began the turn, as the brain sees it

	screen, camera []byte // stills for the question, nil for none

	receipts []*receipt // of what was typed
	replaces *speech    // the utterance whose question was merged into this one, nil for none
	question string     // id of the question in the thread; only the asker may use it until stored is closed

	ctx    context.Context // ends the brain and the voice
	cancel context.CancelFunc

	// The brain's side.
	outcome   chan outcome  // receives one value when the utterance is over
	stored    chan struct{} // closed when the thread has what was played
	split     splitter
	answered  bool      // the brain is done, or was not involved
	turnEnded bool      // agent_end_turn was sent
	held      []message // events that wait for the first sound, in order

	// The voice's side.
	sentences []string // not voiced yet
	said      []string // announced by generatingSpeech
	sounding  []string // those of said whose sound was queued; a voice may fail
	voicing   bool
	generated bool // stvFinishedGenerating was sent

	// The playout's side.
	silent bool // a silent line: it takes time, without sound
	chunks []chunk
	next   int       // first chunk that was not sent
	clips  []clipAt  // sound that was not played to its end
	end    time.Time // when the last sound will have been played
	tick   *timer
}

// chunk is a caption with the time at which its sound plays.
type chunk struct {
	text     string
	at       time.Time
	duration time.Duration
}

// clipAt is the sound of a sentence with the time at which it begins.
type clipAt struct {
	at    time.Time
	sound *voice.Speech
}

// message is an event that waits to be sent.
type message struct {
	name    string
	payload any
}

// thinking reports whether nothing was spoken yet: what the user adds now is merged
// into the question.
func (p *speech) thinking() bool {
	return !p.answered && len(p.said) == 0 && len(p.sentences) == 0
}

// awaitsSound reports whether a sentence is on its way to the voice and none
// was played yet.
func (p *speech) awaitsSound() bool {
	return p.next == 0 && (p.voicing || len(p.sentences) > 0)
}

// spoken returns the text that has been played at now. Of a chunk that is still
// playing, the share of its words is the share of its time that has passed.
func (p *speech) spoken(now time.Time) string {
	var words []string
	for _, c := range p.chunks {
		heard := now.Sub(c.at)
		if heard <= 0 {
			break
		}
		w := strings.Fields(c.text)
		if heard < c.duration {
			w = w[:int(float64(len(w))*float64(heard)/float64(c.duration))]
		}
		words = append(words, w...)
	}
	return strings.Join(words, " ")
}

// add queues sentences for the voice.
func (p *speech) add(sentences ...string) {
	for _, text := range sentences {
		if text != "" {
			p.sentences = append(p.sentences, text)
		}
	}
}

// complete reports whether everything that will be said has been voiced.
func (p *speech) complete() bool {
	return p.answered && !p.voicing && len(p.sentences) == 0
}

func (s *Session) newSpeech(by trigger, asked string) *speech {
	p := &speech{
		id: newSpeechID(by, asked), by: by, asked: asked, cause: by.brain(),
		outcome: make(chan outcome, 1), stored: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(s.ctx)
	return p
}

// line lets the agent say text without asking the brain: the opening, a replay, a
// check-in, a goodbye. A silent line takes time too, because the client holds typed
// text until it ends (protocol §7.6 and §7.7).
func (s *Session) line(by trigger, text string) {
	p := s.newSpeech(by, "")
	p.answered, p.turnEnded, p.generated = true, true, true
	s.active = p
	text = strings.TrimSpace(text)
	if text == "" || text == signaling.SilentOpening {
		s.emit(signaling.GeneratingSpeech, signaling.Sentence{Text: signaling.SilentOpening, SpeechID: p.id})
		p.silent = true
		p.chunks = []chunk{{at: time.Now(), duration: silentOpening}}
		p.end = time.Now().Add(silentOpening)
	} else {
		p.add(p.split.add(text)...)
		p.add(p.split.flush())
	}
	s.step(p)
}

// step advances the utterance as far as possible: it sends captions that are due and
// the events that waited for them, voices the next sentence, and ends the turn and
// the utterance. Every change of an utterance is followed by a call of step.
func (s *Session) step(p *speech) {
	if p != s.active {
		return
	}
	now := time.Now()
	for p.next < len(p.chunks) && !p.chunks[p.next].at.Add(-captionLead).After(now) {
		s.caption(p, p.chunks[p.next])
		p.next++
	}
	for len(p.clips) > 0 && !p.clips[0].at.Add(p.clips[0].sound.Duration()).After(now) {
		p.clips = p.clips[1:]
	}
	s.voiceNext(p, now)
	if p.answered && !p.turnEnded {
		p.turnEnded = true
		s.send(p, waits, signaling.AgentEndTurn, signaling.EndTurn{SpeechID: p.id, TurnID: p.turnID})
	}
	if p.complete() && !p.generated {
		p.generated = true
		if len(p.said) > 0 {
			s.send(p, waits, signaling.StvFinishedGenerating, signaling.FinishedGenerating{SpeechID: p.id})
		}
	}
	s.release(p)

	p.tick.stop()
	switch {
	case p.next < len(p.chunks):
		p.tick = s.after(p.chunks[p.next].at.Add(-captionLead).Sub(now), func() { s.step(p) })
	case p.end.After(now):
		p.tick = s.after(p.end.Sub(now), func() { s.step(p) })
	case p.complete():
		s.finish(p)
	}
}

// voiceNext voices the next sentence; one at a time, so that they come in
// order.
func (s *Session) voiceNext(p *speech, now time.Time) {
	if p.voicing || len(p.sentences) == 0 || p.end.Sub(now) > lookAhead {
		return
	}
	text := p.sentences[0]
	p.sentences = p.sentences[1:]
	p.said = append(p.said, text)
	p.voicing = true
	how := s.manner()
	s.emit(signaling.GeneratingSpeech, signaling.Sentence{Text: text, SpeechID: p.id})
	s.spawn(func() {
		sound, err := s.cfg.Voice.Speak(p.ctx, text, how)
		s.post(func() {
			if p == s.active {
				s.voiced(p, text, sound, err)
			}
		})
	})
}

// manner is how the agent's avatar speaks.
func (s *Session) manner() voice.Manner {
	a := s.profile.Avatar
	if a == nil {
		return voice.Manner{}
	}
	return voice.Manner{Name: a.VoiceName, ID: a.VoiceID, Language: a.VoiceLanguage, Speed: a.Speed}
}

// voiced queues the sound of a sentence behind what is playing, late enough
// that its captions come before it.
func (s *Session) voiced(p *speech, text string, sound *voice.Speech, err error) {
	p.voicing = false
	if err != nil || len(sound.PCM) == 0 {
		s.log.Warn("the voice made no sound", "err", err)
		s.step(p)
		return
	}
	p.sounding = append(p.sounding, text)
	now := time.Now()
	quiet := later(p.end, now)                  // when the stream falls silent
	start := later(quiet, now.Add(captionLead)) // when this sound begins
	s.play(start.Sub(quiet), sound)
	p.clips = append(p.clips, clipAt{start, sound})
	p.end = start
	for _, c := range sound.Chunks {
		p.chunks = append(p.chunks, chunk{text: c.Text, at: p.end, duration: c.Duration})
		p.end = p.end.Add(c.Duration)
	}
	s.debug(signaling.DebugStvTask, signaling.StvTask{
		Text: text, SpeechID: p.id, Duration: int(p.end.Sub(start).Milliseconds()),
	})
	s.step(p)
}

// caption sends a chunk, and after the first one reports that the agent talks.
func (s *Session) caption(p *speech, c chunk) {
	ms := float64(c.duration) / float64(time.Millisecond)
	if p.silent {
		ms = sentinelMs
	}
	s.emit(signaling.StvSpeechChunk, signaling.SpeechChunk{Text: c.text, SpeechID: p.id, DurationMs: ms})
	if p.next == 0 {
		s.emit(signaling.StvStartedTalking, signaling.Empty{})
		s.debugState("AgentTalking", "Idle")
	}
}

// waits marks an event that belongs after the first sound (protocol §7.5).
const waits = true

// send emits an event of an utterance, or holds it while the first sound is awaited:
// with a fast brain the answer would otherwise end before the agent speaks. Order is
// kept.
func (s *Session) send(p *speech, wait bool, name string, payload any) {
	if len(p.held) > 0 || wait && p.awaitsSound() {
		p.held = append(p.held, message{name, payload})
		return
	}
	s.emit(name, payload)
}

// release sends the held events when no sound is awaited any more.
func (s *Session) release(p *speech) {
	if p.awaitsSound() {
		return
	}
	for _, m := range p.held {
		s.emit(m.name, m.payload)
	}
	p.held = nil
}

// finish ends an utterance that was played to its end.
func (s *Session) finish(p *speech) {
	s.drop(p, outcome{kept: true})
	if len(p.said) > 0 || p.silent {
		s.emit(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: strings.Join(p.sounding, " ")})
	}
	s.debugState("Idle", "Idle")
	s.afterSpeech(p)
}

// drop ends p: its brain, voice and timer stop, and none of its events is sent any
// more.
func (s *Session) drop(p *speech, f outcome) {
	s.active = nil
	p.cancel()
	p.outcome <- f
	p.tick.stop()
	if len(p.said) > 0 {
		s.lastLine = strings.Join(append(p.said, p.sentences...), " ")
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
