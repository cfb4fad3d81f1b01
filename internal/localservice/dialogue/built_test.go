package dialogue

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/directory"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/localservice/toolrun"
	"github.com/agentruntime/agentruntime/internal/must"
)

// shop is a service for api tools, which notes what it is asked.
type shop struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newShop(t *testing.T) *shop {
	s := &shop{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.RequestURI+" "+r.Header.Get("X-Key"))
		s.mu.Unlock()
		if r.URL.Path == "/broken" {
			w.WriteHeader(500)
			return
		}
		fmt.Fprintf(w, `{"path":%q,"key":%q}`, r.URL.Path, r.Header.Get("X-Key"))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shop) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asked, "\n")
}

// builtBy makes an agent of an intellect that change has set up, with these tools.
func (f *fixture) builtBy(tools []store.Tool, change func(in *store.Intellect, ids []string)) Caller {
	f.t.Helper()
	ctx := context.Background()
	partners := must.Get(f.cfg.Store.Partners(ctx))(f.t)
	partner := partners[0].ID
	in := store.NewIntellect()
	var ids []string
	for _, tool := range tools {
		r := must.Get(store.ToolRecords(f.cfg.Store).Create(ctx, partner, tool))(f.t)
		ids = append(ids, r.ID)
	}
	change(&in, ids)
	intellect := must.Get(store.Intellects(f.cfg.Store).Create(ctx, partner, in))(f.t)
	record := must.Get(store.AgentRecords(f.cfg.Store).Create(ctx, partner, store.AgentRecord{
		AgentFields: store.AgentFields{DisplayName: "Eve", Intellect: store.IntellectRef{ID: intellect.Number()}}, WidgetID: store.UUID(),
	}))(f.t)
	agent := must.Get(f.cfg.Store.Agent(ctx, partner, record.ID))(f.t)
	return Caller{Claims: token.Claims{PartnerID: partner, UserID: "ann@example.com", ID: "token-ann"}, Agent: agent, KS: "djJ8-raw-token"}
}

func (f *fixture) withTools() *fixture {
	runner := toolrun.New(nil, f.cfg.Logger)
	f.cfg.Tools = runner
	f.t.Cleanup(func() { runner.Close() }) //nolint:errcheck // always nil
	return f
}

func apiTool(name, url string, wait bool) store.Tool {
	return store.Tool{Name: name, Config: store.ToolConfig{
		Type: store.APITool, WaitForResponse: wait,
		Request: &store.ToolRequest{URL: url, Headers: map[string]string{"X-Key": "{{ secrets.KEY }} {{ sys__ks }}"}},
	}}
}

// TestStartToolsRunBeforeTheFirstTurn: in order, those that are awaited with results for
// templates and the brain; none is in the stream, and one that fails changes nothing.
func TestStartToolsRunBeforeTheFirstTurn(t *testing.T) {
	server := newShop(t)
	var started []store.ToolResult
	f := open(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		started = q.Started
		return out.Say("You are at " + fmt.Sprint(q.Vars["first.path"]))
	})).withTools()
	who := f.builtBy([]store.Tool{
		apiTool("first", server.URL+"/first/{{ sys__user_id }}", true), apiTool("broken", server.URL+"/broken", true),
		{Name: "page", Config: store.ToolConfig{Type: store.ClientTool}},
		{Name: "code", Config: store.ToolConfig{Type: store.CodeTool, Code: "1"}},
		apiTool("second", server.URL+"/second", true),
	}, func(in *store.Intellect, ids []string) {
		phrase := "Hello from {{ first.path }}"
		in.ThreadStartTools, in.OpeningPhrase = ids, &phrase
		in.Secrets = map[string]string{"KEY": "the-secret"}
	})
	result, segments := f.turn(who, TurnRequest{Text: "Where am I?"})
	expect.Equal(t, result.Text, "You are at /first/ann@example.com", "answer")
	want := "/first/ann%40example.com the-secret djJ8-raw-token\n/broken the-secret djJ8-raw-token\n/second the-secret djJ8-raw-token"
	expect.Equal(t, server.log(), want, "asked")
	if got := types(segments); strings.Contains(got, "tool") {
		t.Errorf("segments %s", got)
	}
	if len(started) != 3 || started[0].Tool != "first" || !strings.Contains(string(started[1].Result), "status 500") || started[2].Tool != "second" {
		t.Errorf("results %v", started)
	}
	thread := must.Get(f.Open(t.Context(), who, result.ThreadID, Context{}))(t)
	if phrase, _, err := f.Opening(t.Context(), who, thread, Context{}); err != nil || phrase != "Hello from /first/ann@example.com" {
		t.Errorf("opening %q, %v", phrase, err)
	}
	f.turn(who, TurnRequest{ThreadID: thread.ID, Text: "Again"})
	expect.Equal(t, server.log(), want, "a thread starts once, asked")
	if text, _ := json.Marshal(segments); strings.Contains(string(text)+f.log.String(), "the-secret") || strings.Contains(f.log.String(), "raw-token") {
		t.Errorf("a secret is shown: %s, log %s", text, f.log.String())
	}
}

// TestToolsOnTheService: their segments don't ask the page for an answer, secrets reach
// the request and nothing else.
func TestToolsOnTheService(t *testing.T) {
	server := newShop(t)
	var response string
	f := open(t, brainFunc(func(ctx context.Context, q *brain.Question, out brain.Sink) error {
		for _, name := range []string{"look", "tell", "code"} {
			tool, _ := q.Profile.Tool(name)
			results, err := out.Call(ctx, brain.Call{Tool: tool, Args: json.RawMessage(`{"what":"a b"}`)})
			if err != nil {
				return err
			}
			response += string(results[0].Response) + "\n"
		}
		if q.Vars["secrets.KEY"] != nil || q.Vars["sys__ks"] != nil {
			return fmt.Errorf("the brain is told secrets: %v", q.Vars)
		}
		return out.Say(brain.Render("{{ secrets.KEY }}{{ sys__ks }}done", q.Vars))
	})).withTools()
	who := f.builtBy([]store.Tool{
		apiTool("look", server.URL+"/look/{{ what }}", true), apiTool("tell", server.URL+"/tell", false),
		{Name: "code", Config: store.ToolConfig{
			Type: store.CodeTool, WaitForResponse: true,
			Code: `function main(c) { return {seen: c.args.what + " " + c.variables["sys__user_id"], secrets: String(c.variables["secrets.KEY"]) + c.variables.sys__ks} }`,
		}},
	}, func(in *store.Intellect, ids []string) {
		in.ToolIDs, in.Secrets = ids, map[string]string{"KEY": "the-secret"}
	})
	result, segments := f.turn(who, TurnRequest{Text: "Look"})
	if result.Text != "done" {
		t.Fatalf("answer %q", result.Text)
	}
	want := `{"key":"*** ***","path":"/look/a b"}` + "\n" + `{"status":"dispatched"}` + "\n" + `{"secrets":"undefinedundefined","seen":"a b ann@example.com"}` + "\n"
	expect.Equal(t, response, want, "results")
	var kinds []string
	for _, seg := range segments {
		if seg.ToolMetadata != nil {
			kinds = append(kinds, fmt.Sprint(seg.ToolMetadata.Name, " ", seg.ToolMetadata.Type, " ", seg.ToolMetadata.WaitForResponse))
		}
	}
	expect.List(t, kinds, []string{"look api false", "tell api false", "code code false"}, "tool segments")
	if got := types(segments); !strings.Contains(got, "tool tool_response tool tool_response") {
		t.Errorf("segments %s", got)
	}
	all, _ := json.Marshal(segments)
	for _, shown := range []string{string(all), strings.Join(f.history(result.ThreadID), "\n"), f.log.String()} {
		if strings.Contains(shown, "the-secret") || strings.Contains(shown, "raw-token") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
	f.cfg.Tools.(*toolrun.Runner).Close() //nolint:errcheck // always nil; waits for what runs
	if got := server.log(); !strings.Contains(got, "/look/a%20b the-secret djJ8-raw-token") {
		t.Errorf("asked %s", got)
	}
}

// TestMCPToolsInATurn: the tools of an agent's MCP server stand beside its own, and a call
// of one is shown like that of any tool that runs on the service.
func TestMCPToolsInATurn(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "find", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments) + r.Extra.Header.Get("X-Key")}}}, nil
		})
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer at.Close()
	var offered, response string
	f := open(t, brainFunc(func(ctx context.Context, q *brain.Question, out brain.Sink) error {
		for _, tool := range q.Profile.Tools {
			offered += tool.Name + " " + tool.Type + " "
		}
		tool, _ := q.Profile.Tool("crm_find")
		results, err := out.Call(ctx, brain.Call{Tool: tool, Args: json.RawMessage(`{"name":"Ann"}`)})
		if err != nil {
			return err
		}
		response = string(results[0].Response)
		return out.Say("done")
	})).withTools()
	who := f.builtBy([]store.Tool{{Name: "find", Config: store.ToolConfig{Type: store.ClientTool}}}, func(in *store.Intellect, ids []string) {
		in.ToolIDs, in.Secrets = ids, map[string]string{"KEY": "the-secret"}
		in.MCPServers = map[string]store.MCPServer{
			"crm": {URL: at.URL, Headers: map[string]string{"X-Key": "{{ secrets.KEY }} {{ sys__user_id }}"}}, "gone": {URL: "http://127.0.0.1:1"},
		}
	})
	result, segments := f.turn(who, TurnRequest{Text: "Find Ann"})
	if result.Text != "done" || offered != "find client crm_find mcp " {
		t.Fatalf("answer %q; offered %q", result.Text, offered)
	}
	expect.Equal(t, response, `{"result":"{\"name\":\"Ann\"}*** ann@example.com"}`, "result")
	if got := types(segments); !strings.Contains(got, "tool tool_response") {
		t.Errorf("segments %s", got)
	}
	all, _ := json.Marshal(segments)
	if strings.Contains(string(all)+f.log.String(), "the-secret") {
		t.Errorf("a secret is shown: %s, log %s", all, f.log.String())
	}
	expect.Equal(t, len(who.Agent.Profile.Tools), 1, "the caller's own tools have changed: %v", who.Agent.Profile.Tools)
}

// TestUserAttributes: what a user put into a form, and an address that is the id, are
// variables; those of an anonymous visitor are empty.
func TestUserAttributes(t *testing.T) {
	f := open(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		return out.Say(brain.Render("{{ sys__user_obj.first_name | default('?') }} {{ sys__user_obj.company | default('?') }} {{ sys__user_obj.email | default('?') }}", q.Vars))
	}))
	who := f.builtBy(nil, func(*store.Intellect, []string) {})
	say := func(who Caller, threadID string) TurnResult {
		t.Helper()
		result, _ := f.turn(who, TurnRequest{ThreadID: threadID, Text: "Who am I?"})
		return result
	}
	first := say(who, "")
	expect.Equal(t, first.Text, "? ? ann@example.com", "before the form")
	must.Get(f.cfg.Store.UpdateThread(t.Context(), who.Scope(), first.ThreadID, func(thread *store.Thread) error {
		thread.Analysis[FormKey] = map[string]any{"first_name": "Ann", "company": "ACME", "sys__ks": "x"}
		return nil
	}))(t)
	expect.Equal(t, say(who, first.ThreadID).Text, "Ann ACME ann@example.com", "after it")
	known := who
	known.User = directory.Attributes{"company": "Example Corp", "email": "bell@example.com"}
	expect.Equal(t, say(known, first.ThreadID).Text, "Ann Example Corp bell@example.com", "with a directory")
	who.Claims.UserID = ""
	expect.Equal(t, say(who, "").Text, "? ? ?", "nobody")
}

// TestKeptSkillsStayInTheThread: a skill that a brain loads with the mode adhoc-save.
func TestKeptSkillsStayInTheThread(t *testing.T) {
	var loaded []string
	f := open(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		loaded = q.LoadedSkills
		return out.Say(q.Profile.Skills[0].Name)
	}))
	skill := must.Get(store.Skills(f.cfg.Store).Create(t.Context(), f.caller(store.Silent, "ann").Agent.PartnerID, store.Skill{Name: "refunds", Description: "d"}))(t)
	who := f.builtBy(nil, func(in *store.Intellect, _ []string) {
		in.SkillIDs = []store.SkillRef{{ID: skill.ID, Mode: "adhoc-save"}}
	})
	result, _ := f.turn(who, TurnRequest{Text: "1"})
	if len(loaded) != 0 || result.Text != "refunds" {
		t.Fatal(loaded, result.Text)
	}
	for range 2 {
		must.Do(t, f.keepSkill(t.Context(), result.ThreadID, "refunds"))
	}
	if f.turn(who, TurnRequest{ThreadID: result.ThreadID, Text: "2"}); !slices.Equal(loaded, []string{"refunds"}) {
		t.Errorf("loaded %q", loaded)
	}
}

// TestToolsSetVariables: what a tool's variables_mapping picks is a variable of later turns,
// which the client's own overrides; a reserved name is none.
func TestToolsSetVariables(t *testing.T) {
	reply := `{"id":"c-7"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, reply) })) //nolint:errcheck // a test's reply
	defer server.Close()
	var seen any
	f := open(t, brainFunc(func(ctx context.Context, q *brain.Question, out brain.Sink) error {
		if seen = q.Vars["contact"]; q.Text == "go" {
			tool, _ := q.Profile.Tool("find")
			if _, err := out.Call(ctx, brain.Call{Tool: tool, Args: json.RawMessage(`{}`)}); err != nil {
				return err
			}
		}
		return out.Say("done")
	})).withTools()
	var config store.ToolConfig
	must.Do(t, json.Unmarshal([]byte(`{"type":"api","request":{"url":"`+server.URL+`"},"variables_mapping":{"contact":"id"},"wait_for_response":true}`), &config))
	who := f.builtBy([]store.Tool{{Name: "find", Config: config}}, func(in *store.Intellect, ids []string) { in.ToolIDs = ids })
	turn := func(thread, text string, vars map[string]any) string {
		t.Helper()
		result, _ := f.turn(who, TurnRequest{ThreadID: thread, Text: text, Context: Context{Vars: vars}})
		return result.ThreadID
	}
	thread := turn("", "go", nil)
	if turn(thread, "next", nil); seen != "c-7" {
		t.Errorf("contact is %v", seen)
	}
	if turn(thread, "next", map[string]any{"contact": "mine"}); seen != "mine" {
		t.Errorf("contact is %v", seen)
	}
	pushed, err := f.Push(t.Context(), who.Scope(), Push{ThreadID: thread, Content: "It is {{ contact }}."})
	if err != nil || pushed.Text() != "It is c-7." {
		t.Errorf("pushed %q, %v", pushed.Text(), err)
	}
	reply = `{"id":{"no":"scalar"}}`
	turn(thread, "go", nil)
	if turn(thread, "next", nil); seen != "c-7" {
		t.Errorf("contact is %v after a value that is not a scalar", seen)
	}
}
