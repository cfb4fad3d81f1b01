//go:build !js

package chat

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// maxWrites bounds into how many writes a reply is cut.
const maxWrites = 64

// FuzzService answers with any bytes, cut anywhere, in both framings: a service can
// fail a turn, and never break the session. Whatever comes, the events of the turn
// are paired, and the next turn works.
func FuzzService(f *testing.F) {
	for _, script := range []string{
		think + "\n" + text("Hi") + "\n" + lastThink + "\n", blocking + "\n" + denied, "data: " + text("Hi") + "\n\ndata: [DONE]\n\n",
		`{"success":false,"message":"no"}`, "\xef\xbb\xbf{}\r\n[]\nnull\n7\n\"x\"\n{", "<html>\n\n</html>",
		`{"type":"tool","content":"a {}{}","threadId":7}` + "\n" + `{"type":"tool_response","content":"b responded"}`,
		`{"type":"interruption","content":"https://a.example","metadata":{"subtype":"oauth_required"}}`,
		`{"type":"unisphere-tool","content":"{\"questions\":[","metadata":{"runtimeName":"followups-tool"}}` + "\n" +
			`{"type":"unisphere-tool","content":"x: 1","metadata":{"runtimeName":"sources-tool"}}`,
	} {
		for flags := range byte(16) {
			f.Add(flags, uint8(1+len(script)/3), []byte(script))
		}
	}
	f.Fuzz(func(t *testing.T, flags, step uint8, script []byte) {
		// Two flags choose the framing, two how it ends.
		contentType := map[byte]string{0: "application/x-ndjson", 1: "text/event-stream", 2: "application/json", 3: ""}[flags&3]
		run(t, Options{Options: session.Options{RequestVars: map[string]any{"a": 1}}}, func(r *rig) {
			must.Get(r.OnToolCall("a", func(context.Context, event.ToolCall) (any, error) { return 1, nil }, nil))(t)
			r.mustConnect()
			ctx, cancel := context.WithCancel(r.t.Context())
			defer cancel()
			answer := r.later(ctx, "Hello")
			x := r.asked(0).reply(200, contentType)
			piece := max(1+int(step), len(script)/maxWrites)
			for len(script) > 0 && !x.isOver() {
				n := min(len(script), piece)
				x.write(string(script[:n]))
				script = script[n:]
			}
			switch {
			case flags&4 != 0:
				cancel()
			case flags&8 != 0:
				x.broken = errors.New("reset")
				x.end()
			default:
				x.end()
			}
			got := answer.ended()
			if errors.Is(got.err, fault.InternalError) || r.Snapshot().State != Connected {
				t.Errorf("%v in state %s", got.err, r.Snapshot().State)
			}
			count := map[string]int{}
			for _, e := range r.heard() {
				count[e]++
			}
			failed := len(all[event.Failed](r))
			if count["turnStart"] != 1 || count["turnEnd"] != 1 || count["responsePending"] != 1 || count["responseSettled"] != 1 ||
				(failed == 1) != (got.err != nil) || failed > 1 {
				t.Errorf("%v with the events %v", got.err, r.heard())
			}
			r.mustWork()
		})
	})
}
