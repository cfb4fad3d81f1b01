package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// fixture is a session in virtual time with a scripted brain, a voice that needs
// 100 ms of sound for each word, and nothing else around it.
type fixture struct {
	t     *testing.T
	hub   *Hub
	s     *Session
	conn  *fakeConn
	brain *fakeBrain
	media *fakeMedia
	voice *fakeVoice
}

// runSession runs a test with a session for an agent with that profile, connected
// and not joined.
func runSession(t *testing.T, profile store.Profile, timing Timing, test func(*fixture)) {
	t.Helper()
	runSessionAs(t, "", profile, timing, test)
}

// runSessionAs is runSession for a client with that query.
func runSessionAs(t *testing.T, query string, profile store.Profile, timing Timing, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{
			t: t, conn: &fakeConn{events: make(chan socketio.Event), query: query},
			brain: &fakeBrain{profile: profile}, media: &fakeMedia{}, voice: &fakeVoice{},
		}
		f.hub = NewHub(Config{
			Dialogue: f.brain, Threads: f.brain, Tokens: fakeTokens{}, Voice: f.voice, Media: f.media,
			MediaURL: "http://media.example", Calls: quota.Limit{Total: 2}, Work: &quota.Pace{}, Timing: timing, Logger: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		var served sync.WaitGroup
		served.Go(func() { f.hub.Serve(ctx, f.conn) })
		synctest.Wait()
		f.s, _ = f.hub.Session(f.conn.ID())
		test(f)
		cancel()
		served.Wait()
		expect.Equal(t, f.media.open, 0, "peers were left open")
		expect.Equal(t, f.hub.calls.Total(), 0, "slots were left taken")
	})
}

// openSession is runSession past the opening turn.
func openSession(t *testing.T, profile store.Profile, timing Timing, test func(*fixture)) {
	t.Helper()
	runSession(t, profile, timing, func(f *fixture) {
		f.open()
		test(f)
	})
}

func talkative() store.Profile {
	return store.Profile{Intellect: store.NewIntellect(), DisplayName: "Robin", Opening: "Hello there."}
}

// send lets the client emit an event, and waits for everything that follows from it
// without time passing.
func (f *fixture) send(event string, payload any) {
	f.t.Helper()
	raw := must.Get(json.Marshal(payload))(f.t)
	f.s.post(func() { f.s.handle(event, jsonArgs{raw}, nil) })
	synctest.Wait()
}

// receive is send of an event that asks for an acknowledgement; it returns how many
// came by now.
func (f *fixture) receive(event string, payload any) *atomic.Int32 {
	f.t.Helper()
	raw := must.Get(json.Marshal(payload))(f.t)
	acknowledged := new(atomic.Int32)
	f.s.post(func() {
		f.s.handle(event, jsonArgs{raw}, func(...any) error { acknowledged.Add(1); return nil })
	})
	synctest.Wait()
	return acknowledged
}

// typeTurn sends a typed turn with an id.
func (f *fixture) typeTurn(id, text string) *atomic.Int32 {
	f.t.Helper()
	return f.receive(signaling.TextEntered, signaling.Text{Text: text, IsFinal: true, ClientTurnID: id})
}

func (f *fixture) say(text string) {
	f.t.Helper()
	f.send(signaling.TextEntered, signaling.BargeIn())
	f.send(signaling.TextEntered, signaling.Text{Text: text, IsFinal: true})
}

func (f *fixture) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// join brings the session to joinComplete.
func (f *fixture) join() {
	f.t.Helper()
	f.send(signaling.Join, signaling.NewJoin("room1", "", signaling.Context{KS: "token"}))
}

// ready brings the session to the moment before the approval.
func (f *fixture) ready() {
	f.t.Helper()
	f.join()
	f.send(signaling.StvNewSession, signaling.RoomRequest{RoomID: "room1"})
}

// open brings the session past its opening turn.
func (f *fixture) open() {
	f.t.Helper()
	f.ready()
	f.send(signaling.ApprovedPermissions, signaling.Approval{Room: "room1"})
	f.wait(5 * time.Second)
	for _, e := range f.conn.take() {
		if e.name == signaling.StvFinishedTalking {
			return
		}
	}
	f.t.Fatal("the opening turn did not end")
}

// expect compares what was emitted since the last look with names, and returns
// the events.
func (f *fixture) expect(names ...string) []sent {
	f.t.Helper()
	got := f.conn.take()
	var gotNames []string
	for _, e := range got {
		gotNames = append(gotNames, e.name)
	}
	if !slices.Equal(gotNames, names) {
		f.t.Fatalf("events\n%q, want\n%q", gotNames, names)
	}
	return got
}

// expectGone checks that the session has closed its socket.
func (f *fixture) expectGone() {
	f.t.Helper()
	if !f.conn.gone() {
		f.t.Error("the socket was left open")
	}
}

type sent struct {
	name    string
	payload string
	at      time.Time
}

func (e sent) field(name string) any {
	var fields map[string]any
	_ = json.Unmarshal([]byte(e.payload), &fields)
	return fields[name]
}

type fakeConn struct {
	events  chan socketio.Event
	query   string
	token   string // default: "token"
	mu      sync.Mutex
	out     []sent
	closed  bool
	dropped bool
}

func (c *fakeConn) ID() string { return "socket1" }
func (c *fakeConn) Handshake() socketio.Handshake {
	q, _ := url.ParseQuery(c.query)
	return socketio.Handshake{Query: q, Auth: json.RawMessage(`{"token":"` + cmp.Or(c.token, "token") + `"}`), RemoteAddr: "127.0.0.1:5"}
}
func (c *fakeConn) Events() <-chan socketio.Event { return c.events }
func (c *fakeConn) Drop()                         { c.dropped = true }

func (c *fakeConn) Emit(name string, args ...any) error {
	raw, err := json.Marshal(args[0])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, sent{name, string(raw), time.Now()})
	return err
}

func (c *fakeConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.events)
	}
	return nil
}

func (c *fakeConn) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *fakeConn) take() []sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.out
	c.out = nil
	return out
}

func (c *fakeConn) last() sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) == 0 {
		return sent{}
	}
	return c.out[len(c.out)-1]
}

type jsonArgs struct{ raw json.RawMessage }

func (a jsonArgs) Decode(_ int, v any) error { return json.Unmarshal(a.raw, v) }
func (a jsonArgs) Size() int                 { return len(a.raw) }

// fakeTokens accepts some tokens; "renewed" is ended while it is checked.
type fakeTokens struct{}

func (fakeTokens) Check(_ context.Context, text string, _ token.Use) (token.Claims, error) {
	switch text {
	case "token":
		return mintedClaims("agentid:a1,geniegpcid:7")
	case "renewed":
		c, err := mintedClaims("agentid:a1,geniegpcid:7")
		c.ID = text
		return c, err
	case "foreign":
		c, err := mintedClaims("agentid:a1,geniegpcid:7")
		c.PartnerID = 99
		return c, err
	case "spent":
		return token.Claims{}, token.ErrRestricted
	}
	return token.Claims{}, token.ErrInvalid
}

func (fakeTokens) Valid(_ context.Context, c token.Claims) error {
	if c.ID == "renewed" {
		return token.ErrEnded
	}
	return nil
}

// mintedClaims makes claims as a real token carries them.
func mintedClaims(privileges string) (token.Claims, error) {
	c := token.Claims{PartnerID: 5, Expiry: time.Now().Add(time.Hour), Privileges: privileges}
	_, err := token.Mint("secret", &c)
	return c, err
}

// fakeBrain is a dialogue whose answers a test gives. A nil answer says
// nothing.
type fakeBrain struct {
	profile store.Profile
	answer  func(ctx context.Context, req dialogue.TurnRequest, say func(converse.Segment)) error

	mu       sync.Mutex
	asked    []dialogue.TurnRequest
	kept     []string // what KeepSpoken was told
	turns    []string // the ids of what is stored
	late     []string // those that another session stores just before the next turn
	full     bool     // nothing can be stored
	analysis map[string]any
}

func (b *fakeBrain) Caller(context.Context, token.Claims) (dialogue.Caller, error) {
	return dialogue.Caller{Agent: store.Agent{ID: "a1", Name: "robin", Profile: b.profile}}, nil
}

func (b *fakeBrain) Open(_ context.Context, _ dialogue.Caller, id string, _ dialogue.Context) (store.Thread, error) {
	if id == "somebody-elses" {
		return store.Thread{}, dialogue.ErrNoPermission
	}
	return store.Thread{ID: "thread1"}, nil
}

func (b *fakeBrain) Opening(context.Context, dialogue.Caller, store.Thread, dialogue.Context) (string, string, error) {
	return b.profile.Opening, "m0", nil
}

func (b *fakeBrain) Turn(ctx context.Context, _ dialogue.Caller, req dialogue.TurnRequest, emit func(converse.Segment) error) (dialogue.TurnResult, error) {
	b.mu.Lock()
	b.asked = append(b.asked, req)
	answer := b.answer
	result := dialogue.TurnResult{ThreadID: "thread1", QuestionID: fmt.Sprintf("q%d", len(b.asked)), MessageID: "m1"}
	late := b.late
	b.turns, b.late = append(b.turns, late...), nil
	if slices.ContainsFunc(req.ClientTurns, func(id string) bool { return slices.Contains(late, id) }) {
		b.mu.Unlock()
		return dialogue.TurnResult{}, store.ErrRepeated
	}
	failed := b.full
	if !failed {
		b.turns = append(b.turns, req.ClientTurns...)
	}
	b.mu.Unlock()
	if failed {
		return dialogue.TurnResult{}, errors.New("disk full")
	}
	req.Stored()
	if answer == nil {
		return result, nil
	}
	err := answer(ctx, req, func(seg converse.Segment) { _ = emit(seg) })
	return result, err
}

func (b *fakeBrain) KeepSpoken(_ context.Context, _ dialogue.Caller, _, text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, text)
	return nil
}

func (b *fakeBrain) HasTurn(_ context.Context, _, id string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.turns, id), nil
}

func (b *fakeBrain) UpdateThread(_ context.Context, _ store.Scope, _ string, change func(*store.Thread) error) (store.Thread, error) {
	t := store.Thread{ThreadMetadata: store.ThreadMetadata{Analysis: map[string]any{}}}
	maps.Copy(t.Analysis, b.analysis)
	err := change(&t)
	b.analysis = t.Analysis
	return t, err
}

// questions returns the texts that the brain was asked.
func (b *fakeBrain) questions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var texts []string
	for _, r := range b.asked {
		texts = append(texts, r.Text)
	}
	return texts
}

// saying answers like a real dialogue, each piece after pause.
func saying(pause time.Duration, pieces ...string) func(context.Context, dialogue.TurnRequest, func(converse.Segment)) error {
	return func(ctx context.Context, _ dialogue.TurnRequest, say func(converse.Segment)) error {
		say(converse.Segment{Type: converse.Think, Content: "", ThreadID: "thread1", MessageID: "m1"})
		for i, piece := range pieces {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
			say(converse.Segment{Type: converse.Avatar, Content: piece, SegmentStart: i == 0})
		}
		say(converse.Segment{Type: converse.Avatar, Content: "", SegmentEnd: true})
		say(converse.Segment{Type: converse.Share, Content: json.RawMessage(`{"canShare":true}`)})
		say(converse.Segment{Type: converse.Think, Content: "", IsFinal: true})
		return nil
	}
}

// fakeVoice needs 150 ms to make 100 ms of sound for each word.
type fakeVoice struct {
	err error
	how atomic.Pointer[voice.Manner] // of the last text
}

func (v *fakeVoice) Speak(ctx context.Context, text string, how voice.Manner) (*voice.Speech, error) {
	v.how.Store(&how)
	select {
	case <-time.After(150 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if v.err != nil {
		return nil, v.err
	}
	words := strings.Fields(text)
	sound := &voice.Speech{PCM: make([]int16, 100*len(words)), Rate: 1000}
	for _, w := range words {
		sound.Chunks = append(sound.Chunks, voice.Chunk{Text: w, Duration: 100 * time.Millisecond})
	}
	return sound, nil
}

type fakeMedia struct {
	open       int                       // peers that were not closed
	viewerLost atomic.Pointer[time.Time] // nil while a viewer is connected
	made       int                       // video sessions
	avatar     *store.AvatarProfile      // of the last one
	downlink   *fakeDownlink
	mic        *fakeMic
	started    func()
	ended      func(text string, known bool)
	tapOnly    bool
}

func (m *fakeMedia) OpenVideo(_ quota.Client, room string, a *store.AvatarProfile) (Downlink, string, string) {
	m.avatar = a
	m.open++
	m.made++
	m.downlink = &fakeDownlink{m: m}
	id := fmt.Sprint("stv", m.made)
	return m.downlink, id, "http://media.example/" + room + "/" + id
}

func (m *fakeMedia) OpenVoice(quota.Client) VoicePeer {
	m.open++
	m.downlink = &fakeDownlink{m: m}
	return m.downlink
}

func (m *fakeMedia) OpenMicrophone(_ quota.Client, tapOnly bool, started func(), ended func(string, bool)) Microphone {
	m.tapOnly = tapOnly
	m.open++
	m.started, m.ended, m.mic = started, ended, &fakeMic{m: m}
	return m.mic
}

// fakeDownlink notes how much it was given to play.
type fakeDownlink struct {
	m       *fakeMedia
	samples int
	silence time.Duration
	stops   int
	killed  bool
	answer  string
}

func (d *fakeDownlink) Play(silence time.Duration, pcm []int16, _ int) {
	d.silence += silence
	d.samples += len(pcm)
}
func (d *fakeDownlink) Stop()          { d.stops++ }
func (d *fakeDownlink) Kill()          { d.killed = true }
func (d *fakeDownlink) StopVideo(bool) {}
func (d *fakeDownlink) Unwatched() time.Duration {
	if lost := d.m.viewerLost.Load(); lost != nil {
		return time.Since(*lost)
	}
	return 0
}
func (d *fakeDownlink) Stats() any              { return nil }
func (d *fakeDownlink) Close()                  { d.m.open-- }
func (d *fakeDownlink) Offer() (string, error)  { return "v=0 voice", nil }
func (d *fakeDownlink) Answer(sdp string) error { d.answer = sdp; return nil }

type fakeMic struct {
	m        *fakeMedia
	mu       sync.Mutex
	taps     []string
	muted    bool
	speaking atomic.Bool
}

func (f *fakeMic) tap(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taps = append(f.taps, what)
}

// window returns what became of tap windows.
func (f *fakeMic) window() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.taps, " ")
}

func (*fakeMic) Offer(sdp string, _ bool) (string, []string, error) {
	if sdp == "" {
		return "", nil, errors.New("no description")
	}
	return "v=0 answer", []string{"candidate:1"}, nil
}
func (f *fakeMic) OpenTap() { f.tap("open") }
func (f *fakeMic) CloseTap(report bool) {
	if report {
		f.tap("close")
	} else {
		f.tap("drop")
	}
}
func (f *fakeMic) Speaking() bool { return f.speaking.Load() }
func (f *fakeMic) Mute(on bool)   { f.muted = on }
func (*fakeMic) Stats() any       { return nil }
func (f *fakeMic) Close()         { f.m.open-- }
