package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestNothingSecretIsPrinted, in whatever way.
func TestNothingSecretIsPrinted(t *testing.T) {
	const token, secret = "djJ8OTk5fHRva2Vu-SECRET", "private-value"
	o := Options{Options: session.Options{Token: token, RequestVars: map[string]any{"name": secret}}}
	var printed strings.Builder
	o.Log = func(level, message string, data map[string]any) { fmt.Fprintln(&printed, level, message, data) }
	o.OnAuditEvent = func(a event.Audit) { fmt.Fprintf(&printed, "%+v\n", a) }
	fmt.Fprintf(&printed, "%v %+v %#v\n", o, o, o)
	connected(t, o, func(r *rig) {
		fmt.Fprintf(&printed, "%v %+v %#v %s\n", r.Session, r.Session, r.Session, r.Session)
		r.Listen(func(event.Event) { panic("KS " + token) })
		for i, reply := range []func(*exchange){
			func(x *exchange) {
				x.reply(401, "application/json").write(`{"message":"Authorization: KS ` + token + ` has expired"}`).end()
			},
			func(x *exchange) {
				x.answer().say(`{"type":"error","content":"bad header Authorization: KS ` + token + `"}`).end()
			},
			func(x *exchange) { x.reply(0, "") },
		} {
			answer := r.later(r.t.Context(), "Hello")
			reply(r.asked(i))
			err := answer.ended().err
			if err == nil {
				t.Error("no error")
			}
			fmt.Fprintf(&printed, "%v %+v %#v\n", err, err, err)
		}
		for _, e := range all[event.Failed](r) {
			b, err := json.Marshal(e)
			if err != nil {
				t.Error(err)
			}
			printed.Write(b)
		}
		snap, err := json.Marshal(r.Snapshot())
		if err != nil {
			t.Error(err)
		}
		printed.Write(snap)
		r.Close()
		synctest.Wait()
	})
	for _, s := range []string{token, secret} {
		if strings.Contains(printed.String(), s) {
			t.Errorf("%q was printed:\n%s", s, printed.String())
		}
	}
	if printed.Len() == 0 {
		t.Error("nothing was printed")
	}
}
