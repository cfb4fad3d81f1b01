//go:build js && wasm

package media

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"syscall/js"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// platformPeer has what pion's page build lacks: remote tracks, candidates with
// their sdpMid (pion's OnICECandidate loses it, and adds 83 kB), statistics, codec
// preferences, replaceTrack and encodings.
type platformPeer struct {
	scope      *jsbridge.Scope
	sender     js.Value      // of the microphone
	setting    chan struct{} // has room for one call that sets the sender's parameters
	candidates int           // found by gathering
}

func (p *peer) newAPI(peerOptions, func(Event)) (*webrtc.API, error) {
	if !jsbridge.IsFunction(jsbridge.Property(js.Global(), "RTCPeerConnection")) {
		return nil, fault.New(fault.UnsupportedBrowser, "this browser has no WebRTC: RTCPeerConnection is not defined").InPhase(fault.PhaseConnect)
	}
	p.scope = jsbridge.NewScope(p.engine.cfg.OnPanic)
	return webrtc.NewAPI(), nil
}

// platformError converts the exception in an error of pion: the Error method of a
// js.Error would panic if the value thrown is no object.
func platformError(err error) error { return jsbridge.Caught(err) }

func (p *peer) listen(on func(Event)) error {
	for event, handle := range map[string]func(js.Value){
		"icegatheringstatechange": func(js.Value) {
			if p.pc.ICEGatheringState() == webrtc.ICEGatheringStateComplete && p.candidates == 0 {
				on(Event{Kind: NoCandidates})
			}
		},
		"icecandidate": func(event js.Value) { p.candidate(jsbridge.Property(event, "candidate"), on) },
		"track":        func(event js.Value) { p.track(event, on) },
	} {
		if err := p.scope.Listen(p.pc.JSValue(), event, handle); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) candidate(v js.Value, on func(Event)) {
	var c signaling.Candidate
	if jsbridge.Absent(v) {
		return // the end, which isn't sent (protocol §5.2)
	}
	if form, err := jsbridge.Call(v, "toJSON"); err != nil || jsbridge.FromJS("candidate", form, &c) != nil || c.Candidate == "" {
		return
	}
	p.candidates++
	on(Event{Kind: Candidate, Candidate: &c})
}

// track reports a remote track. Chromium hangs when the connection is closed
// while it dispatches a track event, and other goroutines may run before a callback
// returns. Therefore the event counts as an operation under way until the next task
// (protocol §6.10).
func (p *peer) track(event js.Value, on func(Event)) {
	if p.begin() {
		nextTask(p.finish)
	}
	track := jsbridge.Property(event, "track")
	on(Event{Kind: TrackAdded, Track: Track{
		Kind: jsbridge.StringOf(track, "kind"), ID: jsbridge.StringOf(track, "id"),
		Native: track, Streams: jsbridge.Property(event, "streams"),
	}})
}

// nextTask runs fn in a task of its own.
func nextTask(fn func()) {
	var f *jsbridge.Func
	f = jsbridge.FuncOf(func(js.Value, []js.Value) any {
		f.Release()
		fn()
		return nil
	})
	if _, err := jsbridge.Call(js.Global(), "setTimeout", f, 0); err != nil {
		f.Release()
		fn()
	}
}

// prefer leaves only the codec called mimeType in the offer, in all its variants.
func prefer(transceiver *webrtc.RTPTransceiver, kind, mimeType string) error {
	receiver := jsbridge.Property(js.Global(), "RTCRtpReceiver")
	capabilities, err := jsbridge.Call(receiver, "getCapabilities", kind)
	if err != nil {
		return err
	}
	codecs := jsbridge.Property(capabilities, "codecs")
	var chosen []js.Value
	for i := range jsbridge.NumberOf(codecs, "length") {
		if codec, err := jsbridge.Get(codecs, i); err == nil && strings.EqualFold(jsbridge.StringOf(codec, "mimeType"), mimeType) {
			chosen = append(chosen, codec)
		}
	}
	if len(chosen) == 0 {
		return errUnknownCodec
	}
	list, err := jsbridge.ToJS(chosen)
	if err != nil {
		return err
	}
	_, err = jsbridge.Call(transceiver.JSValue(), "setCodecPreferences", list)
	return err
}

// send adds the microphone's transceiver: with its track, or empty
// (protocol §5.3).
func (p *peer) send(m *microphone) error {
	init := map[string]any{"direction": "sendonly"}
	if kbps := p.engine.cfg.MicBitrate; kbps > 0 {
		init["sendEncodings"] = []any{map[string]any{"maxBitrate": kbps * 1000}}
	}
	what := js.ValueOf("audio")
	if c := m.capture; c != nil {
		init["direction"] = "sendrecv"
		init["streams"] = []any{c.stream}
		what = c.track
	}
	transceiver, err := jsbridge.Call(p.pc.JSValue(), "addTransceiver", what, init)
	p.sender = jsbridge.Property(transceiver, "sender")
	p.setting = make(chan struct{}, 1)
	return err
}

// replaceTrack changes what is sent without renegotiation; null sends nothing.
func (p *peer) replaceTrack(track js.Value) error {
	return p.await(context.Background(), p.sender, "replaceTrack", track)
}

// await calls a method that returns a promise and waits for it until ctx or the
// peer ends.
func (p *peer) await(ctx context.Context, v js.Value, method string, args ...any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	promise, err := jsbridge.Call(v, method, args...)
	if err != nil {
		return err
	}
	_, err = jsbridge.Await(ctx, promise)
	if err != nil && p.ctx.Err() != nil {
		err = ErrClosed
	}
	return err
}

// report returns the rows of the report as JSON.
func (p *peer) report(ctx context.Context) ([]byte, error) {
	promise, err := jsbridge.Call(p.pc.JSValue(), "getStats")
	if err != nil {
		return nil, err
	}
	report, err := jsbridge.Await(ctx, promise)
	if err != nil {
		return nil, err
	}
	values, err := jsbridge.Call(report, "values")
	if err != nil {
		return nil, err
	}
	rows, err := jsbridge.Call(jsbridge.Property(js.Global(), "Array"), "from", values)
	if err != nil {
		return nil, err
	}
	// The report of a peer with video has 230 properties in 7.2 kB, and the session
	// requests one every second. Parsing only rowFields takes 125 µs natively, parsing all
	// properties 460 µs.
	text, err := jsbridge.Call(jsbridge.Property(js.Global(), "JSON"), "stringify", rows, rowFields)
	if err != nil || text.Type() != js.TypeString {
		return nil, errors.Join(err, errNoReport)
	}
	return []byte(text.String()), nil
}

var errNoReport = errors.New("the browser gave no statistics")

// rowFields are the names of the properties that a row has.
var rowFields = func() (names []any) {
	for field := range reflect.TypeFor[row]().Fields() {
		names = append(names, field.Tag.Get("json"))
	}
	return names
}()

func (p *peer) setBandwidth(ctx context.Context, kbps int) error {
	// One after another: Chromium refuses parameters that were read while others were being set.
	select {
	case p.setting <- struct{}{}:
		defer func() { <-p.setting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	parameters, err := jsbridge.Call(p.sender, "getParameters")
	if err != nil {
		return err
	}
	encoding := jsbridge.Property(jsbridge.Property(parameters, "encodings"), "0")
	if jsbridge.Absent(encoding) {
		return errors.New("the sender has no encoding to limit")
	}
	limit := js.Undefined()
	if kbps > 0 {
		limit = js.ValueOf(kbps * 1000)
	}
	if err := jsbridge.Set(encoding, "maxBitrate", limit); err != nil {
		return err
	}
	return p.await(ctx, p.sender, "setParameters", parameters)
}

// release removes the listeners.
func (p *peer) release() { p.scope.End() }

// end closes the connection; only a page's own class can throw here.
func (p *peer) end() { _ = p.pc.Close() }
