package avatar

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// receive handles one event of the socket of conn.
func (s *Session) receive(conn *connection, ev socketio.Event) {
	switch ev.Kind {
	case socketio.Connected:
		s.socketUp(conn, ev.Recovered)
	case socketio.Disconnected:
		s.socketDown(conn, ev.Reason)
	case socketio.ConnectError:
		s.connectError(conn, ev.Err)
	case socketio.Reconnecting:
		conn.attempt = ev.Attempt
		s.core.Emit(event.ConnectivityChanged{Channel: "socket", State: string(event.ReconnectRetry), Attempt: ev.Attempt, MaxAttempts: s.maxAttempts(ev.Attempt)})
	case socketio.ReconnectFailed:
		s.handle(socketSpent, cause{})
	case socketio.Message:
		s.message(conn, ev)
	}
}

// message handles one event of protocol §4. Unknown events are ignored.
func (s *Session) message(conn *connection, ev socketio.Event) {
	if e := fatal(ev); e != nil {
		s.handle(serviceFatal, cause{fatal: e})
		return
	}
	switch ev.Name {
	case signaling.AvailabilityResult:
		a := decode[signaling.Availability](ev)
		s.core.Emit(event.CapacityChanged{Available: a.Available, Details: a.Details})
		s.askCapacityAgain(conn, a.Available)
	case signaling.ASRError:
		if s.running == nil { // otherwise the handshake reports it
			s.core.Log("warn", "the service lost the microphone: "+converse.Clean(decode[signaling.PeerError](ev).Error), nil)
			s.handle(peerLost, cause{channel: event.ChannelASR, reason: "error"})
		}
	case signaling.ASRServerCandidate:
		if conn.publisher != nil {
			conn.publisher.AddCandidate(decode[signaling.ServerCandidate](ev))
		}
	case signaling.VoiceOffer:
		s.acceptVoice(conn, decode[signaling.Offer](ev).Offer)
	case signaling.VoiceCandidate:
		if conn.voice != nil {
			conn.voice.AddCandidate(decode[signaling.ClientCandidate](ev).Candidate)
		}
	case signaling.VoiceError:
		s.core.Warning(event.Warning{Code: fault.MediaAttachFailed, Kind: "audio", Detail: converse.Clean(decode[signaling.PeerError](ev).Error)})
	case signaling.AgentRawText:
		s.segment(decode[signaling.RawText](ev))
	case signaling.AgentStartSpeech:
		s.speechStarts(decode[signaling.StartSpeech](ev))
	case signaling.AgentEndTurn:
		end := decode[signaling.EndTurn](ev)
		s.inOrder(func() { s.turnEnds(end.SpeechID, end.TurnID) })
	case signaling.StvFinishedGenerating:
		id := decode[signaling.FinishedGenerating](ev).SpeechID
		s.inOrder(func() { s.turnEnds(id, "") })
	case signaling.GeneratingSpeech:
		s.sentence(decode[signaling.Sentence](ev))
	case signaling.StvSpeechChunk:
		s.chunk(decode[signaling.SpeechChunk](ev))
	case signaling.StvStartedTalking:
		s.startsTalking()
	case signaling.StvFinishedTalking:
		s.finishedTalking(decode[signaling.FinishedTalking](ev))
	case signaling.AgentTurnToTalk:
		s.userTurn(decode[signaling.TurnToTalk](ev))
	case signaling.AgentInterrupted:
		s.interrupted()
	case signaling.UserStartedTalking:
		s.noteActivity()
		s.core.Stall.Disarm()
		s.turn.answered = false
		s.core.Emit(event.UserStartedTalking{})
	case signaling.SmartTurnStatus:
		t := decode[signaling.SmartTurn](ev)
		s.core.Emit(event.SmartTurnStatus{Status: converse.Clean(t.Status), TimeoutMs: t.TimeoutMs, Probability: t.Probability})
	default:
		s.lifecycleEvent(ev)
	}
}

// lifecycleEvent handles the events of protocol §4.8.
func (s *Session) lifecycleEvent(ev socketio.Event) {
	switch ev.Name {
	case signaling.ConversationTimeWarning:
		s.core.Emit(event.TimeWarning{RemainingTime: decode[signaling.TimeWarning](ev).RemainingTime})
	case signaling.ConversationTimeExpired:
		s.core.Emit(event.TimeExpired{})
	case signaling.ConversationEnded:
		s.endedByService()
	case signaling.StvTaskFail:
		s.core.Emit(event.Failed{Error: fault.New(fault.STVTaskFail, "the service's video engine failed")})
	case signaling.PauseSessionExpired:
		s.handle(pauseOver, cause{}) // the service freed the media (protocol §7.9)
		s.core.Emit(event.TimeExpired{Type: "pause_expiry"})
	case signaling.SessionReadyForResume:
		// It follows pauseSessionExpired; the media may have been made again in between.
		if s.lifecycle.paused {
			s.handle(pauseOver, cause{})
		}
		s.core.Emit(event.ResumeReady{Ready: true})
	case signaling.ResumingSession:
		if s.phase == live {
			s.setPhase(announced)
			s.lifecycle.confirm.Stop()
			s.lifecycle.confirm = s.core.After(s.opts.Limits.Recover, s.resumedSilently)
		}
	case signaling.ConversationResumed:
		if s.phase == announced {
			s.setPhase(live)
		}
		if s.lifecycle.paused && s.running == nil {
			return // it confirms an earlier resume; the session is paused again
		}
		s.outbox.flush()
		s.core.Emit(event.Resumed{})
	}
}

// resumedSilently ends the state resuming if the service announced a resume and
// never confirmed it. A call of Resume ends its own.
func (s *Session) resumedSilently() {
	if s.phase == announced {
		s.setPhase(live)
		s.outbox.flush()
	}
}

// speechStarts handles agent_start_speech (protocol §4.5).
func (s *Session) speechStarts(p signaling.StartSpeech) {
	if p.IsNewTurn {
		s.turn.captions.newTurn(p.SpeechID)
	}
	s.turn.turns.add(p.SpeechID, p.TurnID)
	s.core.Stall.Arm()
	s.inOrder(func() {
		s.turn.cut = ""
		s.core.Turns.Begin(p.TurnID, p.SpeechID, p.IsNewTurn)
		s.core.Tools.NewSpeech()
		if p.IsNewTurn {
			s.core.Tools.NewTurn()
			s.turn.answered, s.answer.perceived = false, false
		}
		s.turn.ended = slices.DeleteFunc(s.turn.ended, func(id string) bool { return id == p.SpeechID })
		s.core.Emit(event.TurnStarted{SpeechID: &p.SpeechID, TurnID: p.TurnID, IsNewTurn: p.IsNewTurn})
	})
}

// turnEnds reports the end of a turn once: the service sends two events for it, in
// either order.
func (s *Session) turnEnds(speechID, turnID string) {
	s.over(speechID)
	if slices.Contains(s.turn.ended, speechID) {
		return
	}
	if speechID != "" {
		s.turn.ended = append(s.turn.ended[max(0, len(s.turn.ended)-maxEnded+1):], speechID)
	}
	s.show(s.answer.widgets.End())
	s.core.Emit(event.TurnEnded{SpeechID: &speechID, TurnID: cmp.Or(turnID, s.turn.turns.of(speechID))}) // stvFinishedGenerating does not name it
	s.core.Turns.TextEnded(speechID)
	if !s.answer.perceived && !strings.HasSuffix(speechID, signaling.SuffixOpening) { // which is no turn of the brain
		s.core.TurnWasEmpty(s.core.Vars)
	}
}

// maxEnded is how many ended turns are remembered: turns overlap, so that reports of
// other turns may arrive between the two reports of one.
const maxEnded = 16

// segment handles one delta of the brain (protocol §4.4).
func (s *Session) segment(raw signaling.RawText) {
	seg := parseDelta(raw)
	s.core.AdoptThread(&seg)
	s.inOrder(func() {
		// A refused segment is dropped whole (protocol §10.7).
		action := actionOf(&seg)
		if action.Type == "" && seg.Type == converse.WidgetPiece && s.actions.refused {
			return // a later part of a widget that was refused
		}
		s.ifAllowed(action, func() { s.applySegment(&seg) })
	})
}

// applySegment applies a segment that the policy and the application allow.
func (s *Session) applySegment(seg *converse.Segment) {
	s.core.Turns.Segment(seg)
	switch seg.Type {
	case converse.Think:
		if !seg.IsFinal {
			s.awaits()
		}
	case "", converse.Keepalive:
	default:
		s.answers(seg.SpeechID)
	}
	switch seg.Type {
	case converse.Tool:
		s.core.Tools.Segment(seg)
		s.countTool()
	case converse.ToolResponse:
		if call, ok := s.core.Tools.Response(seg); ok {
			s.ifAllowed(actionOfCall(call), func() { s.core.Tools.Run(call) })
		}
	case converse.Interruption:
		s.core.Tools.Consent(seg)
	}
	if perceivable(seg) {
		s.perceived()
	}
	s.core.Emit(event.BrainSegment{Segment: *seg})
	s.show(s.answer.widgets.Add(seg))
}

// show emits the widgets that are complete, and those that can't be read.
func (s *Session) show(widgets []converse.Widget) {
	for _, w := range widgets {
		s.core.Emit(event.WidgetShown{Widget: w})
	}
}

// parseDelta reads a delta; anything but a JSON object is text
// (protocol §4.4).
func parseDelta(raw signaling.RawText) converse.Segment {
	if raw.Delta == "" {
		return converse.Segment{} // nothing, or no string at all
	}
	seg, ok := converse.Decode([]byte(raw.Delta))
	if !ok {
		seg = converse.Segment{Role: "assistant", Type: converse.Text, Content: converse.Clean(raw.Delta)}
	}
	seg.Cut()
	seg.SpeechID = cmp.Or(seg.SpeechID, raw.SpeechID)
	return seg
}

// perceivable reports whether a visitor sees or hears seg
// (protocol §4.4.2).
func perceivable(seg *converse.Segment) bool {
	runtime, _ := seg.Runtime()
	return seg.Type.Spoken() || converse.KnownRuntime(runtime) && runtime != converse.RuntimeUserPropertiesForm
}

// sentence handles generatingSpeech (protocol §4.6).
func (s *Session) sentence(p signaling.Sentence) {
	s.turn.captions.adopt(p.SpeechID)
	s.turn.captions.silent = silentOpening(p.Text, p.SpeechID)
	if s.core.Turns.Announced(p.SpeechID) {
		s.media.WatchSpeech(true)
	}
	if strings.HasSuffix(p.SpeechID, signaling.SuffixWakeUp) || strings.HasSuffix(p.SpeechID, signaling.SuffixGoodbye) {
		s.turn.uninterruptible = true
	}
	s.core.Emit(event.Transcript{Type: "final", Text: spokenLabel(p.Text, p.SpeechID), SpeechID: &p.SpeechID})
}

// chunk handles stvSpeechChunk (protocol §7.3 and §7.4).
func (s *Session) chunk(p signaling.SpeechChunk) {
	if p.Text != "" { // the last chunk of a spoken opening may be empty, which does not make it a silent one
		p.Text = spokenLabel(p.Text, p.SpeechID)
	}
	s.core.Emit(event.SpeechChunk{Text: p.Text, DurationMs: p.DurationMs, SpeechID: p.SpeechID})
	if words, ok := s.turn.captions.take(p); ok {
		s.core.Emit(event.Transcript{Type: "partial", Text: p.Text, SpeechID: &p.SpeechID, Words: words})
	}
}

// startsTalking handles stvStartedTalking (protocol §4.6). An opening that is not
// spoken has the same events as one that is, and only its end is reported, with the label of
// session §O13.
func (s *Session) startsTalking() {
	id := s.turn.captions.speechID
	s.noteActivity()
	s.core.Stall.Disarm()
	s.answers(id)
	if !s.cuts(id) {
		s.outbox.show()
	}
	if s.turn.captions.silent {
		return
	}
	s.turn.speaking, s.turn.talkingSince = true, time.Now()
	s.answer.perceived = true
	s.core.Emit(event.AvatarStartTalking{Utterance: s.utterance(id)})
}

func (s *Session) finishedTalking(p signaling.FinishedTalking) {
	id := s.turn.captions.speechID
	s.turn.speaking = false
	silent := s.turn.captions.silent
	s.turn.captions.finish()
	s.noteActivity()
	s.endUninterruptible()
	if !silent {
		s.core.Audit("turn.avatar_spoke", "done", "")
	}
	s.core.Emit(event.AvatarStopTalking{Text: spokenLabel(p.AgentContent, id), Utterance: s.utterance(id)})
	s.core.Turns.SpeechEnded(id, s.turn.talkingSince)
	s.turn.talkingSince = time.Time{}
}

// utterance returns the ids of an utterance for an event.
func (s *Session) utterance(speechID string) event.Utterance {
	return event.Utterance{SpeechID: speechID, TurnID: s.turn.turns.of(speechID)}
}

// utteranceTurns has the turns of the newest utterances, the newest last: the service names
// the turn of an utterance only at its beginning and its end.
type utteranceTurns []event.Utterance

func (u *utteranceTurns) add(speechID, turnID string) {
	*u = append((*u)[max(0, len(*u)-maxEnded+1):], event.Utterance{SpeechID: speechID, TurnID: turnID})
}

// of returns the turn of an utterance, "" for one that belongs to no turn.
func (u utteranceTurns) of(speechID string) string {
	for _, one := range slices.Backward(u) {
		if one.SpeechID == speechID {
			return one.TurnID
		}
	}
	return ""
}

func (s *Session) interrupted() {
	s.turn.speaking = false
	s.answer.perceived = true // a turn that was cut is not an empty one
	s.answer.widgets.Discard()
	s.over(s.turn.captions.speechID)
	s.turn.captions.interrupt()
	s.endUninterruptible()
	s.core.Emit(event.Interrupted{})
	s.core.Turns.Interrupted(s.turn.talkingSince)
}

// userTurn handles agentTurnToTalk (protocol §4.7).
func (s *Session) userTurn(p signaling.TurnToTalk) {
	s.noteActivity()
	s.turn.cut = ""
	s.awaits()
	s.core.Stall.Arm()
	text := converse.Clean(p.UserTranscription)
	if text == "" {
		return
	}
	s.core.Turns.Transcript()
	s.turn.lastText = text
	s.core.Audit("turn.user_captured", "done", "")
	if text = s.cutEcho(s.outbox.repeated(text)); text != "" {
		s.core.Emit(event.Transcript{Type: "user", Text: text})
	}
}

// spokenLabel cleans text; a silent opening is shown as a label that an
// application can hide (session §O13).
func spokenLabel(text, speechID string) string {
	if silentOpening(text, speechID) {
		return SilentOpeningLabel
	}
	return converse.Clean(text)
}

// silentOpening reports whether text stands for an opening that is not spoken.
func silentOpening(text, speechID string) bool {
	if !strings.HasSuffix(speechID, signaling.SuffixOpening) {
		return false
	}
	t := strings.TrimSpace(converse.Clean(text))
	return t == "" || t == signaling.SilentOpening
}

// SilentOpeningLabel stands for an opening that is not spoken
// (protocol §7.6).
const SilentOpeningLabel = "[silence]"

// captions times the words of the utterance now playing and drops those of
// others (protocol §7.3 and §7.4).
type captions struct {
	speechID string
	cut      string  // the utterance that was interrupted last; its late chunks are dropped
	elapsed  float64 // milliseconds of the utterance that its chunks cover so far
	silent   bool    // the utterance is an opening that is not spoken
}

const (
	// sentinelMs marks a chunk that is no caption (protocol §4.6).
	sentinelMs = 1
	// unknownMs stands in for a duration that is missing (protocol §7.4).
	unknownMs = 100
)

// adopt makes id the current utterance.
func (c *captions) adopt(id string) {
	if id != c.speechID {
		c.speechID, c.elapsed, c.silent = id, 0, false
	}
}

// interrupt ends the current utterance for good.
func (c *captions) interrupt() {
	c.cut = c.speechID
	c.finish()
}

// newTurn makes id the current utterance from its start.
func (c *captions) newTurn(id string) { *c = captions{speechID: id} }

// finish ends the current utterance; late chunks of it are still dropped by
// their id once another begins.
func (c *captions) finish() { c.elapsed = 0 }

// take returns the words of p with their times, or false if p is stale or a
// sentinel.
func (c *captions) take(p signaling.SpeechChunk) ([]event.Word, bool) {
	if c.speechID == "" {
		c.adopt(p.SpeechID)
	}
	if p.SpeechID != c.speechID || p.SpeechID != "" && p.SpeechID == c.cut || p.Text == "" || p.DurationMs == sentinelMs {
		return nil, false
	}
	duration := p.DurationMs
	if !(duration > 0) || math.IsInf(duration, 0) { // NaN too
		duration = unknownMs
	}
	tokens := strings.Fields(p.Text)
	words := make([]event.Word, len(tokens))
	for i, token := range tokens {
		start := c.elapsed + float64(i)*duration/float64(len(tokens))
		words[i] = event.Word{Word: token, StartMs: int64(math.Round(start))}
	}
	c.elapsed += duration
	return words, true
}

// decode reads the first argument of ev as T. A field that is missing or has another
// type stays zero, so that a field whose type changes does not invalidate the rest of
// the event (protocol §0.3).
func decode[T any](ev socketio.Event) T {
	var v T
	if len(ev.Args) > 0 {
		// encoding/json fills every field that fits before it reports the one
		// that does not.
		_ = ev.Args.Decode(0, &v)
	}
	return v
}

// decodeConfiguration accepts the configuration with or without its envelope
// (protocol §4.2).
func decodeConfiguration(ev socketio.Event) signaling.Configuration {
	wrapped := decode[struct {
		ClientConfiguration json.RawMessage `json:"clientConfiguration"`
	}](ev)
	if len(wrapped.ClientConfiguration) == 0 {
		return decode[signaling.Configuration](ev)
	}
	return decode[signaling.ConfigurationEnvelope](ev).ClientConfiguration
}
