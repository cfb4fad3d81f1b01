//go:build js && wasm

package media

import (
	"context"
	"errors"
	"slices"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

var errMicLost = fault.New(fault.MicNotFound, "the microphone was unplugged or taken away")

// muteDelay is how long a mute by the system must last before it is reported, because
// a device may be muted briefly when another program takes it over (protocol §5.4).
const muteDelay = 5 * time.Second

// microphone is the capture device whose track the publishers send. A page has one thread,
// so that its state needs no lock as long as nothing waits.
type microphone struct {
	engine    *Engine
	publisher *Publisher // the present one, nil between connections
	enabled   bool
	capture   *capture        // what is sent, nil while not started
	asked     *request        // the acquisition under way
	stops     int             // counts the calls of StopMic
	thaw      *jsbridge.Scope // listens for the return of a page that was frozen with a microphone; nil otherwise
	meter     *meter          // while the level is wanted and there is a capture
	wanted    bool            // the level is to be measured

	muteDelay time.Duration
}

// request is one acquisition of a device. Only one runs at a time, so that the browser
// asks the visitor once.
type request struct {
	ctx     context.Context // ends when the device is not wanted any more
	cancel  context.CancelCauseFunc
	callers int           // that wait
	done    chan struct{} // closed when err is final
	err     error
}

// StartMic requests the device and attaches it to the present and later publishers.
// A second call while the first waits gets the same outcome, after one prompt. With a
// live microphone it does nothing. A device that is granted when no call waits for it any more,
// or after StopMic, is closed at once. Errors: mic_permission_denied, mic_not_found,
// mic_in_use, devices_permission_denied, noise_processor_failed,
// mic_attach_failed; invalid_state when StopMic was called meanwhile; the cause of the end of ctx.
func (m *microphone) StartMic(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.capture != nil {
		return nil
	}
	if m.asked == nil {
		m.ask("")
	}
	return m.wait(ctx, m.asked)
}

// SwitchMic replaces the present device, "" for the default; if that fails, the present
// device stays in use. Errors are those of StartMic.
func (m *microphone) SwitchMic(ctx context.Context, deviceID string) error {
	for stops := m.stops; ; {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case m.stops != stops:
			return errMicStopped
		case m.asked == nil:
			m.ask(deviceID)
			return m.wait(ctx, m.asked)
		}
		select {
		case <-m.asked.done: // its caller gets the error
		case <-m.asked.ctx.Done():
		case <-ctx.Done():
		}
	}
}

// wait returns the outcome of r. When no caller waits any more, r is cancelled.
func (m *microphone) wait(ctx context.Context, r *request) error {
	r.callers++
	defer func() {
		if r.callers--; r.callers == 0 {
			m.cancel(r, context.Canceled)
		}
	}()
	select {
	case <-r.done:
		return r.err
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *microphone) cancel(r *request, cause error) {
	r.cancel(cause)
	if m.asked == r {
		m.asked = nil
	}
}

// MicStarted reports whether a device is open.
func (m *microphone) MicStarted() bool { return m.capture != nil }

// MicrophoneStream returns the MediaStream that is sent, undefined while no device is open. Another device
// has another one.
func (m *microphone) MicrophoneStream() js.Value {
	if m.capture == nil {
		return js.Undefined()
	}
	return m.capture.stream
}

// SetMicEnabled mutes and unmutes; it works before there is a track.
func (m *microphone) SetMicEnabled(on bool) {
	m.enabled = on
	if m.capture != nil {
		_ = jsbridge.Set(m.capture.track, "enabled", on)
	}
}

// StopMic releases the device, and ends the calls that wait for one. If a prompt is open, the
// stream that it leads to is stopped at once.
func (m *microphone) StopMic() {
	m.stops++
	if m.asked != nil {
		m.cancel(m.asked, errMicStopped)
	}
	m.forgetFrozen()
	m.drop()
}

// MeasureLevel starts and stops the measuring of the level, reported every 50 ms
// as [Level] events while there is a microphone, and as 0 when the measuring stops.
func (m *microphone) MeasureLevel(on bool) {
	m.wanted = on
	m.measure()
}

// ask begins an acquisition.
func (m *microphone) ask(deviceID string) {
	r := &request{done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	m.asked = r
	m.engine.spawn(func() {
		defer close(r.done)
		r.err = m.acquire(r.ctx, deviceID)
		if m.asked == r {
			m.asked = nil
		}
	})
}

// acquire opens a device and uses it, unless ctx ends before the device is open.
func (m *microphone) acquire(ctx context.Context, deviceID string) error {
	c, err := m.open(ctx, deviceID)
	if err != nil {
		return err
	}
	before := m.capture
	c.announced = before != nil // MicStarted is not reported for a switch
	m.use(c)
	err = m.attach()
	if err != nil && m.capture == c {
		m.use(before)
		c.end()
		if before != nil && before.lost {
			m.lose(errMicLost)
		}
		return fault.New(fault.MicAttachFailed, "").Wrap(err)
	}
	if before != nil {
		before.end() // only now, so that the voice has no gap
	}
	switch {
	case c.lost:
		return errMicLost
	case m.capture != c:
		return errMicStopped
	case before == nil && ctx.Err() != nil: // given up while it was attached
		m.drop()
		return context.Cause(ctx)
	}
	return nil
}

// open opens a device, from the prompt to the page's processor. It returns no device after ctx has ended.
func (m *microphone) open(ctx context.Context, deviceID string) (*capture, error) {
	devices := jsbridge.Property(navigator(), "mediaDevices")
	if !jsbridge.IsFunction(jsbridge.Property(devices, "getUserMedia")) {
		return nil, fault.New(fault.DevicesPermissionDenied, "this page has no access to devices: it needs https or localhost, and the permission of its frame")
	}
	promise, err := jsbridge.Call(devices, "getUserMedia", map[string]any{"audio": m.constraints(deviceID), "video": false})
	if err != nil {
		return nil, deviceFault(err)
	}
	stream, err := jsbridge.Take(ctx, promise, jsbridge.CloseMicrophone)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, deviceFault(err)
	}
	c := &capture{deviceID: deviceID, raw: stream, stream: stream, scope: jsbridge.NewScope(m.engine.cfg.OnPanic)}
	if err := m.process(ctx, c); err != nil {
		c.end()
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fault.New(fault.NoiseProcessorFailed, "").Wrap(err)
	}
	device, err1 := audioTrack(c.raw)
	track, err2 := audioTrack(c.stream)
	if err := errors.Join(err1, err2); err != nil {
		c.end()
		return nil, fault.New(fault.MicNotFound, "the microphone's stream has no track").Wrap(err)
	}
	if jsbridge.StringOf(device, "readyState") == "ended" { // while the processor prepared
		c.end()
		return nil, errMicLost
	}
	c.track = track
	m.observe(c, device)
	return c, nil
}

// constraints returns the defaults with the page's own merged over them (protocol §5.4).
func (m *microphone) constraints(deviceID string) any {
	own := m.engine.cfg.MicConstraints
	if own.Type() == js.TypeBoolean && !own.Bool() && deviceID == "" {
		return true
	}
	audio := map[string]any{}
	if own.Type() != js.TypeBoolean || own.Bool() {
		audio["echoCancellation"], audio["noiseSuppression"], audio["autoGainControl"] = true, true, true
	}
	merged := js.ValueOf(audio)
	if own.Type() == js.TypeObject {
		if all, err := jsbridge.Call(jsbridge.Property(js.Global(), "Object"), "assign", merged, own); err == nil {
			merged = all
		}
	}
	if deviceID != "" {
		_ = jsbridge.Set(merged, "deviceId", map[string]any{"exact": deviceID})
	}
	return merged
}

// deviceFault is the error for an exception of the devices API
// (protocol §5.4).
func deviceFault(err error) error {
	code, detail := fault.DevicesPermissionDenied, ""
	var thrown *jsbridge.Error
	if errors.As(err, &thrown) {
		switch thrown.Name {
		case "NotAllowedError", "SecurityError":
			code, detail = fault.MicPermissionDenied, policyDetail()
		case "NotFoundError", "OverconstrainedError":
			code = fault.MicNotFound
		case "NotReadableError", "AbortError":
			code = fault.MicInUse
		}
	}
	return fault.New(code, detail).Wrap(err)
}

// policyDetail says what the page's author must do where not the visitor but the page's policy refuses the microphone, and
// is empty otherwise and in browsers that do not tell, which are those other than Chromium's.
func policyDetail() string {
	allowed, err := jsbridge.Call(jsbridge.Property(js.Global().Get("document"), "featurePolicy"), "allowsFeature", "microphone")
	if err != nil || allowed.Type() != js.TypeBoolean || allowed.Bool() {
		return ""
	}
	return `the page's policy refuses the microphone: the header Permissions-Policy must allow it, and a frame needs allow="microphone"`
}

// observe watches the device's track.
func (m *microphone) observe(c *capture, device js.Value) {
	c.mute = func(muted bool) {
		c.muted = muted
		m.report(Event{Kind: HardwareMute, Muted: muted, Track: Track{Kind: "audio", ID: jsbridge.StringOf(device, "id"), Native: device}})
	}
	muteLater := func() {
		if c.muting == nil {
			c.muting = time.AfterFunc(m.muteDelay, func() {
				if c.muting != nil { // neither unmuted nor ended meanwhile
					c.muting = nil
					c.mute(true)
				}
			})
		}
	}
	for event, handle := range map[string]func(){
		"mute": muteLater,
		"unmute": func() {
			c.stopMuting()
			if c.muted {
				c.mute(false)
			}
		},
		"ended": func() {
			c.lost = true
			if m.capture == c {
				m.lose(errMicLost)
			}
		},
	} {
		// Only a track that the page replaced can refuse a listener.
		_ = c.scope.Listen(device, event, func(js.Value) { handle() })
	}
	if jsbridge.Property(device, "muted").Truthy() { // from the beginning, which is no event
		muteLater()
	}
	for event, target := range map[string]js.Value{"freeze": document(), "pagehide": js.Global()} {
		_ = c.scope.Listen(target, event, func(js.Value) { m.freeze(c) })
	}
}

// freeze closes the device of a page that is frozen or goes into the back-forward cache: the browser
// would go on sending what it records, and the page could neither show nor stop that. The same
// device is requested when the page returns.
func (m *microphone) freeze(c *capture) {
	if m.capture != c {
		return
	}
	m.drop()
	m.report(Event{Kind: MicEnded})
	m.thaw = jsbridge.NewScope(m.engine.cfg.OnPanic)
	for event, target := range map[string]js.Value{"resume": document(), "pageshow": js.Global()} {
		_ = m.thaw.Listen(target, event, func(js.Value) {
			if m.forgetFrozen(); m.capture != nil || m.asked != nil {
				return // the page has started it itself
			}
			m.engine.spawn(func() {
				m.ask(c.deviceID)
				if err := m.wait(context.Background(), m.asked); err != nil && !errors.Is(err, errMicStopped) {
					m.report(Event{Kind: MicEnded, Err: err})
				}
			})
		})
	}
}

func (m *microphone) forgetFrozen() {
	if m.thaw != nil {
		m.thaw.End()
		m.thaw = nil
	}
}

// use makes c the capture that is sent; with nil nothing is sent.
func (m *microphone) use(c *capture) {
	m.capture = c
	if c != nil {
		m.forgetFrozen()
		_ = jsbridge.Set(c.track, "enabled", m.enabled)
	}
	m.measure()
}

// drop closes the device.
func (m *microphone) drop() {
	c := m.capture
	if c == nil {
		return
	}
	m.use(nil)
	c.end()
	m.engine.spawn(func() { _ = m.attach() })
}

// lose reports why the device is not used any more, and closes it.
func (m *microphone) lose(err error) {
	m.report(Event{Kind: MicEnded, Err: err})
	m.drop()
}

// attach sets the present track in the present publisher, and reports MicStarted the first
// time.
func (m *microphone) attach() error {
	p, c := m.publisher, m.capture
	if p == nil {
		return nil
	}
	p.Prepare()
	peer, err := p.wait(context.Background())
	if err != nil {
		return nil // the methods of the publisher return this error
	}
	track := js.Null()
	if c != nil {
		track = c.track
	}
	if m.publisher != p || m.capture != c {
		return nil // the call that changed one of them attaches the track itself
	}
	if err := peer.replaceTrack(track); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	if c != nil && m.capture == c && m.publisher == p && !c.announced {
		c.announced = true
		m.report(Event{Kind: MicStarted})
	}
	return nil
}

// join makes p the present publisher.
func (m *microphone) join(p *Publisher) {
	m.publisher = p
	if m.capture == nil {
		return
	}
	m.engine.spawn(func() {
		c := m.capture
		if err := m.attach(); err != nil && c != nil && m.capture == c && m.publisher == p {
			// The conversation goes on, but the visitor's voice is not sent.
			m.lose(fault.New(fault.MicAttachFailed, "start the microphone again").Wrap(err))
		}
	})
}

func (m *microphone) leave(p *Publisher) {
	if m.publisher == p {
		m.publisher = nil
	}
}

// report passes an event to OnMicrophone.
func (m *microphone) report(ev Event) {
	ev.Channel = event.ChannelASR
	m.engine.cfg.OnMicrophone(ev)
}

// measure starts or stops the meter as the switch and the capture require.
func (m *microphone) measure() {
	if m.meter != nil && (!m.wanted || m.capture == nil || !m.meter.stream.Equal(m.capture.stream)) {
		m.meter.close()
		m.meter = nil
		m.report(Event{Kind: Level}) // or the page would show the last level, and speech, until the next one
	}
	if m.meter == nil && m.wanted && m.capture != nil {
		m.meter = newMeter(m)
	}
}

// capture is a device that is open.
type capture struct {
	deviceID  string   // as requested, "" for the default
	raw       js.Value // the device's stream, stopped at the end
	stream    js.Value // the stream that is sent: raw, or the result of the page's processor
	track     js.Value
	stopExtra func() // stops the page's processor; nil if there is nothing to stop
	scope     *jsbridge.Scope
	muting    *time.Timer      // runs while a mute is not reported yet
	muted     bool             // reported
	mute      func(muted bool) // reports it
	announced bool             // MicStarted was reported
	lost      bool             // the device was unplugged or taken away
}

// process passes the stream of c through the page's processor. The result
// belongs to the page: only its own stop function ends it.
func (m *microphone) process(ctx context.Context, c *capture) error {
	processor := m.engine.cfg.NoiseProcessor
	if !jsbridge.IsFunction(processor) {
		return nil
	}
	result, err := jsbridge.Invoke(processor, c.raw)
	if err == nil {
		result, err = jsbridge.Take(ctx, result, jsbridge.CloseProcessor)
	}
	if err != nil || !result.Truthy() {
		return err
	}
	c.stream = result
	if stream := jsbridge.Property(result, "stream"); !jsbridge.Absent(stream) {
		c.stream = stream
		c.stopExtra = func() { m.stopProcessor(result) }
	}
	return nil
}

// stopProcessor calls the stop function of the page's processor, if it has one.
func (m *microphone) stopProcessor(processor js.Value) {
	if !jsbridge.IsFunction(jsbridge.Property(processor, "stop")) {
		return
	}
	if result, err := jsbridge.Call(processor, "stop"); err == nil {
		// Awaited so that a rejection is handled.
		m.engine.spawn(func() { _, _ = jsbridge.Await(context.Background(), result) })
	}
}

func audioTrack(stream js.Value) (js.Value, error) {
	tracks, err := jsbridge.Call(stream, "getAudioTracks")
	if err != nil {
		return tracks, err
	}
	track := jsbridge.Property(tracks, "0")
	if jsbridge.Absent(track) {
		return track, errors.New("no audio track")
	}
	return track, nil
}

func (c *capture) stopMuting() {
	if c.muting != nil {
		c.muting.Stop()
		c.muting = nil
	}
}

// end closes the device and stops the page's processor.
func (c *capture) end() {
	c.scope.End()
	c.stopMuting()
	if c.muted { // or a page would show it for ever
		c.mute(false)
	}
	stopTracks(c.raw)
	if c.stopExtra != nil {
		c.stopExtra()
		c.stopExtra = nil
	}
}

func stopTracks(stream js.Value) {
	tracks, err := jsbridge.Call(stream, "getTracks")
	if err != nil {
		return
	}
	for i := range jsbridge.NumberOf(tracks, "length") {
		if track, err := jsbridge.Get(tracks, i); err == nil {
			_, _ = jsbridge.Call(track, "stop")
		}
	}
}

// The level's scale: the analyser gives levelBins bytes, whose sum is 0 to 4080
// (session §A.1.1, localVadThreshold).
const (
	levelBins   = 16
	maxLevel    = levelBins * 255
	levelPeriod = 50 * time.Millisecond // session §A.1.5, localMicLevel
)

// meter measures the level of one stream, with an AudioContext of its own.
type meter struct {
	stream  js.Value
	context js.Value
	wave    *waveform
	loudest float64 // of the recent samples, of 128
	stop    context.CancelFunc
}

// What the samples of the visitor's speech are: a tenth (-20 dB) of the loudest recent ones, and sound.
const (
	speechShare = 0.1
	speechDecay = 0.995 // of the loudest in each levelPeriod, half in 7 s
)

// newMeter starts measuring the microphone's stream. Without Web Audio there is
// no level.
func newMeter(m *microphone) *meter {
	ctx, stop := context.WithCancel(context.Background())
	mt := &meter{stream: m.capture.stream, stop: stop}
	analyser, err := mt.connect()
	if err != nil {
		m.engine.cfg.Log("warn", "the microphone's level can't be measured", map[string]any{"error": err.Error()})
		return mt
	}
	m.engine.spawn(func() {
		bins, err := jsbridge.New(jsbridge.Property(js.Global(), "Uint8Array"), levelBins)
		ticker := time.NewTicker(levelPeriod)
		defer ticker.Stop()
		last := time.Now()
		for err == nil {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if ctx.Err() != nil { // both were ready
				return
			}
			ev := Event{Kind: Level}
			ev.At, last = mt.spoke(last)
			if _, err = jsbridge.Call(analyser, "getByteFrequencyData", bins); err == nil {
				ev.Level = levelOf(bins)
				m.report(ev)
			}
		}
	})
	return mt
}

// spoke returns when the visitor spoke last since a time, zero if never, and the time of the last sample.
// The level does not show that: it falls by 2 dB in each period, and has the threshold more than half a
// second after the end of a speech.
func (mt *meter) spoke(since time.Time) (at, now time.Time) {
	samples, now, err := mt.wave.since(since)
	if err != nil {
		return at, time.Now()
	}
	mt.loudest *= speechDecay
	for _, b := range samples {
		mt.loudest = max(mt.loudest, float64(amplitude(b)))
	}
	least := max(soundLeast, speechShare*mt.loudest)
	for i, b := range slices.Backward(samples) {
		if float64(amplitude(b)) >= least {
			return mt.wave.at(now, len(samples)-i), now
		}
	}
	return at, now
}

func (mt *meter) connect() (analyser js.Value, err error) {
	if mt.context, err = jsbridge.New(jsbridge.Property(js.Global(), "AudioContext")); err != nil {
		return analyser, err
	}
	source, err := jsbridge.Call(mt.context, "createMediaStreamSource", mt.stream)
	if err != nil {
		return analyser, err
	}
	if analyser, err = jsbridge.Call(mt.context, "createAnalyser"); err != nil {
		return analyser, err
	}
	if err = jsbridge.Set(analyser, "fftSize", 2*levelBins); err != nil {
		return analyser, err
	}
	if _, err = jsbridge.Call(source, "connect", analyser); err != nil {
		return analyser, err
	}
	mt.wave, err = newWaveform(mt.context, mt.stream)
	return analyser, err
}

func levelOf(bins js.Value) float64 {
	var bytes [levelBins]byte
	js.CopyBytesToGo(bytes[:], bins)
	sum := 0
	for _, b := range bytes {
		sum += int(b)
	}
	return float64(sum) / maxLevel
}

// close releases the audio hardware.
func (mt *meter) close() {
	mt.stop()
	mt.wave.close()
	if mt.context.Truthy() {
		_, _ = jsbridge.Call(mt.context, "close")
	}
}
