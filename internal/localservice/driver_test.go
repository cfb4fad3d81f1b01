package localservice_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/nodetest"
)

// patience bounds waits for what does happen, on a machine that is busy.
const patience = 30 * time.Second

func TestMain(m *testing.M) { leaktest.Main(m) }

// call sends JSON, or a form, and decodes the reply into out unless it is nil.
func call(t testing.TB, auth, address string, body, out any) {
	t.Helper()
	kind, data := "application/json", []byte(nil)
	if form, ok := body.(url.Values); ok {
		kind, data = "application/x-www-form-urlencoded", []byte(form.Encode())
	} else if body != nil {
		data = must.Get(json.Marshal(body))(t)
	}
	header := http.Header{"Content-Type": {kind}}
	if auth != "" {
		header.Set("Authorization", auth)
	}
	reply, text := send(t, http.MethodPost, address, header, string(data))
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", address, reply.Status, text)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			t.Fatalf("%s: %v in %s", address, err, text)
		}
	}
}

// client keeps no connection, so that none is left when the service closes.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}

// send sends a request, and returns the reply without following a redirect or unpacking. It may
// be called from any goroutine: an error fails the test, and has an empty reply.
func send(t testing.TB, method, address string, header http.Header, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	var reply *http.Response
	if err == nil {
		maps.Copy(r.Header, header)
		reply, err = client.Transport.RoundTrip(r)
	}
	var text []byte
	if err == nil {
		defer reply.Body.Close()
		text, err = io.ReadAll(reply.Body)
	}
	if err != nil {
		t.Error(err)
		return &http.Response{}, ""
	}
	return reply, string(text)
}

// appInit is the reply of that name, as a page gets it.
type appInit struct {
	KS                     string `json:"ks"`
	ConversationManagerURL string `json:"conversationManagerUrl"`
	SRSBaseURL             string `json:"srsBaseUrl"`
	TURNServerURL          string `json:"turnServerUrl"`
	TURNCredentials        struct {
		Username   string `json:"username"`
		Credential string `json:"credential"`
	} `json:"turnCredentials"`
}

// initialise obtains a conversation token as a page does: a widget's token first,
// then appInit.
func initialise(t testing.TB, info localservice.Info, agent string) appInit {
	t.Helper()
	var init appInit
	call(t, "KS "+widgetToken(t, info, agent), info.AgenticURL+"/application/appInit", nil, &init)
	return init
}

// widgetToken makes the token of a visitor.
func widgetToken(t testing.TB, info localservice.Info, agent string) string {
	t.Helper()
	a, ok := info.Agent(agent)
	if !ok {
		t.Fatalf("there is no agent %q", agent)
	}
	var widget struct{ KS string }
	call(t, "", info.OVPURL+"/service/session/action/startWidgetSession", url.Values{"format": {"1"}, "widgetId": {a.WidgetID}}, &widget)
	return widget.KS
}

// mint makes a user's token, as a page's own server does.
func mint(t testing.TB, info localservice.Info, user, privileges string) (ks string) {
	t.Helper()
	return startSession(t, info, "0", user, privileges)
}

// adminToken makes a token of the partner's own server.
func adminToken(t testing.TB, info localservice.Info) (ks string) {
	t.Helper()
	return startSession(t, info, "2", "root", "disableentitlement")
}

func startSession(t testing.TB, info localservice.Info, kind, user, privileges string) (ks string) {
	t.Helper()
	call(t, "", info.OVPURL+"/service/session/action/start", url.Values{
		"secret": {info.AdminSecret}, "partnerId": {jsonNumber(info.PartnerID)}, "type": {kind}, "userId": {user},
		"expiry": {"600"}, "privileges": {privileges}, "format": {"1"},
	}, &ks)
	return ks
}

// begin asks a question in text, and returns the ids of the thread and of the answer, and all
// that was said.
func begin(t testing.TB, info localservice.Info, ks, question string) (threadID, messageID, said string) {
	t.Helper()
	_, said = postJSON(t, info.GenieURL+"/assistant/converse", ks, question)
	var first struct{ ThreadID, MessageID string }
	if err := json.NewDecoder(strings.NewReader(said)).Decode(&first); err != nil || first.ThreadID == "" || strings.Contains(said, `"error"`) {
		t.Fatalf("%v in %s", err, said)
	}
	return first.ThreadID, first.MessageID, said
}

// conversationToken makes a user's token for an agent.
func conversationToken(t testing.TB, info localservice.Info, agent, user string) string {
	t.Helper()
	a, ok := info.Agent(agent)
	if !ok {
		t.Fatalf("there is no agent %q", agent)
	}
	return mint(t, info, user, "geniegpcid:"+jsonNumber(a.ConfigID))
}

// control sends a command to the control address.
func control(t testing.TB, info localservice.Info, path string, body any) {
	t.Helper()
	call(t, "Bearer "+info.ControlToken, info.ControlURL+path, body, nil)
}

// happening is one thing that happened to a socket.
type happening struct {
	Socket    string            `json:"socket"`
	What      string            `json:"what"` // connect, connect_error, disconnect, event
	Event     string            `json:"event"`
	Args      []json.RawMessage `json:"args"`
	ID        string            `json:"id"`
	Recovered bool              `json:"recovered"`
	Reason    string            `json:"reason"`
}

// String is the event's name, or what else happened.
func (h happening) String() string {
	if h.What == "event" {
		return h.Event
	}
	return strings.TrimSpace(h.What + " " + h.Reason)
}

// field returns a field of the event's first argument.
func (h happening) field(name string) any {
	var fields map[string]any
	if len(h.Args) > 0 {
		_ = json.Unmarshal(h.Args[0], &fields) // not an object: no field
	}
	return fields[name]
}

func (h happening) text(name string) string {
	text, _ := h.field(name).(string)
	return text
}

// socket is one socket of the official Socket.IO client, which runs in a process
// of its own, with what has happened to it.
type socket struct {
	t    testing.TB
	name string
	node io.Writer // takes commands
	c    <-chan happening
	seen []happening
}

// startNode runs the official client with sockets of these names.
func startNode(t testing.TB, names ...string) map[string]*socket {
	t.Helper()
	channels := map[string]chan happening{}
	for _, name := range names {
		channels[name] = make(chan happening, 10_000)
	}
	node := nodetest.Start(t, "testdata/client.mjs", func(line string) {
		var h happening
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Errorf("node printed %q", line)
			return
		}
		channels[h.Socket] <- h
	})
	sockets := map[string]*socket{}
	for name, c := range channels {
		sockets[name] = &socket{t: t, name: name, node: node, c: c}
	}
	return sockets
}

func (s *socket) do(what string, more map[string]any) {
	s.t.Helper()
	command := map[string]any{"socket": s.name, "do": what}
	for k, v := range more {
		command[k] = v
	}
	line := must.Get(json.Marshal(command))(s.t)
	must.Get(s.node.Write(append(line, '\n')))(s.t)
}

// open connects as a page does.
func (s *socket) open(init appInit, query map[string]string) {
	s.t.Helper()
	s.do("open", map[string]any{"url": init.ConversationManagerURL, "token": init.KS, "query": query})
}

func (s *socket) emit(event string, payload any) {
	s.t.Helper()
	s.do("emit", map[string]any{"event": event, "payload": payload})
}

// say is a typed turn (protocol §3.6).
func (s *socket) say(text string) {
	s.t.Helper()
	s.emit("onTextEntered", map[string]any{"text": "", "isFinal": false, "isSpeechStart": true})
	s.emit("onTextEntered", map[string]any{"text": text, "isFinal": true})
}

// next returns the next thing that happens.
func (s *socket) next() happening {
	s.t.Helper()
	h, ok := s.within(patience)
	if !ok {
		s.t.Fatalf("socket %s: nothing more happened after %v", s.name, s.seen)
	}
	return h
}

func (s *socket) within(d time.Duration) (happening, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case h := <-s.c:
		s.seen = append(s.seen, h)
		return h, true
	case <-ctx.Done():
		return happening{}, false
	}
}

// until returns everything up to the first thing of that name.
func (s *socket) until(name string) []happening {
	s.t.Helper()
	var all []happening
	for {
		h := s.next()
		all = append(all, h)
		if h.String() == name {
			return all
		}
	}
}

// expect fails unless exactly these come next, and returns them.
func (s *socket) expect(names ...string) []happening {
	s.t.Helper()
	var all []happening
	for i, want := range names {
		h := s.next()
		all = append(all, h)
		if h.String() != want {
			s.t.Fatalf("socket %s: %v came as number %d of %v", s.name, all, i+1, names)
		}
	}
	return all
}

// quiet fails if anything happens within d.
func (s *socket) quiet(d time.Duration) {
	s.t.Helper()
	if h, ok := s.within(d); ok {
		s.t.Fatalf("socket %s: %v %s", s.name, h, h.Args)
	}
}

func names(all []happening) []string {
	var out []string
	for _, h := range all {
		out = append(out, h.String())
	}
	return out
}

// index returns the place of the first thing of that name, and fails without.
func index(t testing.TB, all []happening, name string) int {
	t.Helper()
	i := slices.IndexFunc(all, func(h happening) bool { return h.String() == name })
	if i < 0 {
		t.Fatalf("no %s in %q", name, names(all))
	}
	return i
}

// join brings a socket to joinComplete and returns its thread.
func (s *socket) join(init appInit, more map[string]any) (thread string) {
	s.t.Helper()
	kaltura := map[string]any{"ks": init.KS, "force_experience": "avatar_only", "capabilities": map[string]string{"avatar": "on"}}
	for k, v := range more {
		kaltura[k] = v
	}
	s.emit("join", map[string]any{
		"room": "a1b2c3d4e5f6", "channel": "a1b2c3d4e5f6", "kaltura": kaltura, "userAgent": "test", "userAgentHints": nil,
		"isMobile": false, "channel_password": nil, "peer_name": "unknown", "peer_video": false, "peer_audio": true,
	})
	got := s.expect("clientConfiguration", "agent_raw_text", "joinComplete")
	var delta struct{ Type, ThreadID string }
	if err := json.Unmarshal([]byte(got[1].text("delta")), &delta); err != nil || delta.Type != "init_response" {
		s.t.Fatalf("first segment %s: %v", got[1].Args, err)
	}
	return delta.ThreadID
}

// video asks for a video session and returns its address.
func (s *socket) video() (address string) {
	s.t.Helper()
	s.emit("stvNewSession", map[string]any{"room_id": "a1b2c3d4e5f6"})
	got := s.expect("stvNewSession", "showAgent", "askPermissions")
	return got[0].text("webrtc_url")
}

// conversation is a service with one socket past its opening turn.
type conversation struct {
	*socket
	service *localservice.Service
	info    localservice.Info
	init    appInit
	thread  string
	url     string // of the video session
}

func converse(t testing.TB, o localservice.Options, agent string) *conversation {
	t.Helper()
	if o.Script == nil {
		o.Script = script(fine)
	}
	c := &conversation{socket: startNode(t, "a")["a"], service: servicetest.Start(t, o)}
	c.info = c.service.Info()
	c.init = initialise(t, c.info, agent)
	c.open(c.init, map[string]string{"stickyId": "k3v9k3v9k3v9k3v9", "level": "published"})
	c.expect("connect", "onServerConnected")
	c.thread = c.join(c.init, nil)
	c.url = c.video()
	c.emit("approvedPermissions", map[string]any{"room": "a1b2c3d4e5f6"})
	c.until("stvFinishedTalking")
	return c
}

func (c *conversation) control(command string, body any) {
	c.t.Helper()
	control(c.t, c.info, "/sessions/"+c.thread+"/"+command, body)
}

// fine is a rule that answers everything.
const fine = "  - {when: {any: true}, steps: [{say: Fine.}]}"

// script is a script with rules.
func script(rules ...string) []byte {
	return fmt.Appendf(nil, "rules:\n%s\n", strings.Join(rules, "\n"))
}
