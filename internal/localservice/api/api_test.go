package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/relay"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/store/storetest"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/localservice/toolrun"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
	"github.com/agentruntime/agentruntime/pageserver"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// service is a running API with a real store.
type service struct {
	t       testing.TB
	url     string
	handler http.Handler
	store   *store.Store
	partner store.Partner
	agents  map[string]store.Agent
}

// brainFunc is a brain for one test.
type brainFunc func(context.Context, *brain.Question, brain.Sink) error

func (f brainFunc) Answer(ctx context.Context, q *brain.Question, out brain.Sink) error {
	return f(ctx, q, out)
}

func serve(t testing.TB, b brain.Brain, change func(*Config)) *service {
	t.Helper()
	return serveWithin(t, pageserver.Limits{}, b, change)
}

// serveWithin is serve with the limits of the server.
func serveWithin(t testing.TB, limits pageserver.Limits, b brain.Brain, change func(*Config)) *service {
	t.Helper()
	s, partner := storetest.Open(t)
	passages := must.Get(brain.ReadKnowledge(brain.DefaultKnowledge()))(t)
	must.Do(t, s.SetDocuments(t.Context(), passages))
	if b == nil {
		b = &brain.Scripted{Fallback: &brain.Demo{Knowledge: s}}
	}
	tools := toolrun.New(nil, slog.New(slog.DiscardHandler))
	config := Config{
		Store: s, Tokens: token.NewAuthority(s), Dialogue: newDialogue(s, b, tools), Live: &fakeLive{thread: "none"}, Work: &quota.Pace{},
		Bodies: func(quota.Client, int) error { return nil }, Site: func() string { return "" },
		Knowledge: brain.DefaultKnowledge(), Logger: slog.New(slog.DiscardHandler), Observe: func(_, _ string, _ int, _ time.Duration) {},
		Hosts: func() (Hosts, error) {
			return Hosts{
				ConversationManagerURL: "http://talk.test", SRSBaseURL: "http://media.test", TURNServerURL: "turn.test",
				TURNCredentials: &relay.Credentials{Username: "u", Credential: "c", Expiry: 1790000000},
			}, nil
		},
	}
	if change != nil {
		change(&config)
	}
	handler := New(config)
	server := httptest.NewUnstartedServer(nil)
	server.Config = limits.Server(handler)
	server.Start()
	t.Cleanup(func() {
		server.Close()
		http.DefaultClient.CloseIdleConnections()
		tools.Close() //nolint:errcheck // always nil
	})
	agents := must.Get(s.Agents(t.Context(), partner.ID))(t)
	v := &service{t: t, url: server.URL, handler: handler, store: s, partner: partner, agents: map[string]store.Agent{}}
	for _, a := range agents {
		v.agents[a.Name] = a
	}
	return v
}

// newDialogue returns turns of a service at http://talk.test.
func newDialogue(s *store.Store, b brain.Brain, tools dialogue.Runner) *dialogue.Service {
	return dialogue.New(dialogue.Config{
		Store: s, Brain: b, Tools: tools, Logger: slog.New(slog.DiscardHandler), Site: func() string { return "http://talk.test" },
		Work: &quota.Pace{}, Observe: func(bool, time.Duration, time.Duration, error) {},
	})
}

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   string
}

func (v *service) do(request *http.Request) reply {
	v.t.Helper()
	response := must.Get(http.DefaultClient.Do(request))(v.t)
	defer response.Body.Close()
	body := must.Get(io.ReadAll(response.Body))(v.t)
	return reply{response.StatusCode, response.Header, strings.TrimSpace(string(body))}
}

func (v *service) request(method, path, ks, contentType, body string) *http.Request {
	v.t.Helper()
	request := must.Get(http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(body)))(v.t)
	request.Header.Set("Content-Type", contentType)
	if ks != "" {
		request.Header.Set("Authorization", "KS "+ks)
	}
	return request
}

func (v *service) post(path, ks, body string) reply {
	v.t.Helper()
	return v.do(v.request("POST", path, ks, "application/json", body))
}

// keyed is post with an Idempotency-Key.
func (v *service) keyed(path, ks, body, key string) reply {
	v.t.Helper()
	request := v.request("POST", path, ks, "application/json", body)
	request.Header.Set("Idempotency-Key", key)
	return v.do(request)
}

func (v *service) form(action string, fields url.Values) reply {
	v.t.Helper()
	return v.do(v.request("POST", SessionPrefix+"/service/session/action/"+action, "", "application/x-www-form-urlencoded", fields.Encode()))
}

// mint gets a token through the session API.
func (v *service) mint(kind int, user, privileges string) string {
	v.t.Helper()
	return v.mintFor(v.partner, kind, user, privileges)
}

// mintFor is mint for any partner.
func (v *service) mintFor(partner store.Partner, kind int, user, privileges string) (ks string) {
	v.t.Helper()
	v.decode(v.form("start", url.Values{
		"format": {"1"}, "secret": {partner.Secret}, "partnerId": {fmt.Sprint(partner.ID)},
		"type": {fmt.Sprint(kind)}, "userId": {user}, "expiry": {"600"}, "privileges": {privileges},
	}), &ks)
	return ks
}

func (v *service) admin() string { return v.mint(token.TypeAdmin, "root", "disableentitlement") }

func (v *service) conversation(agent, user string) string {
	return v.mint(token.TypeUser, user, fmt.Sprintf("geniegpcid:%d,setrole:PLAYBACK_BASE_ROLE", v.agents[agent].ConfigID))
}

func (v *service) widget(agent string) string {
	v.t.Helper()
	return v.widgetSession(v.agents[agent].WidgetID)
}

func (v *service) widgetSession(widgetID string) string {
	v.t.Helper()
	var body struct{ KS string }
	v.decode(v.form("startWidgetSession", url.Values{"format": {"1"}, "widgetId": {widgetID}}), &body)
	return body.KS
}

func (v *service) decode(got reply, body any) {
	v.t.Helper()
	if got.status != http.StatusOK {
		v.t.Fatalf("status %d: %s", got.status, got.body)
	}
	if err := json.Unmarshal([]byte(got.body), body); err != nil {
		v.t.Fatalf("%v in %s", err, got.body)
	}
}

// turn is what came of one converse call.
type turn struct {
	segments            []converse.Segment
	threadID, messageID string
	text                string
}

func (v *service) parse(got reply) turn {
	v.t.Helper()
	if got.status != http.StatusOK {
		v.t.Fatalf("converse: status %d: %s", got.status, got.body)
	}
	var result turn
	for line := range strings.Lines(got.body) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "data:"))
		if line == "" || line == "[DONE]" {
			continue
		}
		var seg converse.Segment
		if err := json.Unmarshal([]byte(line), &seg); err != nil {
			v.t.Fatalf("%v in line %q", err, line)
		}
		result.segments = append(result.segments, seg)
		if seg.ThreadID != "" {
			result.threadID, result.messageID = seg.ThreadID, seg.MessageID
		}
		if seg.Type.Spoken() {
			result.text += seg.ContentString()
		}
	}
	return result
}

func (v *service) converse(ks, body string) turn {
	v.t.Helper()
	return v.parse(v.post("/assistant/converse", ks, body))
}

func (v *service) ask(ks, threadID, text string) turn {
	v.t.Helper()
	body, _ := json.Marshal(map[string]string{"userMessage": text, "threadId": threadID})
	return v.converse(ks, string(body))
}

func wantStatus(t *testing.T, name string, got reply, status int, body string) {
	t.Helper()
	if got.status != status || (body != "" && got.body != body) {
		t.Errorf("%s: %d %s, want %d %s", name, got.status, got.body, status, body)
	}
}

// openRoutes are the routes that take other tokens than an admin's, with the status of an empty body for
// each kind of token.
var openRoutes = map[string]struct{ admin, conversation, widget int }{
	"POST /v1/application/resolveWidgetId":   {422, 403, 403},
	"POST /v1/application/appInit":           {200, 200, 200},
	"POST /assistant/converse":               {422, 422, 403},
	"POST /assistant/tool_response":          {422, 422, 403},
	"POST /assistant/abort":                  {422, 422, 403},
	"GET /assistant/status":                  {200, 200, 403},
	"POST /thread/session_completed":         {422, 422, 403},
	"POST /v1/thread/list":                   {200, 200, 403},
	"POST /v1/thread/get":                    {422, 422, 403},
	"POST /v1/thread/update":                 {422, 422, 403},
	"POST /v1/thread/delete":                 {422, 422, 403},
	"POST /v1/thread/get_transcripts":        {422, 422, 403},
	"POST /message/list":                     {200, 200, 403},
	"POST /message/get":                      {422, 422, 403},
	"POST /message/share":                    {422, 422, 403},
	"POST /feedback/add":                     {422, 422, 403},
	"POST /followup/get-suggested-questions": {200, 200, 403},
	"POST /mcp/search":                       {422, 422, 403},
	"POST /v1/application/getCustomPrompts":  {200, 200, 200},
}

// routeList is the patterns of all routes.
type routeList []string

func (l *routeList) Handle(pattern string, _ http.Handler) { *l = append(*l, pattern) }

func (l *routeList) HandleFunc(pattern string, _ func(http.ResponseWriter, *http.Request)) {
	*l = append(*l, pattern)
}

// managementPaths are the paths of the routes that need an admin's token: all but the open ones, and
// those that read no token, or one of their own.
func managementPaths() (paths []string) {
	var all routeList
	(&server{stages: newStages(nil)}).add(&all)
	for _, pattern := range all {
		path, post := strings.CutPrefix(pattern, "POST ")
		_, open := openRoutes[pattern]
		ownToken := strings.HasPrefix(path, stagePrefix+"{id}/") || strings.HasPrefix(path, SessionPrefix) || path == dialogue.ConsentPath
		if post && !open && !ownToken {
			paths = append(paths, path)
		}
	}
	return paths
}

func TestEveryRouteChecksItsToken(t *testing.T) {
	v := serve(t, nil, nil)
	admin, widget := v.admin(), v.widget(store.Receptionist)
	conversation := v.conversation(store.Receptionist, "ann")
	expired := must.Get(token.Mint(v.partner.Secret, &token.Claims{PartnerID: v.partner.ID, Privileges: "geniegpcid:1001"}))(t)
	foreign := must.Get(token.Mint("another secret", &token.Claims{PartnerID: v.partner.ID}))(t)
	for route, status := range openRoutes {
		t.Run(route, func(t *testing.T) {
			method, path, _ := strings.Cut(route, " ")
			send := func(ks string) reply { return v.do(v.request(method, path, ks, "application/json", "{}")) }
			wantStatus(t, "no token", send(""), 401, `{"message":"the header Authorization: KS \u003ctoken\u003e is required"}`)
			wantStatus(t, "nonsense", send("djJ8nonsense"), 401, `{"message":"invalid token"}`)
			wantStatus(t, "foreign", send(foreign), 401, `{"message":"invalid token"}`)
			wantStatus(t, "expired", send(expired), 401, `{"message":"token expired"}`)
			wantStatus(t, "admin", send(admin), status.admin, "")
			wantStatus(t, "conversation", send(conversation), status.conversation, "")
			wantStatus(t, "widget", send(widget), status.widget, "")
			if id := send(admin).header.Get("X-Request-Id"); len(id) != 36 {
				t.Errorf("x-request-id %q, want a UUID", id)
			}
		})
	}
}

func TestUnknownRouteAndMethod(t *testing.T) {
	v := serve(t, nil, nil)
	wantStatus(t, "path", v.post("/v1/thread/push", "", "{}"), 404, `{"message":"no such route"}`)
	got := v.do(v.request("GET", "/assistant/converse", "", "", ""))
	wantStatus(t, "method", got, 405, `{"message":"method not allowed"}`)
	expect.Equal(t, got.header.Get("Allow"), "POST", "Allow")
}

func TestPreflight(t *testing.T) {
	v := serve(t, nil, nil)
	for _, path := range []string{"/assistant/converse", "/anything/at/all"} {
		request := v.request("OPTIONS", path, "", "", "")
		request.Header.Set("Origin", "https://page.test")
		request.Header.Set("Access-Control-Request-Method", "POST")
		request.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		got := v.do(request)
		expect.Equal(t, got.status, 204, "%s: status", path)
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin":   "https://page.test",
			"Access-Control-Allow-Headers":  "authorization,content-type",
			"Access-Control-Allow-Methods":  "GET, POST, PATCH, DELETE, OPTIONS",
			"Access-Control-Max-Age":        "600",
			"Access-Control-Expose-Headers": "Location, X-Request-Id, Retry-After",
		} {
			expect.Equal(t, got.header.Get(name), want, "%s: %s", path, name)
		}
	}
	// The reply itself, also an error, must be readable for the page.
	request := v.request("POST", "/assistant/converse", "", "application/json", "{}")
	request.Header.Set("Origin", "https://page.test")
	if got := v.do(request); got.header.Get("Access-Control-Allow-Origin") != "https://page.test" {
		t.Errorf("401 without Access-Control-Allow-Origin: %v", got.header)
	}
}

func TestSessionAPI(t *testing.T) {
	v := serve(t, nil, nil)
	good := url.Values{"format": {"1"}, "secret": {v.partner.Secret}, "partnerId": {fmt.Sprint(v.partner.ID)}}
	refused := func(code, message string) string {
		return fmt.Sprintf(`{"args":{},"code":%q,"message":%q,"objectType":"KalturaAPIException"}`, code, message)
	}
	for _, tt := range []struct{ name, field, value, want string }{
		{"wrong secret", "secret", "guess", refused(codeStart, "wrong partner or secret")},
		{"no secret", "secret", "", refused(codeMissing, "secret and partnerId are required")},
		{"absurdly long", "expiry", "9223372036854775807", refused(codeStart, "expiry: want 1 to 86400 seconds")},
		{"not a number", "expiry", "soon", refused(codeInvalid, "expiry: want a number")},
	} {
		fields := url.Values{}
		for k, values := range good {
			fields[k] = values
		}
		fields.Set(tt.field, tt.value)
		wantStatus(t, tt.name, v.form("start", fields), 200, tt.want)
	}
	wantStatus(t, "unknown widget", v.form("startWidgetSession", url.Values{"widgetId": {"x"}}), 200, refused(codeWidget, "no widget with that id"))
	wantStatus(t, "ping", v.do(v.request("GET", SessionPrefix+"/service/system/action/ping?format=1", "", "", "")), 200, "true")

	query := v.do(v.request("POST", SessionPrefix+"/service/session/action/start?"+good.Encode(), "", "application/x-www-form-urlencoded", ""))
	wantStatus(t, "secret in the query", query, 200, refused(codeMissing, "secret and partnerId are required"))

	ks := v.conversation(store.Receptionist, "ann")
	wantStatus(t, "status before", v.do(v.request("GET", "/assistant/status", ks, "", "")), 200, "")
	wantStatus(t, "end", v.form("end", url.Values{"ks": {ks}}), 200, "null")
	wantStatus(t, "status after", v.do(v.request("GET", "/assistant/status", ks, "", "")), 401, `{"message":"token ended"}`)
}

func TestAppInit(t *testing.T) {
	v := serve(t, nil, nil)
	agent := v.agents[store.Receptionist]
	got := v.post("/v1/application/resolveWidgetId", v.admin(), fmt.Sprintf(`{"agentId":%q}`, agent.ID))
	wantStatus(t, "resolve", got, 200, fmt.Sprintf(`{"widgetId":%q}`, agent.WidgetID))
	made := v.manager().call("/v1/agent/create", `{"displayName":"Ada","intellect":{"id":1001}}`, 200)
	about := fmt.Sprintf(`{"agentId":%q}`, made["agentId"])
	first, again := v.post("/v1/application/resolveWidgetId", v.admin(), about), v.post("/v1/application/resolveWidgetId", v.admin(), about)
	if first.status != 200 || first.body == `{"widgetId":""}` || again.body != first.body {
		t.Errorf("the widget of a new agent: %s, then %s", first.body, again.body)
	}
	wantStatus(t, "resolve unknown", v.post("/v1/application/resolveWidgetId", v.admin(), `{"agentId":"x"}`), 404, `{"message":"AGENT_NOT_FOUND"}`)

	var body map[string]any
	v.decode(v.post("/v1/application/appInit", v.widget(store.Receptionist), ""), &body)
	ks := body["ks"].(string)
	delete(body, "ks")
	text, _ := json.Marshal(body)
	want := fmt.Sprintf(`{"avatars":[{"id":%q,"loadingVideoUrl":"/assets/robin.webm","objectType":"Object","previewImageUrl":"/assets/5ac0000000000000000000a1.png"}],`+
		`"conversationManagerUrl":"http://talk.test","partnerId":%d,"srsBaseUrl":"http://media.test",`+
		`"turnCredentials":{"credential":"c","expiry":1790000000,"username":"u"},"turnServerUrl":"turn.test"}`, v.avatarOf(store.Receptionist), v.partner.ID)
	if string(text) != want {
		t.Errorf("appInit\n%s, want\n%s", text, want)
	}
	if answer := v.ask(ks, "", "hello"); !strings.Contains(answer.text, "Robin") {
		t.Errorf("the enriched token does not talk as the agent: %q", answer.text)
	}
	wantStatus(t, "enriched widget token on threads", v.post("/v1/thread/list", ks, "{}"), 403, "")

	visitor := v.mint(token.TypeUser, "ann", "agentid:"+agent.ID+",setrole:PLAYBACK_BASE_ROLE")
	var visitorBody struct{ KS string }
	v.decode(v.post("/v1/application/appInit", visitor, "{}"), &visitorBody)
	mine := v.ask(visitorBody.KS, "", "hello")
	var list listReply[store.Thread]
	v.decode(v.post("/v1/thread/list", visitorBody.KS, "{}"), &list)
	if list.TotalCount != 1 || list.Objects[0].ID != mine.threadID || list.Objects[0].UserID != "ann" || list.Objects[0].AgentID != agent.ID {
		t.Errorf("threads of the visitor: %+v", list)
	}

	wrongKind := `{"args":{},"code":"INVALID_KS","message":"appInit needs a widget token, or a token with an agent id","objectType":"KalturaAPIException"}`
	wantStatus(t, "conversation token", v.post("/v1/application/appInit", v.conversation(store.Receptionist, "ann"), ""), 200, wrongKind)
	mismatch := v.mint(token.TypeUser, "", fmt.Sprintf("agentid:%s,geniegpcid:%d", agent.ID, agent.ConfigID+1))
	if got := v.post("/v1/application/appInit", mismatch, ""); !strings.Contains(got.body, "AGENT_PARTNER_CONFIG_GENIE_ID_MISMATCH") {
		t.Errorf("mismatch: %s", got.body)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.conversation(store.Receptionist, "ann")
	huge := `{"userMessage":"` + strings.Repeat("x", maxBody) + `"}`
	wantStatus(t, "huge", v.post("/assistant/converse", ks, huge), 413, `{"message":"the body is too large"}`)
	deep := `{"request_vars":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	wantStatus(t, "deep", v.post("/assistant/converse", ks, deep), 422, `{"detail":[{"loc":["body"],"msg":"more than 32 levels deep","type":"json_invalid"}]}`)
	hugeForm := v.form("start", url.Values{"secret": {strings.Repeat("x", maxBody)}})
	wantStatus(t, "huge form", hugeForm, 413, "")
}

// TestSlowBodyIsRefused: sending the body has a time limit, reading the reply does not.
func TestSlowBodyIsRefused(t *testing.T) {
	v := serveWithin(t, pageserver.Limits{Request: 50 * time.Millisecond}, nil, nil)
	for path, kind := range map[string]string{
		"/assistant/converse":                           "application/json",
		"/v1/application/appInit":                       "application/json", // reads no body
		SessionPrefix + "/service/session/action/start": "application/x-www-form-urlencoded",
	} {
		c := must.Get(net.Dial("tcp", strings.TrimPrefix(v.url, "http://")))(t)
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: KS %s\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\n{",
			path, v.conversation(store.Receptionist, "ann"), kind)
		reply := must.Get(io.ReadAll(c))(t) // up to the end of the connection
		if status := string(reply[:min(12, len(reply))]); status != "HTTP/1.1 408" && !strings.HasSuffix(path, "appInit") {
			t.Errorf("%s: %s", path, reply)
		}
	}
}

// TestAStreamThatIsNotReadEnds: its turn must not keep the thread busy for ever.
func TestAStreamThatIsNotReadEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	endless := brainFunc(func(ctx context.Context, _ *brain.Question, out brain.Sink) error {
		var err error
		for text := strings.Repeat("word ", 10_000); err == nil; {
			err = out.Say(text)
		}
		ended <- err
		return err
	})
	v := serve(t, endless, func(c *Config) { c.Stall = 100 * time.Millisecond })
	c := rawhttp.Dial(t, v.url)
	body := `{"userMessage":"hi"}`
	fmt.Fprintf(c, "POST /assistant/converse HTTP/1.1\r\nHost: x\r\nAuthorization: KS %s\r\nContent-Length: %d\r\n\r\n%s",
		v.conversation(store.Receptionist, "ann"), len(body), body)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the turn goes on although nothing of it is read")
	}
}

// FuzzBody sends arbitrary bodies to every route that reads one: none may answer
// with a server's error.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"id":"x"}`, `{"filter":{"objectType":"ListThreadFilter","idsIn":["x"],"createdAtGreaterThanOrEqual":1e300}}`,
		`{"userMessage":"hi","request_vars":{"a":1},"capabilities":{"avatar":"on"}}`, `{"pager":{"pageIndex":-1}}`,
		`{"tool_name":"a","tool_id":"b","tool_invocation_id":"b","response":{}}`, "{\"id\":\"\\u0000\"}", `{"thread_ids":[null]}`,
	} {
		f.Add(seed)
	}
	for _, seed := range []string{"type=x", "expiry=99999999999999999999", "ks=djJ8", "widgetId=%00", "a=%zz;b"} {
		f.Add(seed)
	}
	v := serve(f, brainFunc(func(context.Context, *brain.Question, brain.Sink) error { return nil }), nil)
	f.Add(fmt.Sprintf("secret=%s&partnerId=%d&type=2&userId=a&privileges=geniegpcid:1,,", v.partner.Secret, v.partner.ID))
	ks := v.admin()
	paths := []string{
		"/v1/application/resolveWidgetId", "/assistant/converse", "/assistant/tool_response", "/assistant/abort",
		"/thread/session_completed", "/v1/thread/list", "/v1/thread/get", "/v1/thread/update", "/v1/thread/delete",
		"/message/list", "/message/get", "/message/share", "/feedback/add",
		SessionPrefix + "/service/session/action/start", SessionPrefix + "/service/session/action/startWidgetSession",
		SessionPrefix + "/service/session/action/end",
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range paths {
			request := httptest.NewRequest("POST", path, strings.NewReader(body))
			request.Header.Set("Authorization", "KS "+ks)
			if strings.HasPrefix(path, SessionPrefix) {
				request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			w := httptest.NewRecorder()
			v.handler.ServeHTTP(w, request)
			if w.Code >= 500 {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	})
}

// lines reads a streamed reply line by line.
func lines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	return s
}
