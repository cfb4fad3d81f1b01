//go:build !js

package visitor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// service is a running local service with the agents that it has by itself.
type service struct {
	*localservice.Service
	http  *fetch.HTTPClient
	info  localservice.Info
	agent localservice.AgentInfo
}

func startService(ctx context.Context) (*service, error) {
	running, err := localservice.Start(ctx, localservice.Options{Voice: "builtin"})
	if err != nil {
		return nil, err
	}
	s := &service{Service: running, http: fetch.New(), info: running.Info()}
	s.agent, _ = s.info.Agent("receptionist")
	return s, nil
}

func (s *service) stop() error {
	s.http.Close()
	return s.Close()
}

// token mints an agent token for a user, as a page's server does (service.md
// "Authentication" rule 10).
func (s *service) token(ctx context.Context, user string) (token string, err error) {
	err = fetch.Call(ctx, s.http, &fetch.Request{
		URL: s.info.OVPURL + "/service/session/action/start",
		Body: fetch.Form(map[string]string{
			"format": "1", "secret": s.info.AdminSecret, "partnerId": fmt.Sprint(s.info.PartnerID), "userId": user, "type": "0",
			"privileges": fmt.Sprintf("agentid:%s,geniegpcid:%d,setrole:PLAYBACK_BASE_ROLE", s.agent.AgentID, s.agent.ConfigID),
		}),
	}, &token)
	return token, err
}

// answer has the ids of the thread and the message in which a turn was stored.
type answer struct{ threadID, messageID, text string }

// say has one turn of a conversation; without a threadID it begins a thread.
func (s *service) say(ctx context.Context, token, threadID, text string) (a answer, err error) {
	body, err := fetch.JSON(map[string]string{"userMessage": text, "threadId": threadID})
	if err != nil {
		return a, err
	}
	reply, err := s.http.Do(ctx, &fetch.Request{
		URL: s.info.GenieURL + "/assistant/converse", Header: fetch.Header{"authorization": "KS " + token}, Body: body,
	})
	if err != nil {
		return a, err
	}
	defer reply.Body.Close()
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		var segment struct{ Type, Content, ThreadID, MessageID string }
		// Segments whose content is an object are no part of the text.
		if json.Unmarshal(lines.Bytes(), &segment) == nil && (segment.Type == "text" || segment.Type == "avatar") {
			a.text += segment.Content
		}
		if segment.ThreadID != "" {
			a.threadID, a.messageID = segment.ThreadID, segment.MessageID
		}
	}
	if a.threadID == "" {
		err = fmt.Errorf("converse: status %d and no thread", reply.Status)
	}
	return a, err
}

// person is a visitor of the test's service.
type person struct {
	*visitor.Client
	t     *testing.T
	s     *service
	token string
}

func (s *service) person(t *testing.T, name string) person {
	t.Helper()
	token, err := s.token(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s.bearer(t, token, appinit.AgentToken)
}

func (s *service) bearer(t *testing.T, token string, kind appinit.TokenKind) person {
	t.Helper()
	c := must[*visitor.Client](t)(visitor.New(visitor.Options{Token: token, Kind: kind, GenieURL: &s.info.GenieURL, HTTPClient: fetch.As(s.http)}))
	t.Cleanup(c.Close)
	return person{c, t, s, token}
}

func (p person) say(threadID, text string) answer {
	p.t.Helper()
	a, err := p.s.say(p.t.Context(), p.token, threadID, text)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

func TestAgainstTheService(t *testing.T) {
	s, err := startService(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	for name, test := range map[string]func(*testing.T, *service){
		"a thread from its first turn to its end":     threadLife,
		"messages, a rating of one, and a copy":       ratedMessages,
		"a widget token converses and has no threads": widgets,
		"the token of appInit has the user's threads": ownToken,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func threadLife(t *testing.T, s *service) {
	ann, thread := s.person(t, "ann"), must[visitor.Thread](t)
	first := ann.say("", "My name is Sam")
	second := ann.say(first.threadID, "What is my name?")

	listed := must[visitor.Page[visitor.Thread]](t)(ann.Threads(t.Context(), visitor.ThreadQuery{}))
	if listed.TotalCount != 1 || len(listed.Objects) != 1 {
		t.Fatalf("threads %+v", listed)
	}
	got := thread(ann.Thread(t.Context(), first.threadID))
	if !reflect.DeepEqual(got, listed.Objects[0]) {
		t.Errorf("get says %+v\nlist says %+v", got, listed.Objects[0])
	}
	if got.ID != first.threadID || got.Title != "My name is Sam" || got.Status != "active" || got.AgentID != s.agent.AgentID ||
		got.CreatedAt.Time().IsZero() || !got.UpdatedAt.Time().After(got.CreatedAt.Time()) {
		t.Errorf("thread %+v", got)
	}

	transcript := must[visitor.Transcript](t)(ann.Transcript(t.Context(), first.threadID))
	want := []visitor.Turn{
		{Role: "human", Text: "My name is Sam"},
		{Role: "ai", Text: first.text},
		{Role: "human", Text: "What is my name?"},
		{Role: "ai", Text: second.text},
	}
	if !reflect.DeepEqual(transcript.Turns, want) || !strings.HasPrefix(transcript.Text, "human: My name is Sam\nai: ") {
		t.Errorf("transcript %+v", transcript)
	}

	if renamed := thread(ann.RenameThread(t.Context(), first.threadID, "Names")); renamed.Title != "Names" {
		t.Errorf("renamed to %q", renamed.Title)
	}
	for _, step := range []struct {
		set  map[string]any // nil clears
		want map[string]any
	}{
		{map[string]any{"mood": "good", "stars": 1}, map[string]any{"mood": "good", "stars": 1.0}},
		{map[string]any{"stars": 2}, map[string]any{"mood": "good", "stars": 2.0}},
		{nil, map[string]any{}},
	} {
		if step.set == nil {
			got = thread(ann.ClearAnalysis(t.Context(), first.threadID))
		} else {
			got = thread(ann.SetAnalysis(t.Context(), first.threadID, step.set))
		}
		if !reflect.DeepEqual(got.Metadata.Analysis, step.want) || got.Title != "Names" {
			t.Errorf("after %v: %v, %q", step.set, got.Metadata.Analysis, got.Title)
		}
	}

	other := ann.say("", "Hello")
	deleted := must[visitor.Page[visitor.Thread]](t)(ann.DeleteThreads(t.Context(), first.threadID, "no such thread"))
	if deleted.TotalCount != 1 || len(deleted.Objects) != 1 || deleted.Objects[0].ID != first.threadID {
		t.Errorf("deleted %+v", deleted)
	}
	listed = must[visitor.Page[visitor.Thread]](t)(ann.Threads(t.Context(), visitor.ThreadQuery{}))
	if listed.TotalCount != 1 || listed.Objects[0].ID != other.threadID {
		t.Errorf("threads afterwards %+v", listed)
	}
	if _, err := ann.Thread(t.Context(), first.threadID); !errors.Is(err, fault.NotFound) {
		t.Errorf("the deleted thread: %v", err)
	}
	again := must[visitor.Page[visitor.Thread]](t)(ann.DeleteThreads(t.Context(), first.threadID))
	if again.TotalCount != 0 || len(again.Objects) != 0 {
		t.Errorf("deleted again %+v", again)
	}
}

func ratedMessages(t *testing.T, s *service) {
	cid := s.person(t, "cid")
	first := cid.say("", "My name is Sam")
	second := cid.say(first.threadID, "What is my name?")
	cid.say("", "Another thread")

	all := func(q visitor.MessageQuery) (list []visitor.Message) {
		t.Helper()
		for m, err := range cid.AllMessages(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, m)
		}
		return list
	}
	list := all(visitor.MessageQuery{
		ThreadID: first.threadID, Filter: visitor.Filter{"threadIdEquals": "wins not"}, Pager: visitor.Pager{PageSize: new(3)},
	})
	var texts []string
	for _, m := range list {
		if m.ThreadID != first.threadID || m.UserID != "cid" || m.GenieID != visitor.ID(fmt.Sprint(s.agent.ConfigID)) {
			t.Errorf("message %+v", m)
		}
		texts = append(texts, m.Type+": "+m.Text())
	}
	if want := []string{"human: My name is Sam", "ai: " + first.text, "human: What is my name?", "ai: " + second.text}; !slices.Equal(texts, want) {
		t.Fatalf("messages\n%q\nwant\n%q", texts, want)
	}
	one := must[visitor.Message](t)(cid.Message(t.Context(), second.messageID))
	if !reflect.DeepEqual(one, list[3]) || one.IsPositive != nil {
		t.Errorf("get says %+v\nlist says %+v", one, list[3])
	}

	for range 2 {
		if err := cid.AddFeedback(t.Context(), second.messageID, true, "knows it"); err != nil {
			t.Fatal(err)
		}
	}
	rated := all(visitor.MessageQuery{Filter: visitor.Filter{"isPositiveIn": []bool{true, false}}})
	if len(rated) != 1 || rated[0].ID != second.messageID || rated[0].IsPositive == nil || !*rated[0].IsPositive || rated[0].Comment != "knows it" {
		t.Errorf("rated messages %+v", rated)
	}
	if err := cid.AddFeedback(t.Context(), second.messageID, false, ""); err != nil {
		t.Fatal(err)
	}
	if rated := all(visitor.MessageQuery{Filter: visitor.Filter{"isPositiveEquals": true}}); len(rated) != 0 {
		t.Errorf("after the other rating: %+v", rated)
	}
	if err := cid.AddFeedback(t.Context(), "no such message", true, ""); !errors.Is(err, fault.NotFound) {
		t.Errorf("feedback for nothing: %v", err)
	}
	shared := must[visitor.Shared](t)(cid.ShareMessage(t.Context(), second.messageID, "For all"))
	if copied := must[visitor.Message](t)(cid.Message(t.Context(), shared.NewMessageID)); copied.Title != "For all" || copied.Text() != second.text {
		t.Errorf("copy %+v", copied)
	}
}

func widgets(t *testing.T, s *service) {
	init := s.appInit(t, appinit.Options{WidgetID: s.agent.WidgetID})
	if init.Kind != appinit.WidgetToken {
		t.Fatalf("kind %q", init.Kind)
	}
	shared := s.bearer(t, init.KS, init.Kind)
	said := shared.say("", "My name is Sam")
	if _, err := shared.Thread(t.Context(), said.threadID); !errors.Is(err, fault.WrongTokenScope) {
		t.Errorf("a token known to be a widget's: %v", err)
	}
	_, err := s.bearer(t, init.KS, appinit.UnknownToken).Thread(t.Context(), said.threadID)
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Forbidden || f.Detail != "a token of this kind may not do that" {
		t.Errorf("the same, not known: %v", err)
	}

	if err := shared.AddFeedback(t.Context(), said.messageID, true, ""); err != nil {
		t.Error(err)
	}
	followups := must[[]visitor.Followup](t)(shared.Followups(t.Context()))
	if len(followups) != 3 || followups[0].Text != "What is agentruntime?" {
		t.Errorf("follow-ups %+v", followups)
	}
	status := must[visitor.Status](t)(shared.Status(t.Context()))
	if !status.AIConsent || !status.HasAvatar() || status.IdentifiedUser {
		t.Errorf("status %s", status.Raw)
	}
}

func ownToken(t *testing.T, s *service) {
	hal := s.person(t, "hal")
	init := s.appInit(t, appinit.Options{Token: hal.token})
	if init.Kind != appinit.UnknownToken {
		t.Errorf("kind %q", init.Kind)
	}
	page := s.bearer(t, init.KS, init.Kind)
	said := page.say("", "Hello")
	for _, p := range []person{page, hal} {
		list := must[visitor.Page[visitor.Thread]](t)(p.Threads(t.Context(), visitor.ThreadQuery{}))
		if list.TotalCount != 1 || list.Objects[0].ID != said.threadID {
			t.Errorf("threads %+v", list)
		}
	}
	if status := must[visitor.Status](t)(page.Status(t.Context())); !status.IdentifiedUser {
		t.Errorf("status %s", status.Raw)
	}
}

func (s *service) appInit(t *testing.T, o appinit.Options) *appinit.Result {
	t.Helper()
	o.HTTPClient = fetch.As(s.http)
	o.AgenticURL, o.GenieURL, o.OVPURL = &s.info.AgenticURL, &s.info.GenieURL, &s.info.OVPURL
	return must[*appinit.Result](t)(appinit.Init(t.Context(), o))
}
