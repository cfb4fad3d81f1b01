package hostile

import (
	"slices"
	"strings"
	"testing"
)

// Two tabs talk on one thread. What is said in one is known in the other; one may
// go, however it goes, and the service hears of the end when the last one has gone
// (wire-protocol §8.10).
func TestTwoTabsOnOneThread(t *testing.T) {
	t.Parallel()
	for how, leave := range map[string]string{
		"disconnected": `two.session.disconnect()`,
		"closed":       `other.window.close()`,
		"left open":    `two.session.disconnect({final: false})`,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h, p := openPage(t)
			var got struct {
				Thread                 string
				Threads                []string
				Known, Back, At, After string
				Together               []string
				First, Last            []string
				Complaints             []string
			}
			p.Do(&got, `
				const how = "`+how+`"
				const one = await chatOf()
				await one.session.connect()
				await one.session.sendText("My name is Sam.")
				const {threadId} = one.session
				const other = await anotherTab()
				const two = await other.chatOf({threadId})
				await two.session.connect()
				const known = (await two.session.sendText("What is my name?")).text
				await two.session.sendText("My name is Ada.")
				const back = (await one.session.sendText("What is my name?")).text
				// At the same time, and one of them stopped.
				const slow = outcome(() => one.session.sendText("Think about it", {signal: AbortSignal.timeout(300)}))
				const together = await Promise.all([1, 2, 3].map(() => outcome(() => two.session.sendText("What is my name?"))))
				together.push(await slow)
				const at = outcome(() => one.session.sendText("What is my name?"))
				const threads = [one.session.threadId, two.session.threadId]
				`+leave+`
				const first = two.completions
				const after = (await one.session.sendText("What did we talk about?")).text
				if (how === "disconnected") await two.until("sessionCompleted")
				globalThis.one = one
				return {thread: threadId, threads, known, back, together, at: await at, after, first: two.completions, complaints: other.complaints}`)
			if ends := h.completions(); len(ends) != 0 {
				t.Errorf("%q was reported while a tab was still there", ends)
			}
			p.Do(&got.Last, `
				one.session.disconnect()
				await one.until("sessionCompleted")
				return one.completions`)
			h.AwaitSessionCompleted(got.Thread)
			if ends := h.completions(); len(ends) != 1 {
				t.Errorf("the reported ends are %q", ends)
			}
			if how == "disconnected" && !slices.Equal(got.First, []string{"disconnect suppressed"}) || !slices.Equal(got.Last, []string{"disconnect"}) {
				t.Errorf("the first tab reported %q, the last %q", got.First, got.Last)
			}
			if got.Known != "Your name is Sam." || got.Back != "Your name is Ada." || got.At != "Your name is Ada." || !strings.Contains(got.After, "My name is Ada.") {
				t.Errorf("got %+v", got)
			}
			if want := []string{"Your name is Ada.", "Your name is Ada.", "Your name is Ada.", "aborted"}; !slices.Equal(got.Together, want) {
				t.Errorf("at the same time: %q", got.Together)
			}
			if got.Threads[0] != got.Thread || got.Threads[1] != got.Thread || len(got.Complaints) != 0 {
				t.Errorf("threads %q; the other tab says %q", got.Threads, got.Complaints)
			}
		})
	}
}

// A tab that takes its conversation to the face stays on the thread: the goodbye of
// its old transport is taken back at once, not with the next beat.
func TestASwitchIsNoGoodbyeToOtherTabs(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	var got struct {
		Thread      string
		Said        []string
		First, Last []string
	}
	p.Do(&got, `
		const beat = {presenceHeartbeatMs: 60_000, presenceStaleMs: 180_000}
		const one = await agentOf(beat)
		await one.session.connect()
		await one.session.sendText("My name is Sam.")
		const {threadId} = one.session
		const other = await anotherTab()
		const two = await other.chatOf({threadId, ...beat})
		await two.session.connect()
		await two.session.sendText("What is my name?")
		const said = []
		const channel = new BroadcastChannel("kaltura-agents:thread:" + threadId)
		const back = new Promise((resolve) => channel.onmessage = ({data}) => {
			const {t} = JSON.parse(data)
			said.push(t)
			if (t === "alive") resolve()
		})
		await one.session.switchMode("avatar")
		await within(back, 10_000)
		channel.close()
		two.session.disconnect()
		await two.until("sessionCompleted")
		const first = two.completions
		await one.session.sendText("What is my name?") // by then this tab has heard the other's goodbye
		one.session.disconnect()
		await one.until("sessionCompleted")
		return {thread: threadId, said, first, last: one.completions}`)
	if want := []string{"hello", "ack", "bye", "alive"}; !slices.Equal(got.Said, want) {
		t.Errorf("the tabs said %q, want %q", got.Said, want)
	}
	if !slices.Equal(got.First, []string{"disconnect suppressed"}) || !slices.Equal(got.Last, []string{"disconnect"}) {
		t.Errorf("the first tab reported %q, the last %q", got.First, got.Last)
	}
	h.AwaitSessionCompleted(got.Thread)
}
