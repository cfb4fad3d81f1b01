//go:build !js

package appinit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Tokens as the service makes them; nothing may show one.
const (
	widgetToken  = "djJ8NTUwMXwtd2lkZ2V0LTE_abcDEF0123"
	secondToken  = "djJ8NTUwMXwtd2lkZ2V0LTI_abcDEF0123"
	visitorToken = "djJ8NTUwMXwtdmlzaXRvci0_abcDEF0123"
	agentToken   = "djJ8NTUwMXwtYWdlbnQtNDI_abcDEF0123"
)

const fullReply = `{"partnerId":5501,"ks":"` + agentToken + `","conversationManagerUrl":"https://talk.example",
	"srsBaseUrl":"https://media.example","turnServerUrl":"turn.example",
	"turnCredentials":{"username":"u-17","credential":"c-17","expiry":1790000000},
	"avatars":[{"id":"av-1","previewImageUrl":"https://x.example/p.png","loadingVideoUrl":"https://x.example/l.mp4","objectType":"Object"}],
	"widgetConfig":{"theme":"dark"},"legacyScreenShareEnabled":true,"kind":7}`

// service answers each path with its replies in order, the last one again and
// again, and records what it was asked.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	replies  map[string][]reply
	requests []string
}

type reply struct {
	status int
	body   string
}

const (
	widgetPath = "/api_v3/service/session/action/startWidgetSession"
	initPath   = "/v1/application/appInit"
)

func newService(t *testing.T, widget, init []reply) *service {
	t.Helper()
	s := &service{replies: map[string][]reply{widgetPath: widget, initPath: init}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, fmt.Sprintf("%s %s auth=%q type=%q body=%q",
		r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), body))
	queue := s.replies[r.URL.Path]
	if len(queue) == 0 {
		http.NotFound(w, r)
		return
	}
	if len(queue) > 1 {
		s.replies[r.URL.Path] = queue[1:]
	}
	w.WriteHeader(queue[0].status)
	_, _ = io.WriteString(w, queue[0].body)
}

func (s *service) options(o Options) Options {
	o.AgenticURL, o.OVPURL = new(s.URL+"/v1/"), new(s.URL+"/api_v3")
	return o
}

func tokenReply(token string) reply {
	return reply{200, `{"ks":"` + token + `","partnerId":5501,"userId":0,"objectType":"KalturaStartWidgetSessionResponse"}`}
}

// The requests, exactly as they must be.
var askWidget = `POST ` + widgetPath + ` auth="" type="application/x-www-form-urlencoded" body="format=1&widgetId=_5501%261"`

func askInit(token string) string {
	return `POST ` + initPath + ` auth="KS ` + token + `" type="" body=""`
}

func TestInit(t *testing.T) {
	full := Result{
		PartnerID: "5501", KS: agentToken, Kind: WidgetToken, ConversationURL: "https://talk.example", SRSBaseURL: "https://media.example",
		TURNServerURL:   "turn.example",
		TURNCredentials: &TURNCredentials{Username: "u-17", Credential: "c-17", Expiry: 1790000000},
		Avatars:         []Avatar{{ID: "av-1", PreviewImageURL: "https://x.example/p.png", LoadingVideoURL: "https://x.example/l.mp4"}},
		WidgetConfig:    json.RawMessage(`{"theme":"dark"}`),
		GenieURL:        "https://genie.nvp1.ovp.kaltura.com",
	}
	least := Result{PartnerID: "p-7", KS: agentToken, GenieURL: "https://genie.frp2.ovp.kaltura.com"}
	const widget = "_5501&1"
	refused := reply{401, `{"message":"expired"}`}
	tests := []struct {
		name         string
		options      Options
		widget, init []reply
		want         Result
		code         fault.Code
		requests     []string
	}{
		{
			name: "widget id", options: Options{WidgetID: widget}, want: full,
			widget:   []reply{tokenReply(widgetToken)},
			init:     []reply{{200, fullReply}},
			requests: []string{askWidget, askInit(widgetToken)},
		},
		{
			name: "visitor token", options: Options{Token: visitorToken, Config: Config{Region: new("frp2")}}, want: least,
			init:     []reply{{200, `{"partnerId":"p-7","ks":"` + agentToken + `","kind":"admin"}`}},
			requests: []string{askInit(visitorToken)},
		},
		{
			name: "visitor token, widget known", options: Options{WidgetID: widget, Token: visitorToken, Config: Config{Region: new("frp2")}}, want: least,
			init:     []reply{{200, `{"partnerId":"p-7","ks":"` + agentToken + `"}`}},
			requests: []string{askInit(visitorToken)},
		},
		{
			name: "401, then a fresh widget token", options: Options{WidgetID: widget}, want: full,
			widget:   []reply{tokenReply(widgetToken), tokenReply(secondToken)},
			init:     []reply{refused, {200, fullReply}},
			requests: []string{askWidget, askInit(widgetToken), askWidget, askInit(secondToken)},
		},
		{
			name: "401 twice", options: Options{WidgetID: widget}, code: fault.Unauthorized,
			widget:   []reply{tokenReply(widgetToken), tokenReply(secondToken)},
			init:     []reply{refused},
			requests: []string{askWidget, askInit(widgetToken), askWidget, askInit(secondToken)},
		},
		{
			name: "401 for a token, widget known", options: Options{WidgetID: widget, Token: visitorToken}, want: full,
			widget:   []reply{tokenReply(widgetToken)},
			init:     []reply{refused, {200, fullReply}},
			requests: []string{askInit(visitorToken), askWidget, askInit(widgetToken)},
		},
		{
			name: "401 for a token, no widget", options: Options{Token: visitorToken}, code: fault.Unauthorized,
			init:     []reply{refused},
			requests: []string{askInit(visitorToken)},
		},
		{
			name: "401 for the widget id itself", options: Options{WidgetID: widget}, code: fault.Unauthorized,
			widget:   []reply{refused},
			requests: []string{askWidget},
		},
		{
			name: "403", options: Options{WidgetID: widget}, code: fault.Forbidden,
			widget:   []reply{tokenReply(widgetToken)},
			init:     []reply{{403, ``}},
			requests: []string{askWidget, askInit(widgetToken)},
		},
		{
			name: "error behind 200", options: Options{Token: visitorToken}, code: fault.APIException,
			init:     []reply{{200, `{"code":"WRONG_TOKEN","message":"not a widget token ` + visitorToken + `","args":{}}`}},
			requests: []string{askInit(visitorToken)},
		},
		{
			name: "widget error behind 200", options: Options{WidgetID: widget}, code: fault.AgentNotFound,
			widget:   []reply{{200, `{"objectType":"KalturaAPIException","code":"INVALID_WIDGET_ID","message":"no such widget","args":[]}`}},
			requests: []string{askWidget},
		},
		{
			name: "widget reply without a token", options: Options{WidgetID: widget}, code: fault.SessionFailed,
			widget:   []reply{{200, `{"partnerId":1}`}},
			requests: []string{askWidget},
		},
		{
			name: "appInit reply without a token", options: Options{Token: visitorToken}, code: fault.InvalidResponse,
			init:     []reply{{200, `{"partnerId":1}`}},
			requests: []string{askInit(visitorToken)},
		},
		{
			name: "no JSON", options: Options{Token: visitorToken}, code: fault.InvalidResponse,
			init:     []reply{{200, `<html>` + visitorToken}},
			requests: []string{askInit(visitorToken)},
		},
		{
			name: "agent without an intellect", options: Options{Token: visitorToken}, code: fault.IntellectNotFound,
			init:     []reply{{404, `{"message":"AGENT_PARTNER_CONFIG_NOT_FOUND"}`}},
			requests: []string{askInit(visitorToken)},
		},
		{name: "nothing given", code: fault.BadRequest},
		{name: "token that can't be a header", options: Options{Token: visitorToken + "\n"}, code: fault.BadRequest},
		{name: "unknown region", options: Options{Token: visitorToken, Config: Config{Region: new("xx")}}, code: fault.BadRequest},
		{name: "bad address", options: Options{Token: visitorToken, Config: Config{GenieURL: new("")}}, code: fault.BadRequest},
		{
			name:    "insecure address",
			options: Options{Token: visitorToken, Config: Config{GenieURL: new("http://brain.example")}}, code: fault.InsecureTransport,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newService(t, test.widget, test.init)
			var warnings []*fault.Error
			o := s.options(test.options)
			o.Warn = func(w *fault.Error) { warnings = append(warnings, w) }
			result, err := Init(t.Context(), o)
			if !reflect.DeepEqual(s.requests, test.requests) {
				t.Errorf("requests\n got %s\nwant %s", strings.Join(s.requests, "\n     "), strings.Join(test.requests, "\n     "))
			}
			checkSecrets(t, result, err, warnings, s.requests)
			if test.code != "" {
				if !errors.Is(err, test.code) || result != nil {
					t.Errorf("got %v, %v; want %s", result, err, test.code)
				}
				return
			}
			must.Do(t, err)
			if !reflect.DeepEqual(*result, test.want) {
				got, _ := json.Marshal(*result)
				want, _ := json.Marshal(test.want)
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

// checkSecrets looks for tokens in everything that leaves Init but the result's
// own fields, and in the addresses that were asked.
func checkSecrets(t *testing.T, result *Result, err error, warnings []*fault.Error, requests []string) {
	t.Helper()
	outputs := []string{fmt.Sprintf("%v %+v %#v", err, err, err)}
	if err != nil {
		text, jsonErr := json.Marshal(err)
		if jsonErr != nil {
			t.Errorf("%T has no JSON form: %v", err, jsonErr)
		}
		outputs = append(outputs, string(text))
	}
	if result != nil {
		outputs = append(outputs, fmt.Sprintf("%v %+v %#v %v", result, *result, *result, result.TURNCredentials))
	}
	for _, w := range warnings {
		outputs = append(outputs, w.Error())
	}
	for _, r := range requests {
		outputs = append(outputs, strings.Fields(r)[1])
	}
	for _, out := range outputs {
		if strings.Contains(out, "djJ8") || strings.Contains(out, "c-17") {
			t.Errorf("a secret shows in %q", out)
		}
	}
}

func TestLocalAddressesWarnOncePerAddress(t *testing.T) {
	s := newService(t, nil, []reply{{200, fullReply}})
	var warnings []string
	o := s.options(Options{Token: visitorToken})
	o.Warn = func(w *fault.Error) { warnings = append(warnings, string(w.Code)+" "+w.Detail) }
	must.Get(Init(t.Context(), o))(t)
	want := []string{
		"insecure_transport agenticUrl uses http to a local or private host",
		"insecure_transport ovpUrl uses http to a local or private host",
	}
	if !reflect.DeepEqual(warnings, want) {
		t.Errorf("warnings %q", warnings)
	}
}

// client is a fetch.Client that never answers.
type client struct{ requests int }

func (c *client) Do(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
	c.requests++
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestInitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &client{}
	_, err := Init(ctx, Options{Token: visitorToken, HTTPClient: fetch.As(c)})
	if !errors.Is(err, fault.Aborted) || !errors.Is(err, context.Canceled) || c.requests != 1 {
		t.Errorf("%d requests, %v", c.requests, err)
	}
}
