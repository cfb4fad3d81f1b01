package avatar

import (
	"testing"
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
	_, p := open(t)
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
