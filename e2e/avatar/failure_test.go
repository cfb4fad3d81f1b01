package avatar

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// rejection is how a call failed.
type rejection struct {
	Code, Phase, Title, Message string
	Status                      int
	Retryable                   bool
}

func (r rejection) want(t *testing.T, code, phase string) {
	t.Helper()
	if r.Code != code || r.Phase != phase || r.Title == "" {
		t.Errorf("rejected with %+v, want code %q and phase %q", r, code, phase)
	}
}

func TestBadTokenIsRefused(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
	p.Allow("401")
	var got struct {
		Init, Connect rejection
	}
	p.Do(&got, `
		const init = await failure(open({init: {widgetId: undefined, token: "nonsense"}}))
		const talk = await open({token: "nonsense", ks: undefined})
		const connect = await failure(talk.session.connect())
		talk.session.disconnect()
		return {init, connect}`)
	got.Init.want(t, "unauthorized", "")
	got.Connect.want(t, "unauthorized", "serverConnect") // at once, not after its limit
}

func TestUnknownRegionIsRefused(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
	var got struct{ Init, Session rejection }
	p.Do(&got, `
		const init = await failure(open({init: {region: "moon"}}))
		const session = await failure(open({region: "moon"}))
		return {init, session}`)
	got.Init.want(t, "bad_request", "")
	got.Session.want(t, "bad_request", "")
}

func TestFullServiceIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
	for _, test := range []struct{ setting, code string }{
		{"exhausted", "capacity_unavailable"},
		{"tierExceeded", "tier_exceeded"},
	} {
		h.Control("/capacity", map[string]any{test.setting: true})
		var got rejection
		p.Do(&got, `
			const talk = await open({videoEl: document.getElementById("video")})
			const result = await failure(talk.session.connect())
			talk.session.disconnect()
			return result`)
		if got.Code != test.code {
			t.Errorf("%s: rejected with %+v, want %s", test.setting, got, test.code)
		}
		h.Control("/capacity", map[string]any{test.setting: false})
	}
	p.Do(nil, `
		const talk = await open({videoEl: document.getElementById("video")})
		await talk.session.connect()`)
}

// A service that accepts connections and never responds.
func TestConnectTimeLimitsNameTheirPhase(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
	p.Allow("WebSocket is closed before the connection is established") // says Chromium itself
	for _, test := range []struct{ path, timeouts, code, phase string }{
		{"/socket.io/", "{serverConnect: 300}", "timeout", "serverConnect"},
		{"/socket.io/", "{overall: 300}", "timeout", "connect"},
		{"/rtc/v1/", "{whepTry: 200, whepTries: 2, whepBackoff: 50}", "whep_timeout", "whep"},
	} {
		h.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.URL.Path, test.path) {
				return false
			}
			<-r.Context().Done()
			return true
		})
		var got rejection
		p.Do(&got, `
			const talk = await open({videoEl: document.getElementById("video"), timeouts: `+test.timeouts+`})
			const result = await failure(talk.session.connect())
			talk.session.disconnect()
			return result`)
		got.want(t, test.code, test.phase)
		h.Intercept(nil)
	}
}
