package avatar

import (
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// outbox keeps what must reach the service, whatever happens to the connection, until it is
// known to have: typed turns, and commands, which change a setting of the session at the
// service. The socket keeps no copy of either ([socketio.Client.EmitWithAck]).
//
// What waits: the texts that can't be sent now ([Session.mustWait], or there is no
// connection), and commands that met a socket that was down. What was sent and is not
// confirmed: turns, in order, and of each setting the newest command. Confirmed turns are kept
// until the visitor's log has them ([outbox.stored]).
//
// After a reconnect the commands go out first, then the unconfirmed turns, then the waiting
// texts as one turn. The commands go out as soon as the socket is back, the others once the
// session is connected and texts need not wait. What was sent before is repeated only if the
// service acknowledges events: it then knows a turn by its id, and a repeated command has no
// further effect. Another service might answer a turn twice.
//
// A connection that is made again is a new session at the service, for which no command is kept:
// the join carries the variables, and the approval is sent again. Turns and texts stay.
//
// At the end of a session nothing is sent any more. The caller of a waiting text gets sent =
// false; a turn without a confirmation is reported as turnUnconfirmed, and so is one that the
// service has not confirmed in time, or that would have to be repeated and may not be.
//
// Events that need no confirmation, e.g. candidates, stills and the barge-in marker, do not
// pass through the outbox ([Session.emit]). The buffer of [socketio.Client.Emit], which keeps
// such events until the socket is back, is another matter: it is part of Socket.IO, below the
// sessions, and knows no acknowledgements, and so can't know what was received.
type outbox struct {
	session *Session

	waiting  []*waitingText
	turns    []*sentTurn // sent and not confirmed, in order
	commands []*command  // on the present connection: not acknowledged

	// stored has the turns that the service has acknowledged and not repeated. The log shows what
	// the service repeats; an end, or a lost connection, can come before that, and a turn that is
	// sent again is not repeated.
	stored []*sentTurn

	acknowledges bool // the service acknowledges events: it did so at least once
}

// waitingText is a typed text that was not sent yet. done is called once, with whether it was.
type waitingText struct {
	text   string
	done   func(sent bool)
	counts time.Time // its entry in turnState.accepted; zero without one
	hidden bool      // it is not the visitor's: a kickoff without echo, or what the session asks again
}

// sentTurn is a typed turn that was sent and is not confirmed yet.
type sentTurn struct {
	id, text string
	typed    string // what a log shows of text
	repeated bool   // the service has repeated the text, which does not prove that it is stored
	shown    bool   // the session itself has emitted its transcript
	again    bool   // waits to be sent again; the service recognises a duplicate by the id
	limit    *session.Timer
}

// command is e.g. the approval, the pause or the variables.
type command struct {
	name    string
	payload any
	sent    bool // on some connection
}

const (
	turnIDLength = 16
	// maxTexts bounds the texts that wait, and the turns that are not confirmed; a visitor
	// does not type more during an opening.
	maxTexts = 100
	// confirmLimit is how long the service may take to confirm a typed turn. It is longer
	// than the heartbeat, 45 s, so that a dead connection is detected first.
	confirmLimit = time.Minute
)

// add sends t now or keeps it.
func (o *outbox) add(t *waitingText) {
	o.waiting = append(o.waiting, t)
	o.flush()
}

// addFirst is add for a text of the session itself, which is sent before those that wait.
func (o *outbox) addFirst(t *waitingText) {
	o.waiting = slices.Insert(o.waiting, 0, t)
	o.flush()
}

// withdraw removes t, and reports whether it was still waiting.
func (o *outbox) withdraw(t *waitingText) bool {
	i := slices.Index(o.waiting, t)
	if i < 0 {
		return false
	}
	o.waiting = slices.Delete(o.waiting, i, i+1)
	o.session.discount(t)
	return true
}

// flush sends the turns that must be sent again, then all waiting texts as one turn. It
// does nothing while texts must wait.
func (o *outbox) flush() {
	s := o.session
	if s.mustWait() || s.phase != live {
		return
	}
	for _, t := range o.turns {
		if t.again && o.deliver(t) != nil {
			return // until the next connection
		}
	}
	waiting := o.waiting
	if len(waiting) == 0 {
		return
	}
	var texts, typed []string
	for _, t := range waiting {
		texts = append(texts, t.text)
		if !t.hidden {
			typed = append(typed, t.text)
		}
	}
	if err := o.sendTurn(&sentTurn{text: strings.Join(texts, "\n"), typed: strings.Join(typed, "\n")}); err != nil {
		s.core.Log("info", "a typed turn waits for the connection: "+err.Error(), nil)
		return
	}
	o.waiting = nil
	for _, t := range waiting {
		t.done(true)
	}
}

// sendTurn emits one typed turn: the barge-in marker, then the text
// (protocol §3.6). It fails without a connection; the text was not sent then.
func (o *outbox) sendTurn(t *sentTurn) error {
	o.session.emit(signaling.TextEntered, signaling.BargeIn())
	t.id = session.RandomID(turnIDLength)
	if err := o.deliver(t); err != nil {
		return err
	}
	o.session.asked(t.text)
	return nil
}

// deliver sends t on the present connection, or fails.
func (o *outbox) deliver(t *sentTurn) error {
	text := signaling.Text{Text: t.text, IsFinal: true, ClientTurnID: t.id}
	if err := o.transmit(signaling.TextEntered, text, func() { o.confirmed(t) }); err != nil {
		return err
	}
	t.again = false
	o.session.core.Turns.Asked(t.id)
	o.awaitSign(t)
	if !slices.Contains(o.turns, t) {
		o.turns = append(o.turns, t)
	}
	if len(o.turns) > maxTexts {
		o.settle(o.turns[0])
	}
	return nil
}

// transmit sends an event on the present connection, or fails. confirmed is called when the
// service has acknowledged it, i.e. has stored it.
func (o *outbox) transmit(name string, payload any, confirmed func()) error {
	return o.session.conn.socket.EmitWithAck(name, func(socketio.Args) {
		o.session.core.Work.Post(func() {
			o.acknowledges = true
			confirmed()
		})
	}, payload)
}

// awaitSign ends the wait for t after confirmLimit, which starts again if the session is
// not connected then.
func (o *outbox) awaitSign(t *sentTurn) {
	t.limit.Stop()
	t.limit = o.session.core.After(confirmLimit, func() {
		if o.session.phase == live && !t.again {
			o.settle(t)
		} else {
			o.awaitSign(t)
		}
	})
}

// forget removes t from the unconfirmed turns, and reports whether it was one.
func (o *outbox) forget(t *sentTurn) bool {
	t.limit.Stop()
	known := len(o.turns)
	o.turns = slices.DeleteFunc(o.turns, func(other *sentTurn) bool { return other == t })
	return len(o.turns) < known
}

func (o *outbox) confirmed(t *sentTurn) {
	if o.forget(t) && !t.repeated && t.typed != "" {
		o.stored = append(o.stored, t)
	}
}

// repeated marks the turns whose text the service repeats in a user's transcript
// (protocol §4.7), and returns the transcript without what the log has of it.
func (o *outbox) repeated(transcript string) string {
	rest, known := transcript, false
	for _, t := range slices.Concat(o.stored, o.turns) {
		words := strings.TrimSpace(converse.Clean(t.text))
		before, after, found := strings.Cut(rest, words)
		if !found || t.repeated {
			continue
		}
		t.repeated, known = true, true
		rest = before + after // two turns may have the same words
		if t.shown {
			transcript = strings.TrimSpace(strings.Replace(transcript, words, "", 1))
		}
	}
	o.stored = slices.DeleteFunc(o.stored, func(t *sentTurn) bool { return t.repeated || t.shown && !known })
	return transcript
}

// show emits the transcripts of the stored turns that the service has not repeated, and returns
// them: as the agent begins to speak, or the connection is given up.
func (o *outbox) show() []event.Event {
	var shown []event.Event
	o.stored = slices.DeleteFunc(o.stored, func(t *sentTurn) bool { return t.shown })
	for _, t := range o.stored {
		t.shown = true
		shown = append(shown, event.Transcript{Type: "user", Text: converse.Clean(t.typed)})
	}
	return o.report(shown)
}

// report emits events of the session, and returns them.
func (o *outbox) report(events []event.Event) []event.Event {
	for _, e := range events {
		o.session.core.Emit(e)
	}
	return events
}

// settle ends the wait for the confirmation of turns and reports those without one. If
// the service acknowledges turns, a repeated text is no confirmation.
func (o *outbox) settle(turns ...*sentTurn) []event.Event {
	var lost []event.Event
	for _, t := range slices.Clone(turns) {
		o.forget(t)
		if o.acknowledges || !t.repeated {
			o.session.core.Turns.Unanswered(t.id)
			lost = append(lost, event.TurnUnconfirmed{Text: t.text, Typed: t.typed, Repeated: t.repeated, ClientTurnID: t.id})
		}
	}
	return o.report(lost)
}

// command sends a command and keeps it until it is acknowledged, because what is sent
// on a breaking connection is lost, and a service that recovers the session has the old
// setting. Without a connection it does nothing.
func (o *outbox) command(name string, payload any) {
	if o.session.conn == nil {
		return
	}
	c := &command{name: name, payload: payload}
	o.commands = append(slices.DeleteFunc(o.commands, func(other *command) bool { return setting(other.name) == setting(name) }), c)
	o.transmitCommand(c)
}

func (o *outbox) transmitCommand(c *command) {
	err := o.transmit(c.name, c.payload, func() {
		o.commands = slices.DeleteFunc(o.commands, func(other *command) bool { return other == c })
	})
	if err != nil {
		o.session.core.Log("info", c.name+" waits for the connection: "+err.Error(), nil)
		return
	}
	c.sent = true
}

// setting returns the setting that a command changes. Of two commands for the same setting
// only the newer is kept.
func setting(name string) string {
	switch name {
	case signaling.ResumeConversation:
		return signaling.PauseConversation
	case signaling.UnmuteUser:
		return signaling.MuteUser
	}
	return name
}

// recovered is for a socket that is back, of a session that the service has kept: commands
// that may be lost are sent, and turns are sent again by the next flush. If the service does
// not acknowledge events, a missed confirmation of a turn may still come.
func (o *outbox) recovered() {
	for _, c := range o.commands {
		if o.acknowledges || !c.sent {
			o.transmitCommand(c)
		}
	}
	o.repeatTurns()
}

// abandoned is for a connection that is given up. A service that acknowledges turns gets them
// again on the next one; those of another service are reported.
func (o *outbox) abandoned() {
	o.show()
	if !o.repeatTurns() {
		o.settle(o.turns...)
	}
}

// repeatTurns has the next flush send the unconfirmed turns again, and reports whether they
// may be.
func (o *outbox) repeatTurns() bool {
	if o.acknowledges {
		for _, t := range o.turns {
			t.again = true
		}
	}
	return o.acknowledges
}

// ended is for the end of a session at the service, after which nothing can be confirmed or
// repeated. It returns what it has emitted.
func (o *outbox) ended() []event.Event {
	shown := o.show()
	o.stored = nil
	return append(shown, o.settle(o.turns...)...)
}

// SettleTurns reports the typed turns that no transcript has repeated or no acknowledgement has
// confirmed, as the end of the session does, and returns these events: a transcript of each turn
// that the service has stored, and turnUnconfirmed for the others. It blocks until it has run on
// the session's queue.
func (s *Session) SettleTurns() (emitted []event.Event) {
	s.core.Work.Call(func() { emitted = s.outbox.ended() })
	return emitted
}

// discard drops the waiting texts at the end of a session.
func (o *outbox) discard() {
	waiting := o.waiting
	o.waiting = nil
	for _, t := range waiting {
		o.session.discount(t)
		t.done(false)
	}
}

// emit sends an event on the present connection.
func (s *Session) emit(name string, payload any) {
	if s.conn == nil {
		return
	}
	if err := s.conn.socket.Emit(name, payload); err != nil {
		s.core.Log("warn", "emit "+name+": "+err.Error(), nil)
	}
}

// mergeVars changes the variables and sends all of them.
func (s *Session) mergeVars(vars map[string]any) {
	s.core.MergeVars(vars)
	s.outbox.command(signaling.UpdateGenieContext, signaling.GenieContext{
		Capabilities: s.core.Caps, RequestVars: s.core.Vars,
		ContextID: s.opts.ContextID, ContextType: s.opts.ContextType,
	})
}

// NotifyHTMLElementClick reports a click on an HTML element that the brain generated.
func (s *Session) NotifyHTMLElementClick(info map[string]any) error {
	return s.emitLive(signaling.HTMLElementClick, converse.Scrub(info))
}

// SubmitStructuredDataForm sends the values of a form; there is no reply.
func (s *Session) SubmitStructuredDataForm(values map[string]any) error {
	return s.emitLive(signaling.FormLeadInfo, converse.Scrub(values))
}

// SendScreenShot sends one still of a shared screen, a JPEG or PNG. Errors:
// invalid_state, capability_disabled.
func (s *Session) SendScreenShot(image []byte) error {
	return s.sendStill(signaling.ScreenShareShot, image, "screen sharing", s.Snapshot().Capabilities.ScreenShare)
}

// SendCameraShot sends one still of the user's camera, a JPEG or PNG (protocol
// §3.12). Errors: invalid_state, capability_disabled.
func (s *Session) SendCameraShot(image []byte) error {
	return s.sendStill(signaling.CameraShot, image, "camera analysis", s.Snapshot().Capabilities.CameraAnalysis)
}

func (s *Session) sendStill(name string, image []byte, capability string, enabled bool) error {
	if err := s.Live(); err != nil {
		return err
	}
	if !enabled {
		return fault.New(fault.CapabilityDisabled, capability+" is not enabled for this agent; enable it in the agent's settings")
	}
	return s.emitLive(name, map[string]any{"data": socketio.Binary(image)})
}

// KeepAlive asks for capacity, as a cheap keep-alive message. Without a socket it does
// nothing.
func (s *Session) KeepAlive() {
	s.core.Work.Do(func() { s.emit(signaling.CheckAvailability, signaling.Empty{}) })
}

func (s *Session) emitLive(name string, payload any) error {
	if err := s.Live(); err != nil {
		return err
	}
	s.core.Work.Do(func() {
		if s.phase == live {
			s.noteActivity()
			s.emit(name, payload)
		}
	})
	return nil
}
