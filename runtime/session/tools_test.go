package session

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// service receives the answers of tools and replies as a test requires.
type service struct {
	mu       sync.Mutex
	requests []string
	status   int           // 0 fails on the network; also refusedWith200
	delay    time.Duration // before the reply
	then     func()        // runs before the reply
}

// refusedWith200 is a refusal behind a good status (service.md, "Refusals with HTTP
// 200").
const refusedWith200 = -200

func (s *service) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	s.mu.Lock()
	s.requests = append(s.requests, strings.Join([]string{r.Method, r.URL, r.Header.Get("authorization"), string(r.Body.Data)}, " "))
	status, delay := s.status, s.delay
	s.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.then != nil {
		s.then()
	}
	if status == 0 {
		return nil, fault.New(fault.NetworkError, "")
	}
	body := "{}"
	if status == refusedWith200 {
		status, body = 200, `{"code":"SERVICE_FORBIDDEN","message":"No","objectType":"KalturaAPIException","args":[]}`
	}
	return &fetch.Response{Status: status, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// rig is a session that consists of its tools.
type rig struct {
	*inside
	*Tools
	Conversation
	t       *testing.T
	service *service
}

func runTools(t *testing.T, f func(r *rig)) {
	t.Helper()
	bubble(t, func(s *inside) {
		r := &rig{inside: s, Tools: &s.Tools, Conversation: s.Core.Conversation(), t: t, service: &service{status: 200}}
		s.opts.HTTPClient = fetch.As(r.service)
		s.Token, s.place = "token", "here"
		s.Begin()
		defer s.Die()
		f(r)
	})
}

// tool handles a tool segment with the content and, if id is not empty, of a
// blocking call.
func (r *rig) tool(content, id string) {
	seg := &converse.Segment{Type: converse.Tool, Content: content}
	if id != "" {
		seg.ToolMetadata = &converse.ToolMetadata{ID: id, Type: "client", WaitForResponse: true}
	}
	r.inside.Work.Call(func() { r.Segment(seg) })
	synctest.Wait()
}

// handle registers a handler that notes its arguments.
func (r *rig) handle(name string, schema converse.ArgsSchema, ran *[]string) (remove func()) {
	return must.Get(r.OnToolCall(name, func(_ context.Context, c event.ToolCall) (any, error) {
		*ran = append(*ran, c.Name+string(c.Args))
		return nil, nil
	}, schema))(r.t)
}

func TestACallRunsOncePerTurn(t *testing.T) {
	runTools(t, func(r *rig) {
		var ran []string
		r.handle("go", nil, &ran)
		r.tool(`go {"page":4,"mode":"a"}`, "")
		r.tool(`go { "mode":"a", "page":4 }`, "")
		r.tool(`go {"page":5}`, "")
		r.inside.Work.Call(r.NewTurn)
		r.tool(`go {"page":4,"mode":"a"}`, "")
		r.tool(`{"page":4}`, "") // no name, no call
		want := []string{`go{"page":4,"mode":"a"}`, `go{"page":5}`, `go{"page":4,"mode":"a"}`}
		if !slices.Equal(ran, want) || len(all[event.ToolCalled](r.inside)) != 3 {
			t.Errorf("ran %q", ran)
		}
	})
}

func TestACallTellsAllThatIsKnown(t *testing.T) {
	runTools(t, func(r *rig) {
		r.tool(`open {"id":1}{"id":2}`, "ti-4")
		want := event.ToolCall{
			Name: "open", Args: json.RawMessage(`{"id":2}`), Raw: `open {"id":1}{"id":2}`,
			FusedArgs:    []json.RawMessage{json.RawMessage(`{"id":1}`)},
			ToolMetadata: event.ToolMetadata{ID: "ti-4", WaitForResponse: true, Type: "client"},
		}
		if got := all[event.ToolCalled](r.inside); len(got) != 1 || !reflect.DeepEqual(got[0].ToolCall, want) {
			t.Errorf("%+v", got)
		}
		if len(r.audit) != 1 || r.audit[0].Type != "tool.invoke" || r.audit[0].Reason != "open" {
			t.Errorf("audited %+v", r.audit)
		}
	})
}

// TestFusedCallsAreToldApart by their results, within an utterance.
func TestFusedCallsAreToldApart(t *testing.T) {
	result := func(r *rig, text string) (name string) {
		r.inside.Work.Call(func() {
			if call, ok := r.Response(&converse.Segment{Type: converse.ToolResponse, Content: text}); ok {
				name = call.Name + string(call.Args)
			}
		})
		return name
	}
	runTools(t, func(r *rig) {
		r.tool(`open {"id":1}{"id":2}`, "")
		expect.Equal(t, result(r, "show responded with size 3"), `show{"id":1}`, "revealed")
		r.tool(`look {"id":3}{"id":4}`, "")
		r.inside.Work.Call(r.NewSpeech)
		if got := result(r, "find responded with size 3"); got != "" {
			t.Errorf("revealed %q, of what was said before", got)
		}
	})
}

// TestTheNewestSchemaCounts until its handler is removed.
func TestTheNewestSchemaCounts(t *testing.T) {
	runTools(t, func(r *rig) {
		var ran []string
		r.handle("go", converse.ArgsSchema{"page": {Type: "int", Required: true}}, &ran)
		remove := r.handle("go", converse.ArgsSchema{"page": {Type: "str"}}, &ran)
		r.handle("go", nil, &ran) // has no schema
		r.tool(`go {"page":4}`, "ti-1")
		invalid := all[event.ToolCallInvalid](r.inside)
		if len(ran) != 0 || len(invalid) != 1 || !slices.Equal(invalid[0].Errors, []string{"page must be of type str"}) || len(all[event.ToolCalled](r.inside)) != 0 {
			t.Errorf("ran %q, invalid %+v", ran, invalid)
		}
		if a, err := r.Respond(context.Background(), "ti-1", map[string]any{}); err != nil || a.Reason != "unknown_or_stale" {
			t.Errorf("a call that did not run can be answered: %+v, %v", a, err)
		}
		remove()
		r.tool(`go {"page":5}`, "")
		expect.List(t, ran, []string{`go{"page":5}`, `go{"page":5}`}, "ran")
	})
}

// TestHandlersRunInOrder, after the event, and each outcome is reported.
func TestHandlersRunInOrder(t *testing.T) {
	runTools(t, func(r *rig) {
		refused := errors.New("the visitor said no")
		var ran []int
		before := 0 // events that were heard before the first handler
		for i, handler := range []func() (any, error){
			func() (any, error) { return map[string]any{"at": 1}, nil },
			func() (any, error) { return nil, nil },
			func() (any, error) { panic("a bug in the page") },
			func() (any, error) { return "kept back", refused },
		} {
			if _, err := r.OnToolCall("go", func(context.Context, event.ToolCall) (any, error) {
				if ran = append(ran, i); i == 0 {
					before = len(r.events)
				}
				return handler()
			}, nil); err != nil {
				t.Fatal(err)
			}
		}
		r.tool(`go {}`, "")
		if !slices.Equal(ran, []int{0, 1, 2, 3}) || before != 1 {
			t.Errorf("ran %v behind %d events", ran, before)
		}
		results := all[event.ToolCallResult](r.inside)
		if len(results) != 3 || !results[0].OK || !reflect.DeepEqual(results[0].Value, map[string]any{"at": 1}) ||
			results[1].OK || results[2].OK || !errors.Is(results[2].Error, refused) {
			t.Errorf("%+v", results)
		}
		for i, detail := range []string{"the application's function panicked", refused.Error()} {
			if got := results[i+1].Error; got.Code != fault.HandlerFailed || got.Detail != "the handler of go failed: "+detail {
				t.Errorf("%s: %s", got.Code, got.Detail)
			}
		}
		expect.Equal(t, len(r.crashes), 0, "crashes %v", r.crashes)
	})
}

// TestAHandlerThatOutlivesTheSessionReportsNothing: after the event ended no listener is called.
func TestAHandlerThatOutlivesTheSessionReportsNothing(t *testing.T) {
	runTools(t, func(r *rig) {
		must.Get(r.OnToolCall("go", func(ctx context.Context, _ event.ToolCall) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil))(t)
		must.Get(r.OnOAuthRequired(func(ctx context.Context, _ event.OAuthRequired) (any, error) {
			<-ctx.Done()
			return "late", nil
		}))(t)
		r.tool(`go {}`, "")
		r.inside.Work.Call(func() {
			r.Consent(&converse.Segment{
				Type: converse.Interruption, Content: "https://login.example", Metadata: &converse.Metadata{Subtype: "oauth_required"},
			})
		})
		synctest.Wait()
		before := len(r.events)
		r.inside.Work.Call(r.Die)
		synctest.Wait()
		if late := r.events[before:]; before != 2 || len(late) != 0 {
			t.Errorf("%d events before the end, and after it %+v", before, late)
		}
	})
}

func TestWhatARegistrationNeeds(t *testing.T) {
	run := func(context.Context, event.ToolCall) (any, error) { return nil, nil }
	for name, err := range map[string]error{
		"a name":       CheckToolHandler(" ", run, nil),
		"a function":   CheckToolHandler("go", nil, nil),
		"a schema":     CheckToolHandler("go", run, converse.ArgsSchema{"page": {Type: "string"}}),
		"a function, ": CheckConsentHandler(nil),
	} {
		expect.Error(t, err, fault.BadRequest, "%s", name)
	}
	if err := CheckToolHandler("go", run, converse.ArgsSchema{"page": {Type: "str"}, "any": {}}); err != nil {
		t.Error(err)
	}
}

func TestASpiralIsToldOncePerTurn(t *testing.T) {
	runTools(t, func(r *rig) {
		for range 2 {
			for range 5 {
				r.tool("go {}", "")
			}
			r.inside.Work.Call(r.NewTurn)
		}
		if got := all[event.ToolSpiralDetected](r.inside); !slices.Equal(got, []event.ToolSpiralDetected{{Count: 3, Limit: 3}, {Count: 3, Limit: 3}}) {
			t.Errorf("%v", got)
		}
		*r.opts.ToolSpiralLimit = 0
		for range 50 {
			r.tool("go {}", "")
		}
		if got := all[event.ToolSpiralDetected](r.inside); len(got) != 2 {
			t.Errorf("%v", got)
		}
	})
}

// TestAFloodOfCallsIsCut: what a turn can make us run and remember is bounded.
func TestAFloodOfCallsIsCut(t *testing.T) {
	runTools(t, func(r *rig) {
		r.inside.Work.Call(func() {
			for i := range 2 * maxCalls {
				r.Segment(&converse.Segment{
					Type: converse.Tool, Content: fmt.Sprintf(`go {"n":%d}`, i),
					ToolMetadata: &converse.ToolMetadata{ID: fmt.Sprint(i), WaitForResponse: true},
				})
				r.Consent(consent(fmt.Sprintf(`{"auth_url":"https://a.example/%d"}`, i)))
			}
		})
		if calls, asked := len(all[event.ToolCalled](r.inside)), len(all[event.OAuthRequired](r.inside)); calls != maxCalls || asked != maxCalls {
			t.Errorf("%d calls, %d consents", calls, asked)
		}
		expect.Equal(t, len(r.waiting), maxCalls, "answers are waited for")
	})
}

func consent(content string) *converse.Segment {
	seg, _ := converse.Decode([]byte(`{"type":"interruption","content":` + content +
		`,"metadata":{"subtype":"oauth_required","tool_name":"mail","tool_display_name":"Mail"}}`))
	return &seg
}

func TestConsentIsAskedForOncePerTurn(t *testing.T) {
	runTools(t, func(r *rig) {
		var mu sync.Mutex
		var asked []event.OAuthRequired
		ask := func(_ context.Context, o event.OAuthRequired) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, o)
			return "granted", nil
		}
		var removes []func()
		for range 2 {
			remove := must.Get(r.OnOAuthRequired(ask))(t)
			removes = append(removes, remove)
		}
		for _, content := range []string{
			`{"auth_url":"https://a.example/1"}`, `"https://a.example/1"`, `{"auth_url":"javascript:alert(1)"}`, `""`, `{}`, `7`,
		} {
			r.inside.Work.Call(func() { r.Consent(consent(content)) })
		}
		want := event.OAuthRequired{AuthURL: "https://a.example/1", ToolName: "mail", ToolDisplayName: "Mail"}
		if got := all[event.OAuthRequired](r.inside); !slices.Equal(got, []event.OAuthRequired{want}) || !slices.Equal(asked, []event.OAuthRequired{want, want}) {
			t.Errorf("told %+v, asked %+v", got, asked)
		}
		if got := all[event.OAuthRequiredResult](r.inside); len(got) != 2 || !got[0].OK || got[0].Value != "granted" || got[0].Result != want {
			t.Errorf("results %+v", got)
		}
		removes[0]()
		r.inside.Work.Call(r.NewTurn)
		r.inside.Work.Call(func() { r.Consent(consent(`"https://a.example/1"`)) })
		synctest.Wait()
		expect.Len(t, asked, 3, "how often asked")
	})
}

// TestHandlersEndWithTheSession: the context of the running handler ends, and the next
// handler does not start.
func TestHandlersEndWithTheSession(t *testing.T) {
	runTools(t, func(r *rig) {
		ran := 0
		for range 2 {
			if _, err := r.OnToolCall("go", func(ctx context.Context, _ event.ToolCall) (any, error) {
				ran++
				<-ctx.Done()
				return nil, ctx.Err()
			}, nil); err != nil {
				t.Fatal(err)
			}
		}
		r.tool("go {}", "")
		r.Die()
		synctest.Wait()
		expect.Equal(t, ran, 1, "handlers ran")
	})
}

// TestAFusedCallIsBoundedToo, because each result leads to a call.
func TestAFusedCallIsBoundedToo(t *testing.T) {
	runTools(t, func(r *rig) {
		r.tool("go "+strings.Repeat("{}", 2*maxCalls), "ti-1")
		r.inside.Work.Call(func() {
			for i := range 2 * maxCalls {
				text := "tool" + strconv.Itoa(i) + " responded with size 1"
				if call, ok := r.Response(&converse.Segment{Type: converse.ToolResponse, Content: text}); ok {
					r.Run(call)
				}
			}
		})
		expect.Equal(t, len(all[event.ToolCalled](r.inside)), maxCalls, "calls")
	})
}

// partners are tokens and their accounts. js/test/options.test.ts reads them too,
// because the facade reads the account from the token before the program is loaded.
//
//go:embed testdata/partners.json
var partners []byte

func TestPartnerOf(t *testing.T) {
	var cases []struct{ Token, Partner string }
	must.Do(t, json.Unmarshal(partners, &cases))
	for _, c := range cases {
		expect.Equal(t, PartnerOf(c.Token), c.Partner, "%q", c.Token)
	}
}

func TestADynamicPromptIsCleared(t *testing.T) {
	var none map[string]any
	for name, data := range map[string]any{"nil": nil, "nil map": none} {
		vars, err := dynamicPrompt(data)
		if value, cleared := vars[pageContext]; err != nil || !cleared || value != nil {
			t.Errorf("%s: %v, %v", name, vars, err)
		}
	}
}
