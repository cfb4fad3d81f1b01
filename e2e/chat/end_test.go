package chat

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/house"
)

// completions are the visits that told of an end.
func completions(h *house.House) (threads []string) {
	for _, v := range h.Visits() {
		if strings.HasSuffix(v.Path, "/thread/session_completed") {
			threads = append(threads, v.Body)
		}
	}
	return threads
}

func TestTheServiceHearsOfAnEndOnce(t *testing.T) {
	t.Parallel()
	h, p := stage(t)
	var got struct {
		Thread, Kept, State, Reason, Completed string
		Empty                                  bool
	}
	p.Do(&got, `
		const kept = await connect()
		await kept.session.sendText("What is a thread?")
		kept.session.disconnect({final: false})
		const silent = await connect()
		silent.session.disconnect()
		const talk = await connect()
		await talk.session.sendText("What is a thread?")
		const {threadId} = talk.session
		talk.session.disconnect({reason: "enough"})
		talk.session.disconnect()
		const told = await talk.until("sessionCompleted")
		await talk.session.dispose()
		return {
			thread: threadId, kept: kept.session.threadId, state: talk.session.state, empty: silent.all("sessionCompleted").length === 0,
			reason: talk.all("ended").map(({reason}) => reason).join(), completed: told.reason + " " + told.sent,
		}`)
	h.AwaitCompletion(got.Thread)
	if ends := completions(h); len(ends) != 1 || strings.Contains(ends[0], got.Kept) {
		t.Errorf("told of the ends of %q, want %s alone", ends, got.Thread)
	}
	if got.State != "closed" || got.Reason != "enough" || got.Completed != "enough true" || !got.Empty {
		t.Errorf("got %+v", got)
	}
}

func TestAClosedTabTellsOfItsEnd(t *testing.T) {
	t.Parallel()
	h, p := stage(t)
	var thread string
	p.Do(&thread, `
		globalThis.talk = await connect()
		await talk.session.sendText("What is a thread?")
		return talk.session.threadId`)
	p.Leave()
	h.AwaitCompletion(thread)
	if ends := completions(h); len(ends) != 1 {
		t.Errorf("told of the ends %q", ends)
	}
}

func TestSessionsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	_, p := stage(t)
	var got struct{ Before, After map[string]int }
	p.Do(&got, `
		await load()
		const all = async () => ({...held(), ...await diagnostics()})
		const before = await all()
		for (let i = 0; i < 20; i++) {
			const {session} = await connect({agent: i % 2 ? "tools" : "receptionist"})
			session.onToolCall("save_note", ({toolMetadata}) => session.respondToTool(toolMetadata.id, {status: "saved"}))
			await session.sendText(i % 2 ? "Save a note: " + i : "What is a thread?")
			const loop = session.streamText("What is a thread?")
			await loop.next()
			await session.dispose()
		}
		await settled(async () => Object.entries(await all()).every(([name, n]) => n <= before[name]))
		return {before, after: await all()}`)
	for name, n := range got.Before {
		if name == "timers" {
			n++ // the program's own clock keeps one timer or none
		}
		if got.After[name] > n {
			t.Errorf("%d %s, %d before", got.After[name], name, n)
		}
	}
}
