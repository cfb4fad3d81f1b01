//go:build js && wasm

package media

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/control"
)

// peer is the browser's RTCPeerConnection. It is used without pion's wrapper,
// which has no tracks, statistics or ICE restart, and would make the download
// 60 kB larger.
type peer struct {
	pc     js.Value
	sender js.Value // of the microphone
	scope  *jsbridge.Scope
	ctx    context.Context // ends with the peer: promises of a closed one never settle
	stop   context.CancelFunc

	candidates int  // found by gathering
	inTrack    bool // a track event is being dispatched
	closing    bool
}

// configuration is RTCConfiguration.
type configuration struct {
	ICEServers   []ICEServer `json:"iceServers"`
	Policy       string      `json:"iceTransportPolicy"`
	BundlePolicy string      `json:"bundlePolicy"`
}

func newPeer(p *Plane, o peerOptions, on func(Event)) (*peer, error) {
	pc, err := newConnection(configuration{p.servers, o.policy, "max-bundle"})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	peer := &peer{pc: pc, scope: jsbridge.NewScope(p.cfg.OnPanic), ctx: ctx, stop: stop}
	err = peer.listen(on)
	for _, kind := range o.receive {
		if err == nil {
			err = peer.receive(kind, o.codec, p.cfg.Log)
		}
	}
	if err == nil && o.mic != nil {
		err = peer.send(o.mic, p.cfg.MicBitrate)
	}
	if err != nil {
		peer.close()
		return nil, err
	}
	return peer, nil
}

func newConnection(c configuration) (js.Value, error) {
	constructor := property(js.Global(), "RTCPeerConnection")
	if !isFunction(constructor) {
		return constructor, errors.New("this browser has no RTCPeerConnection")
	}
	make := func() (js.Value, error) {
		config, err := jsbridge.ToJS(c)
		if err != nil {
			return config, err
		}
		return jsbridge.New(constructor, config)
	}
	pc, err := make()
	if err != nil && refusesQueries(err.Error()) {
		c.ICEServers = withoutQueries(c.ICEServers)
		pc, err = make()
	}
	return pc, err
}

func (p *peer) listen(on func(Event)) error {
	for event, handle := range map[string]func(js.Value){
		"iceconnectionstatechange": func(js.Value) {
			on(Event{Kind: ICEState, State: stringOf(p.pc, "iceConnectionState")})
		},
		"connectionstatechange": func(js.Value) {
			on(Event{Kind: PeerState, State: stringOf(p.pc, "connectionState")})
		},
		"signalingstatechange": func(js.Value) {
			if state := stringOf(p.pc, "signalingState"); state == "closed" {
				on(Event{Kind: PeerState, State: state})
			}
		},
		"icegatheringstatechange": func(js.Value) {
			if stringOf(p.pc, "iceGatheringState") == "complete" && p.candidates == 0 {
				on(Event{Kind: NoCandidates})
			}
		},
		"icecandidate": func(event js.Value) { p.candidate(property(event, "candidate"), on) },
		"track":        func(event js.Value) { p.track(event, on) },
	} {
		if _, err := p.scope.Listen(p.pc, event, handle); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) candidate(v js.Value, on func(Event)) {
	var c control.Candidate
	if missing(v) {
		return // the end, which isn't sent (wire-protocol §5.2)
	}
	if form, err := jsbridge.Call(v, "toJSON"); err != nil || jsbridge.FromJS("candidate", form, &c) != nil || c.Candidate == "" {
		return
	}
	p.candidates++
	on(Event{Kind: Candidate, Candidate: &c})
}

func (p *peer) track(event js.Value, on func(Event)) {
	track := property(event, "track")
	if !p.inTrack {
		p.inTrack = true
		later(func() {
			p.inTrack = false
			if p.closing {
				_, _ = jsbridge.Call(p.pc, "close")
			}
		})
	}
	on(Event{Kind: TrackAdded, Track: Track{
		Kind: stringOf(track, "kind"), ID: stringOf(track, "id"),
		Native: track, Streams: property(event, "streams"),
	}})
}

// later runs fn in a task of its own.
func later(fn func()) {
	var f *jsbridge.Func
	f = jsbridge.FuncOf(func(js.Value, []js.Value) any {
		f.Release()
		fn()
		return nil
	})
	if _, err := jsbridge.Call(js.Global(), "setTimeout", f, 0); err != nil {
		f.Release()
	}
}

func (p *peer) receive(kind, codec string, log func(string, string, map[string]any)) error {
	transceiver, err := jsbridge.Call(p.pc, "addTransceiver", kind, map[string]any{"direction": "recvonly"})
	if err != nil || kind != "video" || codec == "" {
		return err
	}
	if err := prefer(transceiver, kind+"/"+codec); err != nil {
		log("warn", "the preferred video codec can't be used", map[string]any{"codec": codec, "error": err.Error()})
	}
	return nil
}

// prefer leaves no codec but one in the offer, and what belongs to it.
func prefer(transceiver js.Value, mimeType string) error {
	receiver := property(js.Global(), "RTCRtpReceiver")
	capabilities, err := jsbridge.Call(receiver, "getCapabilities", "video")
	if err != nil {
		return err
	}
	codecs := property(capabilities, "codecs")
	var chosen []js.Value
	for i := range numberOf(codecs, "length") {
		if codec, err := jsbridge.Get(codecs, i); err == nil && strings.EqualFold(stringOf(codec, "mimeType"), mimeType) {
			chosen = append(chosen, codec)
		}
	}
	if len(chosen) == 0 {
		return errors.New("the browser doesn't know it")
	}
	list, err := jsbridge.ToJS(chosen)
	if err != nil {
		return err
	}
	_, err = jsbridge.Call(transceiver, "setCodecPreferences", list)
	return err
}

// send adds the slot of the microphone: with its track, or empty
// (wire-protocol §5.3).
func (p *peer) send(m *Microphone, kbps int) error {
	init := map[string]any{"direction": "sendonly"}
	if kbps > 0 {
		init["sendEncodings"] = []any{map[string]any{"maxBitrate": kbps * 1000}}
	}
	what := js.ValueOf("audio")
	if c := m.capture; c != nil {
		init["direction"] = "sendrecv"
		init["streams"] = []any{c.stream}
		what = c.track
	}
	transceiver, err := jsbridge.Call(p.pc, "addTransceiver", what, init)
	p.sender = property(transceiver, "sender")
	return err
}

// replaceTrack changes what is sent without renegotiation; null sends nothing.
func (p *peer) replaceTrack(track js.Value) error {
	return p.do(context.Background(), p.sender, "replaceTrack", track)
}

// do calls a method that returns a promise and waits for it, as long as the
// peer lives.
func (p *peer) do(ctx context.Context, v js.Value, method string, args ...any) error {
	_, err := p.ask(ctx, v, method, args...)
	return err
}

func (p *peer) ask(ctx context.Context, v js.Value, method string, args ...any) (js.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	promise, err := jsbridge.Call(v, method, args...)
	if err != nil {
		return promise, err
	}
	result, err := jsbridge.Await(ctx, promise)
	if err != nil && p.ctx.Err() != nil {
		err = errClosed
	}
	return result, err
}

func (p *peer) offer(ctx context.Context, restart bool) error {
	return p.describe(ctx, "createOffer", map[string]any{"iceRestart": restart})
}

func (p *peer) accept(ctx context.Context, sdp string) error {
	if err := p.setRemote(ctx, "offer", sdp); err != nil {
		return err
	}
	return p.describe(ctx, "createAnswer")
}

func (p *peer) describe(ctx context.Context, method string, args ...any) error {
	description, err := p.ask(ctx, p.pc, method, args...)
	if err != nil {
		return err
	}
	return p.do(ctx, p.pc, "setLocalDescription", description)
}

func (p *peer) answer(ctx context.Context, sdp string) error { return p.setRemote(ctx, "answer", sdp) }

func (p *peer) setRemote(ctx context.Context, kind, sdp string) error {
	return p.do(ctx, p.pc, "setRemoteDescription", map[string]any{"type": kind, "sdp": sdp})
}

// localSDP has the candidates found so far in it.
func (p *peer) localSDP() string { return stringOf(property(p.pc, "localDescription"), "sdp") }

func (p *peer) addCandidate(c control.Candidate) error {
	form, err := jsbridge.ToJS(c)
	if err != nil {
		return err
	}
	return p.do(p.ctx, p.pc, "addIceCandidate", form)
}

// stats returns the rows of the report as JSON.
func (p *peer) stats(ctx context.Context) ([]byte, error) {
	report, err := p.ask(ctx, p.pc, "getStats")
	if err != nil {
		return nil, err
	}
	values, err := jsbridge.Call(report, "values")
	if err != nil {
		return nil, err
	}
	rows, err := jsbridge.Call(property(js.Global(), "Array"), "from", values)
	if err != nil {
		return nil, err
	}
	var text json.RawMessage
	err = jsbridge.FromJS("statistics", rows, &text)
	return text, err
}

func (p *peer) setBandwidth(ctx context.Context, kbps int) error {
	parameters, err := jsbridge.Call(p.sender, "getParameters")
	if err != nil {
		return err
	}
	encoding := property(property(parameters, "encodings"), "0")
	if missing(encoding) {
		return errors.New("the sender has no encoding to limit")
	}
	limit := js.Undefined()
	if kbps > 0 {
		limit = js.ValueOf(kbps * 1000)
	}
	if err := jsbridge.Set(encoding, "maxBitrate", limit); err != nil {
		return err
	}
	return p.do(ctx, p.sender, "setParameters", parameters)
}

// close ends the peer. Chromium hangs when that happens while it dispatches a
// track event, and our goroutines run before a callback returns: it is put off
// until then (wire-protocol §6.10).
func (p *peer) close() {
	if p.closing {
		return
	}
	p.closing = true
	p.stop()
	p.scope.End()
	if !p.inTrack {
		_, _ = jsbridge.Call(p.pc, "close")
	}
}
