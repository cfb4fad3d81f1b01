//go:build js && wasm

package media

import (
	"context"
	"errors"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

var errMicStopped = fault.New(fault.InvalidState, "the microphone was stopped while it was asked for")

// muteDelay is how long a mute by the system lasts before it is reported:
// devices flicker when they change hands (wire-protocol §5.4).
const muteDelay = 5 * time.Second

// Microphone is a capture device behind the track of the uplinks. It is used by
// the page's one thread, so its state needs no lock where nothing waits.
type Microphone struct {
	plane   *Plane
	uplink  *Uplink // the present one, nil between links
	enabled bool
	capture *capture // what is sent, nil while not started
	asked   *request // the acquisition under way
	meter   *meter   // while the level is wanted and there is a capture
	wanted  bool

	muteDelay time.Duration
}

// request is one acquisition. There is never a second one beside it, so the
// browser asks the person once.
type request struct {
	done      chan struct{}
	err       error
	cancelled bool
}

// Start asks for the device and attaches it to the present and later uplinks.
// A second call while the first waits joins it: one prompt. With a live
// microphone it does nothing. Errors: mic_permission_denied, mic_not_found,
// mic_in_use, devices_permission_denied, noise_processor_failed,
// mic_attach_failed; invalid_state when Stop came first.
func (m *Microphone) Start(ctx context.Context) error {
	if m.capture != nil {
		return nil
	}
	if m.asked == nil {
		m.ask("")
	}
	return m.asked.wait(ctx)
}

// Switch takes another device in place of the present one, "" for the default;
// the present one stays if that fails. Errors are those of Start.
func (m *Microphone) Switch(ctx context.Context, deviceID string) error {
	for m.asked != nil {
		_ = m.asked.wait(ctx) // its outcome is its caller's
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	m.ask(deviceID)
	return m.asked.wait(ctx)
}

func (r *request) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Started reports whether a device is open.
func (m *Microphone) Started() bool { return m.capture != nil }

// SetEnabled mutes and unmutes; it works before there is a track.
func (m *Microphone) SetEnabled(on bool) {
	m.enabled = on
	if m.capture != nil {
		_ = jsbridge.Set(m.capture.track, "enabled", on)
	}
}

// Stop releases the device; a prompt still open is answered in vain.
func (m *Microphone) Stop() {
	if m.asked != nil {
		m.asked.cancelled = true
		m.asked = nil
	}
	m.drop()
}

// WantLevel starts and stops the measuring of the level, reported every 50 ms
// as [Level] events while there is a microphone.
func (m *Microphone) WantLevel(on bool) {
	m.wanted = on
	m.measure()
}

// ask begins an acquisition.
func (m *Microphone) ask(deviceID string) {
	r := &request{done: make(chan struct{})}
	m.asked = r
	m.plane.spawn(func() {
		defer close(r.done)
		r.err = m.acquire(r, deviceID)
		if m.asked == r {
			m.asked = nil
		}
	})
}

func (m *Microphone) acquire(r *request, deviceID string) error {
	c, err := m.open(deviceID)
	if err == nil && r.cancelled {
		c.end()
		err = errMicStopped
	}
	if err != nil {
		return err
	}
	before := m.capture
	c.announced = before != nil // a switch is no start
	m.use(c)
	err = m.attach()
	if err != nil && m.capture == c {
		m.use(before)
		c.end()
		return fault.New(fault.MicAttachFailed, "").Because(err)
	}
	if before != nil {
		before.end() // only now, so that nothing is lost between
	}
	if m.capture != c {
		return errMicStopped
	}
	return nil
}

// open opens a device, from the prompt to the page's processor.
func (m *Microphone) open(deviceID string) (*capture, error) {
	devices := property(navigator(), "mediaDevices")
	if !isFunction(property(devices, "getUserMedia")) {
		return nil, fault.New(fault.DevicesPermissionDenied, "this page has no access to devices: it needs https or localhost, and the permission of its frame")
	}
	promise, err := jsbridge.Call(devices, "getUserMedia", map[string]any{"audio": m.constraints(deviceID), "video": false})
	if err == nil {
		promise, err = jsbridge.Await(context.Background(), promise)
	}
	if err != nil {
		return nil, deviceFault(err)
	}
	c := &capture{raw: promise, stream: promise, scope: jsbridge.NewScope(m.plane.cfg.OnPanic)}
	if err := c.process(m.plane.cfg.NoiseProcessor); err != nil {
		c.end()
		return nil, fault.New(fault.NoiseProcessorFailed, "").Because(err)
	}
	device, err1 := audioTrack(c.raw)
	track, err2 := audioTrack(c.stream)
	if err := errors.Join(err1, err2); err != nil {
		c.end()
		return nil, fault.New(fault.MicNotFound, "the microphone's stream has no track").Because(err)
	}
	c.track = track
	m.observe(c, device)
	return c, nil
}

// constraints are the defaults with the page's own on top (wire-protocol §5.4).
func (m *Microphone) constraints(deviceID string) any {
	own := m.plane.cfg.MicConstraints
	if own.Type() == js.TypeBoolean && !own.Bool() && deviceID == "" {
		return true
	}
	audio := map[string]any{}
	if own.Type() != js.TypeBoolean || own.Bool() {
		audio["echoCancellation"], audio["noiseSuppression"], audio["autoGainControl"] = true, true, true
	}
	merged := js.ValueOf(audio)
	if own.Type() == js.TypeObject {
		if all, err := jsbridge.Call(property(js.Global(), "Object"), "assign", merged, own); err == nil {
			merged = all
		}
	}
	if deviceID != "" {
		_ = jsbridge.Set(merged, "deviceId", map[string]any{"exact": deviceID})
	}
	return merged
}

// deviceFault is the error for what a browser says about devices
// (wire-protocol §5.4).
func deviceFault(err error) error {
	code := fault.DevicesPermissionDenied
	var thrown *jsbridge.Error
	if errors.As(err, &thrown) {
		switch thrown.Name {
		case "NotAllowedError", "SecurityError":
			code = fault.MicPermissionDenied
		case "NotFoundError", "OverconstrainedError":
			code = fault.MicNotFound
		case "NotReadableError", "AbortError":
			code = fault.MicInUse
		}
	}
	return fault.New(code, "").Because(err)
}

// observe watches the device's track.
func (m *Microphone) observe(c *capture, device js.Value) {
	mute := func(muted bool) {
		c.muted = muted
		m.tell(Event{Kind: HardwareMute, Muted: muted, Track: Track{Kind: "audio", ID: stringOf(device, "id"), Native: device}})
	}
	for event, handle := range map[string]func(){
		"mute": func() {
			if c.muting == nil {
				c.muting = time.AfterFunc(m.muteDelay, func() {
					if c.muting != nil { // neither unmuted nor ended meanwhile
						c.muting = nil
						mute(true)
					}
				})
			}
		},
		"unmute": func() {
			c.stopMuting()
			if c.muted {
				mute(false)
			}
		},
		"ended": func() {
			if m.capture == c {
				m.tell(Event{Kind: MicEnded, Err: fault.New(fault.MicNotFound, "the microphone was unplugged or taken away")})
				m.drop()
			}
		},
	} {
		// A track that can't be listened to is the page's own; it says nothing.
		_, _ = c.scope.Listen(device, event, func(js.Value) { handle() })
	}
}

// use makes c what is sent, nil nothing.
func (m *Microphone) use(c *capture) {
	m.capture = c
	if c != nil {
		_ = jsbridge.Set(c.track, "enabled", m.enabled)
	}
	m.measure()
}

// drop closes the device.
func (m *Microphone) drop() {
	c := m.capture
	if c == nil {
		return
	}
	m.use(nil)
	c.end()
	m.plane.spawn(func() { _ = m.attach() })
}

// attach gives the present track to the present uplink, and says so when it is
// the first time.
func (m *Microphone) attach() error {
	u, c := m.uplink, m.capture
	if u == nil {
		return nil
	}
	peer, err := u.wait(context.Background())
	if err != nil {
		return nil // there is none to attach to; whoever uses it is told why
	}
	track := js.Null()
	if c != nil {
		track = c.track
	}
	if m.uplink != u || m.capture != c {
		return nil // whoever changed that attaches
	}
	if err := peer.replaceTrack(track); err != nil && !errors.Is(err, errClosed) {
		return err
	}
	if c != nil && m.capture == c && m.uplink == u && !c.announced {
		c.announced = true
		m.tell(Event{Kind: MicStarted})
	}
	return nil
}

// join makes u the present uplink.
func (m *Microphone) join(u *Uplink) {
	m.uplink = u
	if m.capture == nil {
		return
	}
	m.plane.spawn(func() {
		if err := m.attach(); err != nil {
			m.plane.cfg.Log("warn", "the microphone could not be attached", map[string]any{"error": err.Error()})
		}
	})
}

func (m *Microphone) leave(u *Uplink) {
	if m.uplink == u {
		m.uplink = nil
	}
}

// tell reports through the present uplink.
func (m *Microphone) tell(ev Event) {
	if m.uplink != nil {
		m.uplink.receive(ev)
	}
}

// measure makes the meter fit what is wanted and what there is.
func (m *Microphone) measure() {
	if m.meter != nil && (!m.wanted || m.capture == nil || !m.meter.stream.Equal(m.capture.stream)) {
		m.meter.close()
		m.meter = nil
	}
	if m.meter == nil && m.wanted && m.capture != nil {
		m.meter = newMeter(m)
	}
}
