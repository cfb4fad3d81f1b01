//go:build js && wasm

package media

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// prompts wraps the page's getUserMedia: it counts the calls, stores their constraints and
// streams, and can delay the result.
func prompts(t *testing.T) js.Value {
	t.Helper()
	devices := js.Global().Get("navigator").Get("mediaDevices")
	asked := eval(t, `
		const asked = {count: 0, streams: [], constraints: [], gate: null};
		asked.get = async c => {
			asked.count++;
			asked.constraints.push(JSON.stringify(c));
			if (asked.gate) await asked.gate;
			if (asked.error) throw new DOMException("on purpose", asked.error);
			const s = await a(c);
			asked.streams.push(s);
			return s };
		asked.hold = () => { asked.gate = new Promise(r => { asked.open = r }) };
		asked.live = () => asked.streams.flatMap(s => s.getTracks()).filter(t => t.readyState === "live").length;
		return asked`, devices.Get("getUserMedia").Call("bind", devices))
	replace(t, devices, "getUserMedia", asked.Get("get"))
	return asked
}

// uplink connects a peer to the service's microphone called id.
func uplink(t *testing.T, p *Engine, j *journal, id string) *Publisher {
	t.Helper()
	u := p.NewPublisher(j.notify)
	t.Cleanup(u.Close)
	shake(t, u, id, false)
	j.await(t, "asr ice connected")
	return u
}

func shake(t *testing.T, u *Publisher, id string, restart bool) (offer string) {
	t.Helper()
	ctx := testContext(t)
	d := must.Get(u.Offer(ctx, restart))(t)
	var answer string
	call(t, "POST", "/test/mic?id="+id, testMic{Offer: d.SDP, Restart: restart}, &answer)
	// The service's candidate comes first, and by itself.
	var plain []string
	for line := range strings.Lines(answer) {
		if c, ok := strings.CutPrefix(strings.TrimSpace(line), "a=candidate"); ok {
			u.AddCandidate(signaling.ServerCandidate{Type: "ice_candidate", Candidate: "candidate" + c})
		} else if !strings.HasPrefix(line, "a=end-of-candidates") {
			plain = append(plain, line)
		}
	}
	u.AddCandidate(signaling.ServerCandidate{Candidate: "candidate:broken"})
	must.Do(t, u.Answer(ctx, signaling.Description{Type: "answer", SDP: strings.Join(plain, "")}))
	return d.SDP
}

// heard waits until the service hears something.
func heard(t *testing.T, id string) {
	t.Helper()
	var level float64
	call(t, "GET", "/test/mic?id="+id, nil, &level)
	call(t, "GET", "/test/mic?id="+id, nil, &level) // the first may have been kept from before
	if level < loudness {
		t.Errorf("level %v", level)
	}
}

const loudness = 0.02 // the service reports what is louder

var (
	micStarted   = describe(Event{Kind: MicStarted, Channel: event.ChannelASR})
	micUnplugged = describe(Event{Kind: MicEnded, Channel: event.ChannelASR, Err: fault.New(fault.MicNotFound, "the microphone was unplugged or taken away")})
)

func TestPageMicrophone(t *testing.T) {
	asked := prompts(t)
	j := newJournal()
	p := newPageEngine(t, func(c *Config) { c.OnMicrophone = j.notify })
	m := p.microphone
	u := uplink(t, p, j, "page")
	if asked.Get("count").Int() != 0 || m.MicStarted() {
		t.Fatal("the device was asked for before anybody wanted it")
	}
	ends := make(chan error, 3)
	for range 3 {
		go func() { ends <- m.StartMic(testContext(t)) }()
	}
	for range 3 {
		must.Do(t, <-ends)
	}
	if asked.Get("count").Int() != 1 || j.count(micStarted) != 1 || !m.MicStarted() {
		t.Errorf("%v prompts, %d reports", asked.Get("count"), j.count(micStarted))
	}
	if got := asked.Get("constraints").Index(0).String(); !strings.Contains(got, `"echoCancellation":true`) || !strings.Contains(got, `"video":false`) {
		t.Errorf("constraints %s", got)
	}
	heard(t, "page")
	must.Wait(t, "statistics", func() bool {
		st, err := u.Stats(background)
		return err == nil && st.Known && st.Microphone.BytesSent > 0 && st.Microphone.PacketsSent > 0 && st.CandidateType != ""
	})
	if err := u.SetBandwidth(testContext(t), 24); err != nil {
		t.Error(err)
	}
	if rate := u.peer.sender.Call("getParameters").Get("encodings").Index(0).Get("maxBitrate"); rate.Int() != 24000 {
		t.Errorf("limit %v", rate)
	}
	if err := u.SetBandwidth(testContext(t), 0); err != nil {
		t.Error(err)
	}
	limits := make(chan error, 20)
	for range cap(limits) { // as by a slider of the page
		go func() { limits <- u.SetBandwidth(testContext(t), 24) }()
	}
	for range cap(limits) {
		if err := <-limits; err != nil {
			t.Error("limits at the same time: ", err)
		}
	}

	m.SetMicEnabled(false)
	if m.capture.track.Get("enabled").Bool() {
		t.Error("the track is not muted")
	}
	m.SetMicEnabled(true)

	last := await(t, eval(t, `return navigator.mediaDevices.enumerateDevices().then((all) => all.findLast(({kind}) => kind === "audioinput").deviceId)`)).String()
	before := m.capture.track
	must.Do(t, m.SwitchMic(testContext(t), last))
	if !strings.Contains(asked.Get("constraints").Index(1).String(), `"deviceId":{"exact":"`+last+`"}`) {
		t.Errorf("constraints %v", asked.Get("constraints").Index(1))
	}
	if before.Get("readyState").String() != "ended" || !u.peer.sender.Get("track").Equal(m.capture.track) || j.count(micStarted) != 1 {
		t.Error("the old device is still in use, or the switch was reported as a start")
	}
	heard(t, "page")

	if err := m.SwitchMic(testContext(t), "no such device"); !errors.Is(err, fault.MicNotFound) || !m.MicStarted() {
		t.Errorf("unknown device: %v", err)
	}

	// The same track goes into the next uplink.
	u.Close()
	j = newJournal()
	next := uplink(t, p, j, "next")
	if !next.peer.sender.Get("track").Equal(m.capture.track) {
		t.Error("the next uplink has no microphone")
	}
	heard(t, "next")
	first := credentials(next.peer.localSDP())
	if second := credentials(shake(t, next, "next", true)); second == first || second == "" {
		t.Error("the restart has the ICE credentials of before")
	}
	heard(t, "next")
	m.StopMic()
	if asked.Call("live").Int() != 0 || m.MicStarted() {
		t.Error("a device is still open")
	}
	must.Wait(t, "the empty slot", func() bool { return next.peer.sender.Get("track").IsNull() })
}

func TestMicrophoneBeforeTheUplink(t *testing.T) {
	prompts(t)
	j := newJournal()
	p := newPageEngine(t, func(c *Config) { c.MicBitrate, c.OnMicrophone = 20, j.notify })
	p.SetMicEnabled(false)
	must.Do(t, p.StartMic(testContext(t)))
	if p.microphone.capture.track.Get("enabled").Bool() {
		t.Error("muting before there was a track was forgotten")
	}
	p.SetMicEnabled(true)
	u := uplink(t, p, j, "early")
	j.await(t, micStarted)
	heard(t, "early")
	if rate := u.peer.sender.Call("getParameters").Get("encodings").Index(0).Get("maxBitrate"); rate.Int() != 20000 {
		t.Errorf("limit %v", rate)
	}
	if sdp := u.peer.localSDP(); !strings.Contains(sdp, "a=sendrecv") || !strings.Contains(sdp, "opus/48000/2") {
		t.Errorf("offer %s", sdp)
	}
}

func TestMicrophoneErrors(t *testing.T) {
	asked := prompts(t)
	p := newPageEngine(t, nil)
	for name, want := range map[string]fault.Code{
		"NotAllowedError": fault.MicPermissionDenied, "SecurityError": fault.MicPermissionDenied,
		"NotFoundError": fault.MicNotFound, "OverconstrainedError": fault.MicNotFound,
		"NotReadableError": fault.MicInUse, "AbortError": fault.MicInUse,
		"TypeError": fault.DevicesPermissionDenied,
	} {
		asked.Set("error", name)
		if err := p.StartMic(testContext(t)); !errors.Is(err, want) || p.MicStarted() {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	replace(t, js.Global().Get("document"), "featurePolicy", eval(t, `return {allowsFeature: (name) => name !== "microphone"}`))
	asked.Set("error", "NotAllowedError")
	if err := p.StartMic(testContext(t)); !errors.Is(err, fault.MicPermissionDenied) || !strings.Contains(err.Error(), "Permissions-Policy") {
		t.Errorf("refused by the policy: %v", err)
	}
	asked.Set("error", "")
	expect.Equal(t, p.StartMic(testContext(t)), nil, "after all that")
	p.StopMic()
	replace(t, js.Global().Get("navigator"), "mediaDevices", js.Undefined())
	expect.Error(t, p.StartMic(testContext(t)), fault.DevicesPermissionDenied, "no devices")
}

// observedContext tells when a call waits for its end. A page has one thread, so that the receiver
// of waits runs when the call does wait.
type observedContext struct {
	context.Context
	waits chan struct{}
}

func newObservedContext(t *testing.T) observedContext {
	return observedContext{testContext(t), make(chan struct{}, 1)}
}

func (c observedContext) Done() <-chan struct{} {
	select {
	case c.waits <- struct{}{}:
	default:
	}
	return c.Context.Done()
}

// TestNothingIsOpenedAfterStopMic: calls that wait when the microphone is stopped end at once, whether
// the browser has answered or not, and ask for no device afterwards.
func TestNothingIsOpenedAfterStopMic(t *testing.T) {
	asked := prompts(t)
	asked.Call("hold")
	p := newPageEngine(t, nil)
	m := p.microphone
	ends := make(chan error, 3)
	go func() { ends <- m.StartMic(testContext(t)) }()
	must.Wait(t, "the prompt", func() bool { return asked.Get("count").Int() == 1 })
	for range 2 {
		ctx := newObservedContext(t)
		go func() { ends <- m.SwitchMic(ctx, "") }()
		<-ctx.waits // for the first
	}
	m.StopMic()
	for range 3 {
		expect.Error(t, <-ends, fault.InvalidState, "error")
	}
	asked.Call("open")
	must.Wait(t, "the answer to the prompt", func() bool { return asked.Get("streams").Length() == 1 })
	must.Wait(t, "the end of the late stream", func() bool { return asked.Call("live").Int() == 0 })
	if n := asked.Get("count").Int(); n != 1 || m.MicStarted() {
		t.Errorf("%d prompts, started %v", n, m.MicStarted())
	}
	if err := m.StartMic(testContext(t)); err != nil || asked.Call("live").Int() != 1 {
		t.Errorf("started again: %v, %v live", err, asked.Call("live"))
	}
}

// TestAStartThatIsAbortedOpensNothing: a device that only aborted calls wanted is stopped.
func TestAStartThatIsAbortedOpensNothing(t *testing.T) {
	asked := prompts(t)
	asked.Call("hold")
	p := newPageEngine(t, nil)
	m := p.microphone
	ctx, abort := context.WithCancel(testContext(t))
	ends := make(chan error, 2)
	for range 2 {
		go func() { ends <- m.StartMic(ctx) }()
	}
	must.Wait(t, "the prompt", func() bool { return asked.Get("count").Int() == 1 })
	abort()
	for range 2 {
		expect.Error(t, <-ends, context.Canceled, "error")
	}
	asked.Call("open")
	must.Wait(t, "the answer to the prompt", func() bool { return asked.Get("streams").Length() == 1 })
	must.Wait(t, "the end of the late stream", func() bool { return asked.Call("live").Int() == 0 })
	if err := m.StartMic(ctx); !errors.Is(err, context.Canceled) || asked.Get("count").Int() != 1 {
		t.Errorf("a call that was aborted before: %v, %v prompts", err, asked.Get("count"))
	}
	// One that still waits keeps the device.
	asked.Call("hold")
	ctx, abort = context.WithCancel(testContext(t))
	go func() { ends <- m.StartMic(ctx) }()
	must.Wait(t, "the prompt", func() bool { return asked.Get("count").Int() == 2 })
	second := newObservedContext(t)
	go func() { ends <- m.StartMic(second) }()
	<-second.waits
	abort()
	<-ends
	asked.Call("open")
	if err := <-ends; err != nil || !m.MicStarted() {
		t.Errorf("the other call: %v", err)
	}
}

// TestAProcessorDoesNotKeepTheDevice: the device is closed while the page's processor still
// prepares, and what the processor then returns is stopped.
func TestAProcessorDoesNotKeepTheDevice(t *testing.T) {
	asked := prompts(t)
	page := eval(t, `const page = {stopped: 0};
		page.process = () => new Promise(r => { page.finish = () => r({stream: new MediaStream(), stop() { page.stopped++ }}) });
		return page`)
	p := newPageEngine(t, func(c *Config) { c.NoiseProcessor = page.Get("process") })
	end := make(chan error, 1)
	go func() { end <- p.StartMic(testContext(t)) }()
	must.Wait(t, "the processor", func() bool { return !page.Get("finish").IsUndefined() })
	p.StopMic()
	expect.Error(t, <-end, fault.InvalidState, "error")
	must.Wait(t, "the end of the device", func() bool { return asked.Call("live").Int() == 0 })
	page.Call("finish")
	must.Wait(t, "the end of the processor", func() bool { return page.Get("stopped").Int() == 1 })
}

// TestADeviceThatDisappearsEarly: before it is attached, and while a switch that fails returns to it.
func TestADeviceThatDisappearsEarly(t *testing.T) {
	asked := prompts(t)
	j := newJournal()
	page := eval(t, `return {}`)
	p := newPageEngine(t, func(c *Config) {
		c.OnMicrophone = j.notify
		c.NoiseProcessor = eval(t, `return s => { if (a.cut) s.getTracks()[0].stop(); return null }`, page)
	})
	page.Set("cut", true)
	if err := p.StartMic(testContext(t)); !errors.Is(err, fault.MicNotFound) || p.MicStarted() {
		t.Errorf("a device that ended while the processor prepared: %v", err)
	}
	page.Set("cut", false)
	u := p.NewPublisher(j.notify)
	t.Cleanup(u.Close)
	must.Do(t, p.StartMic(testContext(t)))
	first := p.capture.track
	senders := js.Global().Get("RTCRtpSender").Get("prototype")
	replace(t, senders, "replaceTrack", eval(t, `return async () => { a.dispatchEvent(new Event("ended")); throw new Error("no") }`, first))
	if err := p.SwitchMic(testContext(t), ""); !errors.Is(err, fault.MicAttachFailed) || p.MicStarted() {
		t.Errorf("a switch that failed when the device before it was gone: %v, started %v", err, p.MicStarted())
	}
	if j.count(micUnplugged) != 1 || asked.Call("live").Int() != 0 {
		t.Errorf("reports %q, %v live", j.lines, asked.Call("live"))
	}
}

func TestMicConstraints(t *testing.T) {
	asked := prompts(t)
	for _, test := range []struct{ own, device, want string }{
		{"undefined", "", `{"audio":{"autoGainControl":true,"echoCancellation":true,"noiseSuppression":true},"video":false}`},
		{"false", "", `{"audio":true,"video":false}`},
		{"false", "default", `{"audio":{"deviceId":{"exact":"default"}},"video":false}`},
		{"({noiseSuppression: false, channelCount: 1})", "", `{"audio":{"autoGainControl":true,"channelCount":1,"echoCancellation":true,"noiseSuppression":false},"video":false}`},
	} {
		p := newPageEngine(t, func(c *Config) { c.MicConstraints = eval(t, "return "+test.own) })
		got := eval(t, `const sort = v => v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().map(k => [k, sort(v[k])])) : v;
			return JSON.stringify(sort({audio: a, video: false}))`, p.microphone.constraints(test.device)).String()
		expect.Equal(t, got, test.want, "%s, device %q", test.own, test.device)
	}
	_ = asked
}

func TestNoiseProcessor(t *testing.T) {
	asked := prompts(t)
	own := eval(t, "return new AudioContext()")
	t.Cleanup(func() { await(t, own.Call("close")) })
	made := eval(t, "return a.createMediaStreamDestination().stream", own)
	stops := eval(t, "return {count: 0}")
	for _, test := range []struct {
		name, body string
		sent       func(m *microphone) bool
	}{
		{"a stream", "return async s => a", func(m *microphone) bool { return m.capture.stream.Equal(made) }},
		{"at once", "return s => a", func(m *microphone) bool { return m.capture.stream.Equal(made) }},
		{"a stream and its end", "return async s => ({stream: a, stop() { b.count++; return Promise.reject(new Error('late')) }})", func(m *microphone) bool { return m.capture.stream.Equal(made) }},
		{"nothing", "return async s => null", func(m *microphone) bool { return m.capture.stream.Equal(m.capture.raw) }},
	} {
		p := newPageEngine(t, func(c *Config) { c.NoiseProcessor = eval(t, test.body, made, stops) })
		if err := p.StartMic(testContext(t)); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if !test.sent(p.microphone) {
			t.Errorf("%s: another stream is sent", test.name)
		}
		p.StopMic()
		expect.Equal(t, asked.Call("live").Int(), 0, "%s: the device is open", test.name)
		expect.Equal(t, made.Call("getTracks").Index(0).Get("readyState").String(), "live", "%s: the page's own stream was stopped", test.name)
	}
	if stops.Get("count").Int() != 1 {
		t.Errorf("stop was called %v times", stops.Get("count"))
	}
	for name, body := range map[string]string{
		"rejects": "return async s => { throw new Error('dsp') }", "throws": "return s => { throw 7 }",
	} {
		p := newPageEngine(t, func(c *Config) { c.NoiseProcessor = eval(t, body) })
		if err := p.StartMic(testContext(t)); !errors.Is(err, fault.NoiseProcessorFailed) || p.MicStarted() {
			t.Errorf("%s: %v", name, err)
		}
		expect.Equal(t, asked.Call("live").Int(), 0, "%s: the device is open", name)
	}
}

func TestHardwareMute(t *testing.T) {
	prompts(t)
	j := newJournal()
	p := newPageEngine(t, func(c *Config) { c.OnMicrophone = j.notify })
	m := p.microphone
	u := p.NewPublisher(j.notify)
	t.Cleanup(u.Close)
	must.Do(t, m.StartMic(testContext(t)))
	track := m.capture.track
	fire := func(event string) { track.Call("dispatchEvent", js.Global().Get("Event").New(event)) }
	muted := describe(Event{Kind: HardwareMute, Channel: event.ChannelASR, Muted: true})
	unmuted := describe(Event{Kind: HardwareMute, Channel: event.ChannelASR})
	expect.Equal(t, m.muteDelay, 5*time.Second, "delay")
	fire("mute") // flickers, and is not reported
	fire("unmute")
	if m.capture.muting != nil {
		t.Error("the report is still to come")
	}
	m.muteDelay = time.Millisecond
	fire("mute")
	fire("mute")
	j.await(t, muted)
	fire("unmute")
	fire("unmute")
	if j.count(muted) != 1 || j.count(unmuted) != 1 {
		t.Errorf("reports %q", j.lines)
	}
	for _, ev := range j.events {
		if ev.Kind == HardwareMute && !track.Equal(ev.Track.Native.(js.Value)) {
			t.Errorf("muted: %v is not the device's track", ev.Track)
		}
	}
	fire("ended") // unplugged
	j.await(t, micUnplugged)
	if m.MicStarted() || track.Get("readyState").String() != "ended" {
		t.Error("the microphone is not clean")
	}
	if err := m.StartMic(testContext(t)); err != nil || j.count(micStarted) != 2 {
		t.Errorf("plugged in again: %v, %d starts", err, j.count(micStarted))
	}
}

// TestTheEndOfAMutedDeviceIsTheEndOfItsMute, or a page would show the mute of a device that is not used any more.
func TestTheEndOfAMutedDeviceIsTheEndOfItsMute(t *testing.T) {
	for name, end := range map[string]func(m *microphone) error{
		"replaced": func(m *microphone) error { return m.SwitchMic(testContext(t), "") },
		"stopped":  func(m *microphone) error { m.StopMic(); return nil },
		"unplugged": func(m *microphone) error {
			m.capture.track.Call("dispatchEvent", js.Global().Get("Event").New("ended"))
			return nil
		},
	} {
		prompts(t)
		j := newJournal()
		m := newPageEngine(t, func(c *Config) { c.OnMicrophone = j.notify }).microphone
		m.muteDelay = time.Millisecond
		must.Do(t, m.StartMic(testContext(t)))
		track := m.capture.track
		track.Call("dispatchEvent", js.Global().Get("Event").New("mute"))
		j.await(t, describe(Event{Kind: HardwareMute, Channel: event.ChannelASR, Muted: true}))
		must.Do(t, end(m))
		ended := slices.ContainsFunc(j.events, func(ev Event) bool {
			return ev.Kind == HardwareMute && !ev.Muted && track.Equal(ev.Track.Native.(js.Value))
		})
		if !ended || track.Get("readyState").String() != "ended" {
			t.Errorf("%s: the mute did not end: %q", name, j.lines)
		}
	}
}

// TestAMicrophoneThatIsMutedFromTheBeginning is reported as one that is muted later.
func TestAMicrophoneThatIsMutedFromTheBeginning(t *testing.T) {
	prompts(t)
	object, tracks := js.Global().Get("Object"), js.Global().Get("MediaStreamTrack").Get("prototype")
	own := object.Call("getOwnPropertyDescriptor", tracks, "muted")
	muted := js.FuncOf(func(js.Value, []js.Value) any { return true })
	t.Cleanup(func() {
		object.Call("defineProperty", tracks, "muted", own)
		muted.Release()
	})
	object.Call("defineProperty", tracks, "muted", map[string]any{"get": muted, "configurable": true})
	j := newJournal()
	p := newPageEngine(t, func(c *Config) { c.OnMicrophone = j.notify })
	p.microphone.muteDelay = time.Millisecond
	u := p.NewPublisher(j.notify)
	t.Cleanup(u.Close)
	must.Do(t, p.microphone.StartMic(testContext(t)))
	j.await(t, describe(Event{Kind: HardwareMute, Channel: event.ChannelASR, Muted: true}))
}

// TestAFrozenPageHasNoMicrophone, neither one that the browser freezes nor one in the back-forward cache.
// The microphone is started again with the page, unless it was stopped meanwhile.
func TestAFrozenPageHasNoMicrophone(t *testing.T) {
	asked := prompts(t)
	j := newJournal()
	p := newPageEngine(t, func(c *Config) { c.OnMicrophone = j.notify })
	u := p.NewPublisher(j.notify)
	t.Cleanup(u.Close)
	fire := func(target js.Value, event string) { target.Call("dispatchEvent", js.Global().Get("Event").New(event)) }
	live := func(want int) {
		t.Helper()
		must.Wait(t, "the microphone", func() bool { return asked.Call("live").Int() == want && p.MicStarted() == (want > 0) })
	}
	must.Do(t, p.StartMic(testContext(t)))
	gone := []struct {
		target      js.Value
		goes, comes string
	}{{document(), "freeze", "resume"}, {js.Global(), "pagehide", "pageshow"}}
	for i, page := range gone {
		fire(page.target, page.goes)
		if n := asked.Call("live").Int(); n != 0 {
			t.Fatalf("%d tracks are live after %s", n, page.goes)
		}
		fire(page.target, page.comes)
		live(1)
		must.Wait(t, "the report", func() bool { return j.count(micStarted) == i+2 })
	}
	fire(document(), "freeze")
	asked.Set("error", "NotAllowedError")
	fire(document(), "resume")
	must.Wait(t, "the report", func() bool {
		return slices.ContainsFunc(j.events, func(ev Event) bool { return ev.Kind == MicEnded && errors.Is(ev.Err, fault.MicPermissionDenied) })
	})
	asked.Set("error", "")
	must.Do(t, p.StartMic(testContext(t)))
	fire(document(), "freeze")
	p.StopMic()
	before := asked.Get("count").Int()
	fire(document(), "resume")
	fire(js.Global(), "pageshow")
	if asked.Get("count").Int() != before || p.MicStarted() {
		t.Error("a microphone that was stopped while the page was frozen is started again")
	}
}

func TestADeviceThatDisappearsWithoutAPublisherIsReported(t *testing.T) {
	prompts(t)
	j := newJournal()
	p := newPageEngine(t, func(c *Config) { c.OnMicrophone = j.notify })
	must.Do(t, p.StartMic(testContext(t)))
	p.capture.track.Call("dispatchEvent", js.Global().Get("Event").New("ended"))
	j.await(t, micUnplugged)
	if p.MicStarted() {
		t.Error("still started")
	}
}

// TestAMicrophoneThatANewPeerCannotTakeIsReported: without a report the visitor would not know that the service has no
// microphone. It is closed, so that starting it again, as the report says, has an effect.
func TestAMicrophoneThatANewPeerCannotTakeIsReported(t *testing.T) {
	asked := prompts(t)
	j := newJournal()
	p := newPageEngine(t, func(c *Config) { c.OnMicrophone = j.notify })
	first := p.NewPublisher(j.notify)
	t.Cleanup(first.Close)
	must.Do(t, p.StartMic(testContext(t)))
	senders := js.Global().Get("RTCRtpSender").Get("prototype")
	works := senders.Get("replaceTrack")
	senders.Set("replaceTrack", js.Global().Call("eval", "(async () => { throw new Error('no') })"))
	t.Cleanup(func() { senders.Set("replaceTrack", works) })
	second := p.NewPublisher(j.notify)
	t.Cleanup(second.Close)
	must.Wait(t, "the report", func() bool {
		return slices.ContainsFunc(j.events, func(ev Event) bool { return ev.Kind == MicEnded && errors.Is(ev.Err, fault.MicAttachFailed) })
	})
	if p.MicStarted() || asked.Call("live").Int() != 0 {
		t.Error("the device is still open")
	}
	senders.Set("replaceTrack", works)
	must.Do(t, p.StartMic(testContext(t)))
	if j.count(micStarted) != 2 || asked.Call("live").Int() != 1 {
		t.Errorf("started again: reports %q", j.lines)
	}
}

func TestLevelIsMeasuredWhileWanted(t *testing.T) {
	prompts(t)
	contexts := eval(t, "return []")
	replace(t, js.Global(), "AudioContext", eval(t, "return function() { const c = new a(); b.push(c); return c }", js.Global().Get("AudioContext"), contexts))
	levels := make(chan float64, 100)
	p := newPageEngine(t, func(c *Config) {
		c.OnMicrophone = func(ev Event) {
			if ev.Kind == Level {
				select {
				case levels <- ev.Level:
				default:
				}
			}
		}
	})
	m := p.microphone
	m.MeasureLevel(true)
	expect.Equal(t, contexts.Length(), 0, "measuring without a microphone")
	must.Do(t, m.StartMic(testContext(t)))
	loud := func() {
		t.Helper()
		for deadline := time.After(limit); ; {
			select {
			case level := <-levels:
				if level < 0 || level > 1 {
					t.Fatalf("level %v", level)
				}
				if level > loudness {
					return
				}
			case <-deadline:
				t.Fatal("nothing was measured")
			}
		}
	}
	loud()
	must.Do(t, m.SwitchMic(testContext(t), ""))
	for len(levels) > 0 {
		<-levels
	}
	loud()
	m.MeasureLevel(false)
	for len(levels) > 1 {
		<-levels
	}
	expect.Equal(t, <-levels, 0, "the last level is")
	expect.Equal(t, contexts.Length(), 2, "audio contexts")
	for i := range contexts.Length() {
		must.Wait(t, "the end of the audio context", func() bool { return contexts.Index(i).Get("state").String() == "closed" })
	}
}
