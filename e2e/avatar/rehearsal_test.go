package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// rehearsed waits for the peer of a rehearsal and for its end.
const rehearsed = `
	const {diagnostics, load} = await import("/js/dist/index.js")
	const all = async () => ({...held(), ...await diagnostics()})
	await load()
	const before = await all()
	await settled(() => watched.peers.length > 0)
	const peers = watched.peers.length
	let candidates = 0
	watched.peers[0]?.addEventListener("icecandidate", ({candidate}) => { if (candidate) candidates++ })
`

func TestALoadedPageRehearsesWithoutANetwork(t *testing.T) {
	h := pagetest.New(t, localservice.Options{})
	p := openPage(h)
	var got struct {
		Peers, Candidates int
		Before, After     holdings
	}
	p.Do(&got, rehearsed+`
		await settled(async () => Object.entries(await all()).every(([name, n]) => n <= before[name]))
		return {peers, candidates, before, after: await all()}`)
	if got.Peers != 1 || got.Candidates != 0 {
		t.Errorf("%d peers, %d candidates; want one peer without candidates", got.Peers, got.Candidates)
	}
	if got.After.exceeds(got.Before) {
		t.Errorf("held after %+v\n     before %+v", got.After, got.Before)
	}
	if n := h.Count("POST", "/"); n != 0 {
		t.Errorf("%d requests", n)
	}
	if n := len(h.Sessions(h.Context())); n != 0 {
		t.Errorf("the service has %d sessions", n)
	}
}

func TestASessionEndsTheRehearsal(t *testing.T) {
	p := openPage(pagetest.New(t, localservice.Options{}))
	var got struct{ Connected, After holdings }
	p.Do(&got, rehearsed+`
		const talk = await open({agent: "silent", videoEl: document.createElement("video")})
		await talk.session.connect()
		await settled(async () => (await all()).sessions === 1)
		const connected = await all()
		await talk.session.dispose()
		await settled(async () => Object.entries(await all()).every(([name, n]) => n <= before[name]))
		return {connected, after: await all()}`)
	if got.Connected.Sessions != 1 || got.Connected.Peers != 2 {
		t.Errorf("%d sessions and %d peers when connected, want the session's own alone", got.Connected.Sessions, got.Connected.Peers)
	}
	if got.After.Sessions != 0 || got.After.Peers != 0 || got.After.Sockets != 0 {
		t.Errorf("held after %+v", got.After)
	}
}
