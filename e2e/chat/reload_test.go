package chat

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// TestAReloadContinuesTheThread: a page that keeps nothing but the id of its thread continues it after a reload. A visitor
// in another tab can't.
func TestAReloadContinuesTheThread(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open(folder)
	say := func(p *pagetest.Page, text, threadID string) (said struct{ Answer, ThreadID, Kind string }) {
		t.Helper()
		p.Do(&said, `
			const {appInit, ChatSession} = await import("/js/dist/chat.js")
			const {addresses, agents, session} = await (await fetch("/service.json")).json()
			const init = await appInit({widgetId: agents[0].widgetId, ...addresses})
			const chat = new ChatSession({...init, ...session, threadId: `+pagetest.JSON(threadID)+` || undefined})
			try {
				await chat.connect()
				const {text} = await chat.sendText(`+pagetest.JSON(text)+`)
				return {answer: text, threadId: chat.threadId, kind: init.kind}
			} catch (error) {
				return {answer: error.code, threadId: "", kind: init.kind}
			} finally {
				chat.disconnect()
			}`)
		return said
	}
	first := say(p, "My name is Sam", "")
	if first.ThreadID == "" || first.Kind != "widget" {
		t.Fatalf("the first turn: %+v", first)
	}
	if err := p.Navigate(p.Context(), h.URL+folder); err != nil {
		t.Fatal(err)
	}
	again := say(p, "What is my name?", first.ThreadID)
	if again.Answer != "Your name is Sam." || again.ThreadID != first.ThreadID || again.Kind != "widget" {
		t.Errorf("after the reload: %+v", again)
	}
	other := h.Open(folder)
	other.Allow("the server responded with a status of 404 (Not Found)") // for the end of a thread that is not this visitor's
	if got := say(other, "What is my name?", first.ThreadID); got.Answer != "thread_access_denied" {
		t.Errorf("another visitor: %+v", got)
	}
}
