package api

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/must"
)

const (
	callsPerWorld = 200  // random calls with the same ten identities
	fewCalls      = 2000 // in all, when nothing else is asked for
)

var isolationCalls = flag.Int("isolation-calls", fewCalls, "random calls of TestIsolation; more than the default begin with a random seed")

// TestIsolation makes random calls as the identities of two partners (users, callers without a user, visitors
// with widget tokens, and servers with admin tokens) and compares each reply with a model of who
// may see what. Every text of an identity contains its mark, which must not be in a reply
// to another identity, except in a shared message or to the partner's own server.
func TestIsolation(t *testing.T) {
	v := serve(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		text := "Heard: " + q.Text
		for _, line := range q.History { // what the brain is shown must not leak either
			if !line.Agent {
				text += " / " + line.Text
			}
		}
		return out.Say(text)
	}), nil)
	foreign := foreignAccount(v)
	var seed uint64
	if *isolationCalls > fewCalls {
		seed = rand.Uint64()
	}
	for n := range uint64(*isolationCalls / callsPerWorld) {
		w := newWorld(t, v, foreign, rand.New(rand.NewPCG(seed, n)))
		for range callsPerWorld {
			calls[w.random.IntN(len(calls))](w, w.identities[w.random.IntN(len(w.identities))])
		}
		if t.Failed() {
			t.Fatalf("with the seed %d, in world %d", seed, n)
		}
	}
}

// calls are the random calls; each checks its own reply.
var calls = []func(*world, *identity){
	(*world).talk, (*world).talk, (*world).rate, (*world).complete, (*world).abort, (*world).get, (*world).rename, (*world).transcript,
	(*world).list, (*world).messages, (*world).message, (*world).share, (*world).readShared, (*world).rateShared, (*world).remove,
	(*world).renew,
	(*world).push, (*world).push, (*world).report, (*world).analyse, (*world).match, (*world).followups,
}

// account is a partner with the agent that its users talk to.
type account struct {
	store.Partner
	configID int64
	widgetID string
}

// foreignAccount makes the other partner, with an agent like "silent".
func foreignAccount(v *service) account {
	v.t.Helper()
	m := v.stranger()
	intellect := m.call("/v1/intellect/add", `{"name":"foreign","opening_phrase":"<blank>"}`, 200)["id"]
	agent := m.call("/v1/agent/create", fmt.Sprintf(`{"displayName":"Foreign","intellect":{"id":%v},"avatarIds":[]}`, intellect), 200)["agentId"]
	widget := m.call("/v1/application/resolveWidgetId", fmt.Sprintf(`{"agentId":%q}`, agent), 200)["widgetId"]
	partner := must.Get(v.store.Partner(v.t.Context(), 77))(v.t)
	return account{partner, int64(intellect.(float64)), widget.(string)}
}

// identity is a holder of a token.
type identity struct {
	mark    string // in everything that it says
	account *account
	widget  bool
	admin   bool
	user    string
	ks      string
}

// anonymous identities have tokens of a site's server without a user. With a thread's id they reach it, whichever of them has
// begun it, but each lists only those of its present token.
func (who *identity) anonymous() bool { return who.user == "" && !who.widget }

// talked is a thread of the model.
type talked struct {
	id       string
	owner    *identity
	ks       string // with which it was begun
	deleted  bool
	messages []string // questions and answers
}

// rated is a message that an identity can rate, with the last rating of each.
type rated struct {
	id      string
	thread  *talked // nil for a shared copy
	owner   *identity
	source  *identity // of a shared copy: who has said it
	ratings map[*identity]bool
}

// rater is whose rating an identity gives: a message in a thread has one.
func (m *rated) rater(who *identity) *identity {
	if m.thread != nil {
		return m.thread.owner
	}
	return who
}

// world is the service with the model of what has happened to it.
type world struct {
	t          *testing.T
	service    *service
	random     *rand.Rand
	identities []*identity
	threads    []*talked
	answers    []*rated
	shared     []*rated
}

func newWorld(t *testing.T, v *service, foreign account, random *rand.Rand) *world {
	w := &world{t: t, service: v, random: random}
	silent := v.agents[store.Silent]
	own := account{v.partner, silent.ConfigID, silent.WidgetID}
	for _, who := range []*identity{
		{account: &own, user: "user"},
		{account: &own, user: "user"},
		{account: &own, widget: true},
		{account: &own, widget: true},
		{account: &own},
		{account: &own},
		{account: &own, user: "server", admin: true},
		{account: &foreign, user: "user"},
		{account: &foreign, widget: true},
		{account: &foreign, user: "server", admin: true},
	} {
		who.mark = uuid.NewString()
		if who.user != "" {
			who.user += " " + who.mark
		}
		w.identities = append(w.identities, who)
		w.newToken(who)
	}
	return w
}

// newToken gives an identity its first token, or another one that keeps its reach.
func (w *world) newToken(who *identity) {
	if !who.widget {
		kind, privileges := token.TypeUser, fmt.Sprintf("geniegpcid:%d,setrole:PLAYBACK_BASE_ROLE", who.account.configID)
		if who.admin {
			kind, privileges = token.TypeAdmin, "disableentitlement"
		}
		who.ks = w.service.mintFor(who.account.Partner, kind, who.user, privileges)
		return
	}
	if who.ks == "" {
		who.ks = w.service.widgetSession(who.account.widgetID)
	}
	var init struct{ KS string }
	w.service.decode(w.send("/v1/application/appInit", "KS "+who.ks, "application/json", "{}"), &init)
	who.ks = init.KS
}

func (w *world) renew(who *identity) {
	w.newToken(who)
	if who.anonymous() { // its ratings of shared messages are those of its token
		for _, m := range w.shared {
			delete(m.ratings, who)
		}
	}
}

func (w *world) send(path, auth, contentType, body string) reply {
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", auth)
	recorder := httptest.NewRecorder()
	w.service.handler.ServeHTTP(recorder, r)
	return reply{recorder.Code, recorder.Header(), strings.TrimSpace(recorder.Body.String())}
}

// call makes a call as an identity. The reply must have that status, and must not contain
// the mark of another identity, except those in may.
func (w *world) call(who *identity, path string, body any, status int, may ...*identity) reply {
	w.t.Helper()
	text := must.Get(json.Marshal(body))(w.t)
	got := w.send(path, "KS "+who.ks, "application/json", string(text))
	if got.status != status {
		w.t.Errorf("%s %s: status %d, want %d: %s", path, text, got.status, status, got.body)
	}
	for _, other := range w.identities {
		if other != who && !slices.Contains(may, other) && !(who.admin && other.account == who.account) && !(who.anonymous() && other.anonymous()) && strings.Contains(strings.ReplaceAll(got.body, string(text), ""), other.mark) {
			w.t.Errorf("%s %s: the reply has what another identity said: %s", path, text, got.body)
		}
	}
	return got
}

// owners is the status of a route that widget tokens may not use.
func (w *world) owners(who *identity, otherwise int) int {
	if who.widget {
		return http.StatusForbidden
	}
	return otherwise
}

func reaches(who *identity, t *talked) bool {
	return (t.owner == who || who.admin && t.owner.account == who.account || who.anonymous() && t.owner.anonymous()) && !t.deleted
}

// thread picks a thread of anybody's, nil when there is none.
func (w *world) thread() *talked { return pick(w.random, w.threads) }

func pick[T any](random *rand.Rand, list []*T) *T {
	if len(list) == 0 {
		return nil
	}
	return list[random.IntN(len(list))]
}

// found is the status of a call about one thing.
func found(ok bool) int {
	if ok {
		return http.StatusOK
	}
	return http.StatusNotFound
}

// talk says something, in a new thread or in anybody's.
func (w *world) talk(who *identity) {
	if who.admin { // it may, but its mark would then be in threads of others
		return
	}
	body := map[string]any{"userMessage": "word " + who.mark}
	t := w.thread()
	if w.random.IntN(3) == 0 {
		t = nil
	}
	if t != nil {
		body["threadId"] = t.id
	}
	got := w.call(who, "/assistant/converse", body, http.StatusOK)
	if t != nil && !reaches(who, t) {
		if !strings.Contains(got.body, "No permission for thread") {
			w.t.Errorf("a thread of another identity was continued: %s", got.body)
		}
		return
	}
	var first struct{ ThreadID, MessageID string }
	line, _, _ := strings.Cut(got.body, "\n")
	if err := json.Unmarshal([]byte(line), &first); err != nil || first.MessageID == "" || strings.Contains(got.body, `"type":"error"`) {
		w.t.Fatalf("%v in %s", err, got.body)
	}
	if t == nil {
		t = &talked{id: first.ThreadID, owner: who, ks: who.ks}
		w.threads = append(w.threads, t)
	}
	t.messages = append(t.messages, "question", first.MessageID)
	w.answers = append(w.answers, &rated{id: first.MessageID, thread: t, owner: who, ratings: map[*identity]bool{}})
}

func (w *world) feedback(who *identity, m *rated, ok bool) {
	good := w.random.IntN(2) == 0
	w.call(who, "/feedback/add", map[string]any{
		"schemaVersion": 1, "data": map[string]any{"message_id": m.id, "is_positive": good, "comment": "by " + who.mark},
	}, found(ok))
	if ok {
		m.ratings[m.rater(who)] = good
	}
}

func (w *world) rate(who *identity) {
	if m := pick(w.random, w.answers); m != nil && !who.admin { // its rating would replace that of the thread's owner
		w.feedback(who, m, reaches(who, m.thread))
	}
}

func (w *world) rateShared(who *identity) {
	if m := pick(w.random, w.shared); m != nil {
		w.feedback(who, m, m.owner.account == who.account)
	}
}

func (w *world) complete(who *identity) {
	if t := w.thread(); t != nil {
		w.call(who, "/thread/session_completed", map[string]any{"id": t.id}, found(reaches(who, t)))
	}
}

func (w *world) abort(who *identity) {
	if t := w.thread(); t != nil {
		w.call(who, "/assistant/abort", map[string]any{"threadId": t.id}, http.StatusOK)
	}
}

func (w *world) get(who *identity) {
	if t := w.thread(); t != nil {
		w.call(who, "/v1/thread/get", map[string]any{"id": t.id}, w.owners(who, found(reaches(who, t))))
	}
}

func (w *world) rename(who *identity) {
	if t := w.thread(); t != nil && !who.admin { // as in talk
		w.call(who, "/v1/thread/update", map[string]any{"id": t.id, "title": "title " + who.mark}, w.owners(who, found(reaches(who, t))))
	}
}

func (w *world) transcript(who *identity) {
	if t := w.thread(); t != nil {
		w.call(who, "/v1/thread/get_transcripts", map[string]any{"id": t.id}, w.owners(who, found(reaches(who, t))))
	}
}

// list compares all threads and messages that an identity sees with those of the model.
func (w *world) list(who *identity) {
	filter := func(kind string, owner *identity) map[string]any {
		f := map[string]any{"objectType": kind}
		if who.admin { // it sees those of other worlds too: ask about one user
			f["userIdEquals"] = owner.user
		}
		return map[string]any{"filter": f, "pager": map[string]int{"pageSize": maxPageSize}}
	}
	owner := who
	if who.admin {
		owner = w.identities[w.random.IntN(2)]
	}
	got := w.call(who, "/v1/thread/list", filter("ListThreadFilter", owner), w.owners(who, http.StatusOK))
	if who.widget {
		return
	}
	var want []string
	messages := 0
	for _, t := range w.threads {
		if t.owner == owner && reaches(who, t) && (t.ks == owner.ks || !owner.anonymous()) {
			want = append(want, t.id)
			messages += len(t.messages)
		}
	}
	w.wantTotal(w.call(who, "/message/list", filter("GenieListMessageFilter", owner), http.StatusOK), messages)
	w.wantIDs(got, want)
}

func (w *world) wantIDs(got reply, want []string) {
	w.t.Helper()
	var list struct{ Objects []struct{ ID string } }
	w.service.decode(got, &list)
	ids := []string{}
	for _, o := range list.Objects {
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	slices.Sort(want)
	expect.List(w.t, ids, want, "the list is")
}

// messages counts what an identity sees of a thread.
func (w *world) messages(who *identity) {
	t := w.thread()
	if t == nil {
		return
	}
	got := w.call(who, "/message/list", map[string]any{
		"filter": map[string]any{"objectType": "GenieListMessageFilter", "threadIdEquals": t.id}, "pager": map[string]int{"pageSize": maxPageSize},
	}, w.owners(who, http.StatusOK))
	if who.widget {
		return
	}
	want := 0
	if reaches(who, t) {
		want = len(t.messages)
	}
	w.wantTotal(got, want)
}

func (w *world) wantTotal(got reply, want int) {
	w.t.Helper()
	var list struct{ TotalCount int }
	if w.service.decode(got, &list); list.TotalCount != want {
		w.t.Errorf("%d messages, want %d", list.TotalCount, want)
	}
}

func (w *world) message(who *identity) {
	if m := pick(w.random, w.answers); m != nil {
		got := w.call(who, "/message/get", map[string]any{"id": m.id}, w.owners(who, found(reaches(who, m.thread))))
		if got.status == http.StatusOK && !who.admin {
			w.wantRating(who, m, got)
		}
	}
}

// wantRating compares a message's rating with the identity's own last one.
func (w *world) wantRating(who *identity, m *rated, got reply) {
	w.t.Helper()
	var seen struct {
		Positive *bool `json:"is_positive"`
	}
	w.service.decode(got, &seen)
	want, is := m.ratings[m.rater(who)]
	if (seen.Positive != nil) != is || is && *seen.Positive != want {
		w.t.Errorf("the rating of an identity that gave %t (%t): %s", want, is, got.body)
	}
}

func (w *world) share(who *identity) {
	m := pick(w.random, w.answers)
	if m == nil {
		return
	}
	got := w.call(who, "/message/share", map[string]any{"id": m.id}, w.owners(who, found(reaches(who, m.thread))))
	if got.status != http.StatusOK {
		return
	}
	var reply struct {
		Data struct{ NewMessageID string }
	}
	w.service.decode(got, &reply)
	w.shared = append(w.shared, &rated{id: reply.Data.NewMessageID, owner: who, source: m.owner, ratings: map[*identity]bool{}})
}

func (w *world) readShared(who *identity) {
	if m := pick(w.random, w.shared); m != nil {
		may := []*identity{m.source, m.owner}
		for _, other := range w.identities { // who have perhaps talked in the same thread
			if m.source.anonymous() && other.anonymous() {
				may = append(may, other)
			}
		}
		got := w.call(who, "/message/get", map[string]any{"id": m.id}, w.owners(who, found(m.owner.account == who.account)), may...)
		if got.status == http.StatusOK {
			w.wantRating(who, m, got)
		}
	}
}

func (w *world) remove(who *identity) {
	t := w.thread()
	if t == nil || w.random.IntN(4) != 0 { // so that threads live for a while
		return
	}
	got := w.call(who, "/v1/thread/delete", map[string]any{"thread_ids": []string{t.id}}, w.owners(who, http.StatusOK))
	if who.widget {
		return
	}
	var want []string
	if reaches(who, t) {
		want = []string{t.id}
		t.deleted = true
	}
	w.wantIDs(got, want)
}

// servers is the status of a management route, which needs an admin token.
func servers(who *identity, otherwise int) int {
	if !who.admin {
		return http.StatusForbidden
	}
	return otherwise
}

// push puts a message into a thread; it has the mark of the thread's owner.
func (w *world) push(who *identity) {
	t := w.thread()
	if t == nil {
		return
	}
	got := w.call(who, "/thread/push", map[string]any{"id": t.id, "content": "pushed " + t.owner.mark}, servers(who, found(reaches(who, t))), t.owner)
	if got.status == http.StatusOK {
		t.messages = append(t.messages, "pushed")
	}
}

// report counts the answers to one user.
func (w *world) report(who *identity) {
	user := w.identities[w.random.IntN(2)]
	got := w.call(who, "/message/report", map[string]any{
		"filter": map[string]any{"objectType": "GenieListMessageFilter", "userIdEquals": user.user},
	}, servers(who, http.StatusOK))
	if got.status != http.StatusOK {
		return
	}
	want := 0
	for _, m := range w.answers {
		if m.owner == user && reaches(who, m.thread) {
			want++
		}
	}
	rows, err := csv.NewReader(strings.NewReader(got.body)).ReadAll()
	if err != nil || len(rows)-1 != want {
		w.t.Errorf("the report has %d rows, want %d: %v", len(rows)-1, want, err)
	}
}

// analyse sets the analysis of a thread, to the mark of its owner.
func (w *world) analyse(who *identity) {
	if t := w.thread(); t != nil {
		w.call(who, "/v1/thread/update", map[string]any{
			"id": t.id, "thread_metadata": map[string]any{"analysis": map[string]any{"by": t.owner.mark}},
		}, w.owners(who, found(reaches(who, t))), t.owner)
	}
}

func (w *world) match(who *identity) {
	if t := w.thread(); t != nil {
		w.call(who, "/v1/lifecycle/match", map[string]any{"objectId": t.id, "eventType": "session_ended"}, servers(who, found(reaches(who, t))))
	}
}

func (w *world) followups(who *identity) {
	w.call(who, "/followup/list", map[string]any{}, servers(who, http.StatusOK))
}
