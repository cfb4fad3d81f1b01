package localservice_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestIdleThreadIsCompletedOnce: the service completes a thread without further
// requests, and a thread with a live session once that session has ended. It does not
// complete a thread again that its client has completed.
func TestIdleThreadIsCompletedOnce(t *testing.T) {
	t.Parallel()
	const limit = 3 * time.Second
	var log syncBuffer
	info := servicetest.Start(t, localservice.Options{
		Script: script(fine), IdleThread: limit, Recovery: -1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}).Info()
	ks := conversationToken(t, info, "silent", "sam")
	talk := func() string {
		thread, _, _ := begin(t, info, ks, `{"userMessage":"Hello"}`)
		return thread
	}
	completions := func(thread, reason string) int {
		return strings.Count(log.String(), "\"session completed\" thread="+store.ThreadLabel(thread)+" reason="+reason)
	}
	until := func(thread string) {
		t.Helper()
		must.Wait(t, "the completion", func() bool { return completions(thread, "idle") > 0 })
	}
	// On a busy machine, try may take so long that its thread is idle meanwhile: then
	// it is called again.
	inTime := func(try func()) {
		for start := time.Now(); ; start = time.Now() {
			if try(); time.Since(start) < limit/2 {
				return
			}
		}
	}
	var told, live, idle string
	inTime(func() {
		told = talk()
		postJSON(t, info.GenieURL+"/thread/session_completed", ks, `{"id":"`+told+`"}`)
	})
	var s *intruder
	inTime(func() {
		live = talk()
		s = intrude(t, info, ks)
		if !s.join(ks, live) {
			t.Fatal("not joined")
		}
	})
	for range 2 {
		idle = talk()
		until(idle)
	}
	expect.Equal(t, completions(live, "idle"), 0, "the thread of a live session was completed")
	must.Do(t, s.ws.CloseNow())
	until(live)
	until(talk())
	for thread, reason := range map[string]string{told: "client", live: "idle", idle: "idle"} {
		if n, all := completions(thread, reason), completions(thread, ""); n != 1 || all != 1 {
			t.Errorf("a thread was completed %d times, %d of them by reason %s; want once", all, n, reason)
		}
	}
}
