package avatar

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

// seen describes a frame of the picture.
type seen struct{ Width, Height, Colours int }

// want fails the test unless there is a picture with something in it.
func (s seen) want(t *testing.T) {
	t.Helper()
	if s.Width == 0 || s.Height == 0 || s.Colours < 16 {
		t.Errorf("the picture is %d×%d with %d colours", s.Width, s.Height, s.Colours)
	}
}

// TestAPreparedSessionHasItsRelay: after prepare, the relay's candidates, for which a connect
// waits longest, are gathered.
func TestAPreparedSessionHasItsRelay(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	var got struct {
		Before, After int
		Relayed       bool
		Events        []string
		Picture       seen
	}
	p.Do(&got, `
		globalThis.talk = await open({videoEl: document.getElementById("video")})
		const {session} = talk
		await session.prepare()
		const [peer] = watched.peers
		while (peer.iceGatheringState !== "complete") await new Promise((resolve) => peer.addEventListener("icegatheringstatechange", resolve, {once: true}))
		const before = {before: watched.peers.length, relayed: peer.localDescription.sdp.includes("typ relay"), events: talk.events.map(({name}) => name)}
		await session.connect()
		return {...before, after: watched.peers.length, picture: await picture(session.videoEl)}`)
	if got.Before != 1 || got.After != 2 {
		t.Errorf("%d peers after preparing and %d after connecting, want the picture's, and the microphone's", got.Before, got.After)
	}
	if !got.Relayed {
		t.Error("the offer has no candidate of the relay")
	}
	if len(got.Events) > 0 {
		t.Errorf("preparing emits %q", got.Events)
	}
	got.Picture.want(t)
}

const robinSays = "Hello there! I'm Robin, the demo receptionist. How can I help you?"

func TestAvatarAppearsAndSaysItsOpeningLine(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var got struct {
		Picture seen
		Ready   struct {
			Mode                    string
			VideoWidth, VideoHeight int
			Degraded                bool
		}
		Order       []string
		Said, Spoke string
		Partial     string
		Relayed     []string
		State       string
		Timings     map[string]int
	}
	p.Call(&got, "session.js", "avatarAppearsAndSaysItsOpeningLine")
	got.Picture.want(t)
	if got.Ready.Mode != "video" || got.Ready.Degraded || got.Ready.VideoWidth != got.Picture.Width || got.Ready.VideoHeight != got.Picture.Height {
		t.Errorf("mediaReady %+v, the picture is %+v", got.Ready, got.Picture)
	}
	const order = "preparing connecting streamReady track track videoMetadata mediaReady disclosure connected connectTimings avatarStartTalking"
	expect.Equal(t, strings.Join(got.Order, " "), order, "events")
	for what, text := range map[string]string{"sentences": got.Said, "captions": got.Partial, "the whole": got.Spoke} {
		expect.Equal(t, text, robinSays, "%s", what)
	}
	expect.List(t, got.Relayed, []string{"relay"}, "the picture comes through candidates")
	if s := h.OnlySession(); s.State != live.Listening || s.Agent != "receptionist" {
		t.Errorf("the service has %+v", s)
	}
	t.Logf("first frame after %d ms, connected after %d ms", got.Timings["firstFrame"], got.Timings["connected"])
}
