//go:build js && wasm

package media

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// streamID is what tells a stream's requests from others.
func streamID(url string) string { return url[strings.LastIndex(url, "/")+1:] }

func tracksOf(stream js.Value) []string {
	var kinds []string
	tracks := stream.Call("getTracks")
	for i := range tracks.Length() {
		kinds = append(kinds, tracks.Index(i).Get("kind").String())
	}
	return kinds
}

func TestPageShowsTheAvatar(t *testing.T) {
	for _, codec := range []string{"", "VP8", "no such codec"} {
		t.Run("codec "+codec, func(t *testing.T) {
			video := newElement(t, "video", true)
			p := newPageEngine(t, func(c *Config) {
				c.VideoEl, c.VideoCodec, c.AudioCodec = video, codec, map[string]string{"VP8": "PCMU"}[codec]
			})
			j := newJournal()
			d, url, size := watch(t, p, j)
			if size != (Picture{Width: 640, Height: 360}) {
				t.Errorf("%+v", size)
			}
			for _, line := range []string{
				"stv mark whepSent", "stv mark whepAnswer", "stv mark firstTrack", "stv mark firstFrame",
				"stv track video", "stv track audio", "stv size 640x360", "stv ice connected",
			} {
				expect.Equal(t, j.count(line), 1, "how often %q was reported", line)
			}
			stream := p.AvatarStream()
			if !video.Get("srcObject").Equal(stream) || len(tracksOf(stream)) != 2 || !video.Get("playsInline").Bool() {
				t.Errorf("the element shows %v", tracksOf(stream))
			}
			must.Wait(t, "statistics", func() bool {
				st, err := d.Stats(background)
				return err == nil && st.Known && st.HasVideo && st.Video.BytesReceived > 0 && st.Audio.BytesReceived > 0 && st.Video.FramesDecoded > 0 &&
					st.Video.PacketsReceived > 0 && st.CandidateType == "relay" && st.Picture() == size
			})

			// A recovery swaps the tracks and nothing else.
			before := stream.Call("getVideoTracks").Index(0).Get("id").String()
			ctx := testContext(t)
			own := must.Get(d.Stats(ctx))(t)
			d.Restart(ctx)
			if total, err := p.Stats(ctx); err != nil || total.Video.FramesDecoded < own.Video.FramesDecoded || total.Audio.BytesReceived < own.Audio.BytesReceived {
				t.Errorf("the totals forget a peer: %+v of %+v, %v", total, own, err)
			}
			must.Do(t, d.Subscribe(ctx, url))
			must.Get(d.Playable(ctx, true))(t)
			if after := stream.Call("getVideoTracks").Index(0).Get("id").String(); after == before || len(tracksOf(stream)) != 2 {
				t.Errorf("tracks %v, the picture's %s before and %s after", tracksOf(stream), before, after)
			}
			if !p.AvatarStream().Equal(stream) || !video.Get("srcObject").Equal(stream) || video.Get("writes").Int() != 1 {
				t.Errorf("srcObject was written %v times", video.Get("writes"))
			}
			if video.Get("paused").Bool() {
				t.Error("the picture does not go on")
			}
			d.Close()
			p.ClearTracks()
			if !video.Get("srcObject").IsNull() || len(tracksOf(stream)) != 0 {
				t.Error("the element still has the stream")
			}
			must.Wait(t, "the release", func() bool {
				return reflect.DeepEqual(requests(t, streamID(url)), []string{"POST", "DELETE", "POST", "DELETE"})
			})
		})
	}
}

// A page that goes away runs nothing after its pagehide listener returned.
func TestTheReleaseLeavesBeforeCloseReturns(t *testing.T) {
	p := newPageEngine(t, nil)
	d, url, _ := watch(t, p, newJournal())
	sent := eval(t, "return []")
	own := js.Global().Get("fetch")
	replace(t, js.Global(), "fetch", eval(t, "return (url, init) => { b.push(init.method, init.keepalive, init.body); return a(url, init) }", own, sent))
	d.Close()
	expect.Equal(t, sent.Call("join").String(), "DELETE,true,", "sent")
	must.Wait(t, "the release", func() bool { return reflect.DeepEqual(requests(t, streamID(url)), []string{"POST", "DELETE"}) })
}

func TestPlayIsCalledOncePerBinding(t *testing.T) {
	video, audio := newElement(t, "video", true), newElement(t, "audio", true)
	p := newPageEngine(t, func(c *Config) { c.VideoEl, c.AudioEl = video, audio })
	watch(t, p, newJournal())
	for _, el := range []js.Value{video, audio} {
		if el.Get("plays").Int() != 1 || el.Get("writes").Int() != 1 {
			t.Errorf("%s: %v plays, %v bindings", el.Get("tagName"), el.Get("plays"), el.Get("writes"))
		}
	}
	if v, a := tracksOf(video.Get("srcObject")), tracksOf(audio.Get("srcObject")); !reflect.DeepEqual(v, []string{"video"}) || !reflect.DeepEqual(a, []string{"audio"}) {
		t.Errorf("video shows %v, audio %v", v, a)
	}
	expect.Equal(t, len(tracksOf(p.AvatarStream())), 2, "the merged stream lacks a track")
}

func TestElementsAreSwapped(t *testing.T) {
	first, second, audio := newElement(t, "video", true), newElement(t, "video", true), newElement(t, "audio", true)
	p := newPageEngine(t, func(c *Config) { c.VideoEl = first })
	renderer := p.renderer
	renderer.SetOutputVolume(0.5)
	watch(t, p, newJournal())
	all := renderer.AvatarStream()
	expect.Equal(t, first.Get("volume").Float(), 0.5, "the volume was not applied")
	renderer.SetOutputMuted(false)
	if first.Get("muted").Bool() {
		t.Error("the element is still muted")
	}
	renderer.SetOutputMuted(true)

	must.Do(t, renderer.SetAudioEl(audio))
	if audio.Get("volume").Float() != 0.5 || !audio.Get("muted").Bool() {
		t.Error("volume and muting did not follow the voice")
	}
	if first.Get("srcObject").Equal(all) || len(tracksOf(first.Get("srcObject"))) != 1 {
		t.Error("the picture's element still has the voice")
	}
	must.Do(t, renderer.SetVideoEl(second))
	if !first.Get("srcObject").IsNull() || len(tracksOf(second.Get("srcObject"))) != 1 {
		t.Error("the picture did not move")
	}
	must.Do(t, renderer.SetAudioEl(js.Null()))
	if !second.Get("srcObject").Equal(all) || !audio.Get("srcObject").IsNull() || !renderer.VideoEl().Equal(second) || !renderer.AudioEl().IsNull() {
		t.Error("the voice was not merged back")
	}
	expect.Error(t, renderer.SetVideoEl(js.ValueOf("#video")), fault.BadRequest, "a selector")
	expect.Error(t, CheckElement("videoEl", js.ValueOf(map[string]any{"srcObject": nil})), fault.BadRequest, "an object that can't play")
	expect.Error(t, CheckElement("videoEl", eval(t, "return 5n")), fault.BadRequest, "a bigint")
	if !renderer.SetOutputDevice(testContext(t), "") || renderer.SetOutputDevice(testContext(t), "no such device") {
		t.Error("the choice of a speaker is reported wrong")
	}
}

func TestNoElement(t *testing.T) {
	p := newPageEngine(t, nil)
	j := newJournal()
	_, _, size := watch(t, p, j)
	if size.Missing {
		t.Error("a frame was waited for that no element shows")
	}
	j.await(t, "stv track video")
	for _, ev := range j.events {
		if ev.Kind == TrackAdded {
			if track := ev.Track.Native.(js.Value); track.Get("kind").String() != ev.Track.Kind || track.Get("id").String() != ev.Track.ID {
				t.Errorf("track %+v", ev.Track)
			}
			if streams := ev.Track.Streams.(js.Value); streams.Get("length").Int() != 1 {
				t.Error("no streams")
			}
		}
	}
	expect.Equal(t, len(tracksOf(p.AvatarStream())), 2, "the stream lacks a track")
}

// TestLateSizeIsReported: without an element the picture may be ready before the first frame is
// decoded.
func TestLateSizeIsReported(t *testing.T) {
	prototype := js.Global().Get("RTCPeerConnection").Get("prototype")
	own := prototype.Get("getStats")
	replace(t, prototype, "getStats", eval(t, "return async () => new Map()"))
	p := newPageEngine(t, nil)
	j := newJournal()
	d, _, size := watch(t, p, j)
	if size != (Picture{}) || j.count("stv size 640x360") != 0 {
		t.Fatalf("the size is known: %+v", size)
	}
	prototype.Set("getStats", own)
	for range 2 {
		must.Wait(t, "statistics with the size", func() bool {
			st, err := d.Stats(background)
			return err == nil && st.Picture() == Picture{Width: 640, Height: 360}
		})
	}
	j.await(t, "stv size 640x360")
	expect.Equal(t, j.count("stv size 640x360"), 1, "how often reported")
}

// TestReportsAreReadOneAfterTheOther: the totals would shrink if an older report was kept after a newer one.
func TestReportsAreReadOneAfterTheOther(t *testing.T) {
	prototype := js.Global().Get("RTCPeerConnection").Get("prototype")
	counted := eval(t, `
		const counted = function () {
			counted.most = Math.max(counted.most, ++counted.running)
			return a.call(this).finally(() => counted.running--)
		}
		return Object.assign(counted, {running: 0, most: 0})`, prototype.Get("getStats"))
	replace(t, prototype, "getStats", counted)
	d, _, _ := watch(t, newPageEngine(t, nil), newJournal())
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if _, err := d.Stats(testContext(t)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	expect.Equal(t, counted.Get("most").Int(), 1, "reports were requested at once")
}

func TestHiddenPageNeedsNoFrame(t *testing.T) {
	replace(t, js.Global().Get("document"), "visibilityState", "hidden")
	video := newElement(t, "video", true)
	replace(t, video, "requestVideoFrameCallback", eval(t, "return () => 0")) // nothing is painted
	p := newPageEngine(t, func(c *Config) { c.VideoEl = video })
	if _, _, size := watch(t, p, newJournal()); size.Missing {
		t.Error("a hidden page waited for a frame")
	}
}

func TestFrozenPictureIsMissing(t *testing.T) {
	video := newElement(t, "video", true)
	replace(t, video, "requestVideoFrameCallback", eval(t, "return () => 0"))
	p := newPageEngine(t, func(c *Config) {
		c.VideoEl = video
		c.Limits.FirstFrame = 1e9 // a second
	})
	if _, _, size := watch(t, p, newJournal()); !size.Missing {
		t.Errorf("%+v", size)
	}
}

func TestBlockedPlayback(t *testing.T) {
	video := newElement(t, "video", false)
	p := newPageEngine(t, func(c *Config) { c.VideoEl = video })
	blocked := eval(t, `return () => { a.plays++; return Promise.reject(new DOMException("no gesture", "NotAllowedError")) }`, video)
	replace(t, video, "play", blocked)
	j := newJournal()
	if _, _, size := watch(t, p, j); size.Missing {
		t.Error("a frame was waited for that can't be painted")
	}
	line := describe(Event{Kind: PlaybackBlocked, Channel: event.ChannelSTV})
	j.await(t, line)
	if n := j.count(line); n != 1 || video.Get("plays").Int() != 1 {
		t.Errorf("%d reports of %v tries", n, video.Get("plays"))
	}
	for _, ev := range j.events {
		if ev.Kind == PlaybackBlocked && ev.Media != "video" {
			t.Errorf("blocked %q", ev.Media)
		}
	}
	if p.ResumePlayback(testContext(t)) {
		t.Error("resumed without a gesture")
	}
	video.Set("muted", true)
	replace(t, video, "play", eval(t, "return () => HTMLMediaElement.prototype.play.call(a)", video))
	if !p.ResumePlayback(testContext(t)) || video.Get("paused").Bool() {
		t.Error("not resumed")
	}
}

func TestNothingBoundDoesNotResume(t *testing.T) {
	p := newPageEngine(t, nil)
	if p.ResumePlayback(testContext(t)) {
		t.Error("resumed nothing")
	}
}

func TestPageOwnElementThatThrows(t *testing.T) {
	bad := eval(t, `return {get srcObject() { return null }, set srcObject(v) { throw new TypeError("no streams here") }, play() {}}`)
	p := newPageEngine(t, func(c *Config) { c.VideoEl = bad })
	j := newJournal()
	watch(t, p, j)
	found := false
	for _, ev := range j.events {
		found = found || ev.Kind == AttachFailed && ev.Media == "video" && strings.Contains(ev.Err.Error(), "no streams here")
	}
	if !found {
		t.Errorf("no report in %q", j.lines)
	}
}

// Closing a peer while Chromium dispatches its track event would hang the page.
func TestCloseFromATrackListener(t *testing.T) {
	url := newStream(t)
	p := newPageEngine(t, nil)
	j := newJournal()
	var d *Subscriber
	states := eval(t, "return []")
	d = p.NewSubscriber(func(ev Event) {
		j.notify(ev)
		if ev.Kind == TrackAdded {
			pc := d.current().peer.pc
			d.Close()
			states.Call("push", pc.JSValue().Get("signalingState"))
		}
	})
	_ = d.Subscribe(testContext(t), url)
	j.await(t, "stv track video")
	if state := states.Index(0).String(); state == "closed" {
		t.Error("the peer was closed within its event")
	}
	expect.Equal(t, j.count("stv track audio"), 0, "a closed peer was heard")
	must.Wait(t, "the release", func() bool { return reflect.DeepEqual(requests(t, streamID(url)), []string{"POST", "DELETE"}) })
}

func TestWebKitIsAskedAgainWithoutQueries(t *testing.T) {
	seen := eval(t, "return []")
	p := newPageEngine(t, func(c *Config) {
		c.ICEServers, c.TURNServer, c.TURNCredentials = nil, "turn.example", &appinit.TURNCredentials{Username: "u", Credential: "c"}
	})
	own := js.Global().Get("RTCPeerConnection")
	replace(t, js.Global(), "RTCPeerConnection", eval(t, `return function(config) {
		b.push(config.iceServers[0].urls.join(), config.iceTransportPolicy, config.bundlePolicy);
		if (config.iceServers[0].urls.some(u => u.includes("?"))) throw new SyntaxError("TURN URL query string is not allowed");
		return new a(config) }`, own, seen))
	d := p.NewSubscriber(newJournal().notify)
	defer d.Close()
	must.Get(d.current().wait(testContext(t)))(t)
	want := "turn:turn.example:80?transport=udp,turn:turn.example:443?transport=udp,turn:turn.example:80?transport=tcp,turns:turn.example:443?transport=tcp,relay,max-bundle," +
		"turn:turn.example:80,turn:turn.example:443,turn:turn.example:80,turns:turn.example:443,relay,max-bundle"
	expect.Equal(t, seen.Call("join").String(), want, "constructed with")
}

func TestPageWithoutWebRTC(t *testing.T) {
	p := newPageEngine(t, nil)
	replace(t, js.Global(), "RTCPeerConnection", js.Undefined())
	d := p.NewSubscriber(newJournal().notify)
	defer d.Close()
	expect.Error(t, d.Subscribe(testContext(t), serverURL(t)+"/garbage"), fault.UnsupportedBrowser, "error")
}

func TestManyCyclesLeaveNothing(t *testing.T) {
	video := newElement(t, "video", true)
	p := newPageEngine(t, func(c *Config) { c.VideoEl = video })
	url := newStream(t)
	before := jsbridge.LiveFuncs()
	for range 10 {
		d, u, v := p.NewSubscriber(newJournal().notify), p.NewPublisher(newJournal().notify), p.NewVoice(newJournal().notify)
		u.Prepare()
		ctx := testContext(t)
		must.Do(t, d.Subscribe(ctx, url))
		must.Get(d.Playable(ctx, true))(t)
		d.Restart(ctx) // waits until the viewer is released, so that the next one can subscribe
		d.Close()
		u.Close()
		v.Close()
		p.ClearTracks()
	}
	must.Wait(t, "the release of all callbacks", func() bool { return jsbridge.LiveFuncs() == before })
}

// onOffer calls fn when a peer has begun to make an offer.
func onOffer(t *testing.T, fn func()) {
	t.Helper()
	hook := jsbridge.FuncOf(func(js.Value, []js.Value) any {
		fn()
		return nil
	})
	t.Cleanup(hook.Release)
	prototype := js.Global().Get("RTCPeerConnection").Get("prototype")
	replace(t, prototype, "createOffer", eval(t, "return function(...args) { const offer = a.apply(this, args); b(); return offer }",
		prototype.Get("createOffer"), hook.Value))
}

// The promises of a closed RTCPeerConnection never settle: a goroutine that waited for one
// would never end.
func TestClosingDuringAnOperationLeavesNothing(t *testing.T) {
	var d *Subscriber
	onOffer(t, func() { d.Close() })
	p := newPageEngine(t, nil)
	before := runtime.NumGoroutine()
	for range 10 {
		d = p.NewSubscriber(newJournal().notify)
		expect.Fail(d.current().wait(testContext(t)))(t, ErrClosed, "error")
	}
	must.Wait(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}

func TestAnOperationThatNeverEndsDoesNotKeepAPeerOpen(t *testing.T) {
	prototype := js.Global().Get("RTCPeerConnection").Get("prototype")
	replace(t, prototype, "createOffer", eval(t, "return () => new Promise(() => {})"))
	own := closeLimit
	closeLimit = time.Millisecond
	t.Cleanup(func() { closeLimit = own })
	p := newPageEngine(t, nil) // waits for the end of all peers
	d := p.NewSubscriber(newJournal().notify)
	must.Wait(t, "the peer", func() bool { return d.current().peer != nil })
	d.Close()
}

func TestAPanicInAStateListenerIsReported(t *testing.T) {
	reported := make(chan error, 100)
	p := newPageEngine(t, func(c *Config) { c.OnPanic = func(err error) { reported <- err } })
	d := p.NewSubscriber(func(ev Event) {
		if ev.Kind == ICEState {
			panic("on purpose")
		}
	})
	t.Cleanup(d.Close)
	must.Do(t, d.Subscribe(testContext(t), newStream(t)))
	expect.Error(t, <-reported, fault.InternalError, "error")
}

// A page can add the listener that requests the measurement while its session is closed.
func TestAClosedEngineOpensNoAudioContext(t *testing.T) {
	made := eval(t, `return {count: 0}`)
	replace(t, js.Global(), "AudioContext", eval(t, `const made = a; return class extends AudioContext { constructor() { super(); made.count++ } }`, made))
	p := newPageEngine(t, nil)
	p.MeasureSpeech(true)
	p.MeasureSpeech(false)
	if n := made.Get("count").Int(); n != 1 {
		t.Fatalf("%d contexts were made before", n)
	}
	p.Close()
	p.MeasureSpeech(true)
	if n := made.Get("count").Int(); n != 1 {
		t.Errorf("a closed engine has made %d contexts", n-1)
	}
}
