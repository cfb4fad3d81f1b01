//go:build !js

package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const agentJSON = `{"agentId":"a-1","displayName":"Reception","intellect":{"id":7},"avatarIds":["0123456789abcdef01234567"],"adminTags":["custom"],"createdAt":"2026-01-02T03:04:05Z","more":1}`

func TestNewChecksItsOptions(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*management.Options)
		code   fault.Code
	}{
		{"no partner", func(o *management.Options) { o.PartnerID = 0 }, fault.BadRequest},
		{"negative partner", func(o *management.Options) { o.PartnerID = -1 }, fault.BadRequest},
		{"two secrets", func(o *management.Options) {
			o.SecretFunc = func(context.Context) (string, error) { return secret, nil }
		}, fault.BadRequest},
		{"unknown region", func(o *management.Options) { o.Region = new("mars1") }, fault.BadRequest},
		{"empty address", func(o *management.Options) { o.OVPURL = new("") }, fault.BadRequest},
		{"address with a password", func(o *management.Options) { o.AgenticURL = new("https://x:" + secret + "@a.example") }, fault.BadRequest},
		{"another scheme", func(o *management.Options) { o.GenieURL = new("ftp://a.example") }, fault.BadRequest},
		{"http to a public host", func(o *management.Options) { o.OVPURL = new("http://a.example") }, fault.InsecureTransport},
	} {
		o := management.Options{PartnerID: partner, Secret: secret}
		test.change(&o)
		c, err := management.New(o)
		if c != nil {
			t.Errorf("%s: there is a client", test.name)
		}
		wantCode(t, test.name, err, test.code)
	}
}

func TestNothingShowsTheSecret(t *testing.T) {
	f := newFake(t, map[string][]answer{
		startPath: {{0, `{"code":"START_SESSION_ERROR","message":"wrong secret ` + secret + `","args":{}}`}},
	})
	o := management.Options{PartnerID: partner, Secret: secret}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "options", o, "client", f.Client, "token", management.RawToken(userKS))
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "options", o, "client", f.Client, "token", management.RawToken(userKS))
	token := management.RawToken(userKS)
	noSecrets(t, o, &o, f.Client, *f.Client, struct{ c *management.Client }{f.Client}, f.Tokens, log.String(), token, &token, []management.Token{token},
		struct{ t management.Token }{token})
	_, err := f.Tokens.Admin(t.Context(), management.AdminTokenInput{UserID: "u"})
	wantCode(t, "refused", err, fault.APIException)
}

// TestTheSecretGoesToTheSessionAPIOnly looks at everything that was sent.
func TestTheSecretGoesToTheSessionAPIOnly(t *testing.T) {
	f := newFake(t, map[string][]answer{"/agent/get": {{0, agentJSON}}})
	must.Get(f.Agents.Get(t.Context(), "a-1"))(t)
	must.Get(f.Tokens.Agent(t.Context(), management.TokenInput{AgentID: "a-1", UserID: "sam"}))(t)
	for _, a := range f.take() {
		sent := fmt.Sprint(a.body, a.header, a.path)
		if has := strings.Contains(sent, secret); has != (a.path == startPath) || has && a.service != "session" {
			t.Errorf("%s %s: has the secret: %v", a.service, a.path, has)
		}
	}
}

func TestSecretFuncIsCalledForEveryToken(t *testing.T) {
	calls := 0
	f := newFake(t, nil, func(o *management.Options) {
		o.Secret, o.SecretFunc = "", func(context.Context) (string, error) {
			if calls++; calls > 2 {
				return "", errors.New("the vault is closed to " + userKS)
			}
			return secret + strconv.Itoa(calls), nil
		}
	})
	for range 2 {
		must.Get(f.Tokens.Admin(t.Context(), management.AdminTokenInput{UserID: "u"}))(t)
	}
	asked := f.take()
	if len(asked) != 2 || !strings.Contains(asked[0].body, secret+"1") || !strings.Contains(asked[1].body, secret+"2") {
		t.Errorf("asked %v", asked)
	}
	_, err := f.Tokens.Admin(t.Context(), management.AdminTokenInput{UserID: "u"})
	wantCode(t, "a failing SecretFunc", err, fault.InternalError)
	expect.Equal(t, len(f.take()), 0, "something was asked without a secret")
}

func TestWithoutASecret(t *testing.T) {
	f := newFake(t, map[string][]answer{"/agent/get": {{0, agentJSON}}}, func(o *management.Options) { o.Secret = "" })
	_, err := f.Agents.Get(t.Context(), "a-1")
	wantCode(t, "no token", err, fault.NoSecret)
	expect.Equal(t, len(f.take()), 0, "something was asked")
	if _, err := f.Agents.Get(management.WithToken(t.Context(), management.RawToken(userKS)), "a-1"); err != nil {
		t.Error(err)
	}
	if a, _ := f.last(); a.auth != "KS "+userKS {
		t.Errorf("authorization %q", a.auth)
	}
}

func TestTheClientsOwnTokenIsKeptAndReplaced(t *testing.T) {
	refused := answer{401, `{"message":"expired"}`}
	f := newFake(t, map[string][]answer{
		startPath:    {{0, `"djJ8first"`}, {0, `"djJ8second"`}},
		"/agent/get": {{0, agentJSON}, {0, agentJSON}, refused, {0, agentJSON}, refused},
	})
	get := func() error { _, err := f.Agents.Get(t.Context(), "a-1"); return err }
	var auths []string
	for range 3 {
		must.Do(t, get())
	}
	err := get()
	wantCode(t, "refused twice", err, fault.Unauthorized)
	for _, a := range f.take() {
		auths = append(auths, a.auth)
	}
	// "" is session/start.
	want := []string{"", "KS djJ8first", "KS djJ8first", "KS djJ8first", "", "KS djJ8second", "KS djJ8second", "", "KS djJ8second"}
	if fmt.Sprint(auths) != fmt.Sprint(want) {
		t.Errorf("\n got %q\nwant %q", auths, want)
	}
}

// TestOneTokenForManyCallers begins many calls at once on a client without a token.
func TestOneTokenForManyCallers(t *testing.T) {
	f := newFake(t, map[string][]answer{"/agent/get": {{0, agentJSON}}})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := f.Agents.Get(t.Context(), "a-1"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	minted := 0
	for _, a := range f.take() {
		if a.path == startPath {
			minted++
		}
	}
	expect.Equal(t, minted, 1, "tokens were minted")
}

func TestRetries(t *testing.T) {
	busy, done := answer{503, `{"message":"busy"}`}, answer{0, agentJSON}
	input := management.AgentInput{DisplayName: "x", Intellect: management.IntellectRef{ID: 7}, AvatarIDs: []string{"0123456789abcdef01234567"}}
	f := newFake(t, nil)
	for path, call := range map[string]func() error{
		"/agent/get":    func() error { _, err := f.Agents.Get(t.Context(), "a-1"); return err },
		"/agent/create": func() error { _, err := f.Agents.Create(t.Context(), input); return err },
		"/agent/update": func() error {
			_, err := f.Agents.Update(t.Context(), "a-1", management.AgentPatch{DisplayName: new("y")})
			return err
		},
		"/agent/delete": func() error {
			return f.Agents.Delete(t.Context(), "a-1", management.ConfirmPermanent, management.SkipProtectedCheck)
		},
	} {
		t.Run(path, func(t *testing.T) {
			f.answers[path] = []answer{busy, done}
			must.Do(t, call())
			asked := f.take()
			first, second := asked[len(asked)-2], asked[len(asked)-1]
			if first.path != path || second.path != path || first.body != second.body {
				t.Errorf("asked %v", asked)
			}
			key := first.header.Get("Idempotency-Key")
			if writes := strings.HasSuffix(path, "create") || strings.HasSuffix(path, "delete"); (key != "") != writes || key != second.header.Get("Idempotency-Key") {
				t.Errorf("idempotency keys %q and %q", key, second.header.Get("Idempotency-Key"))
			}
		})
	}
}

func TestIdempotencyKeys(t *testing.T) {
	f := newFake(t, map[string][]answer{"/agent/create": {{0, agentJSON}}})
	input := management.AgentInput{DisplayName: "x", Intellect: management.IntellectRef{ID: 7}, AvatarIDs: []string{"0123456789abcdef01234567"}}
	var keys []string
	for _, opts := range [][]management.Option{nil, nil, {management.IdempotencyKey("import-17")}} {
		must.Get(f.Agents.Create(t.Context(), input, opts...))(t)
		a, _ := f.last()
		keys = append(keys, a.header.Get("Idempotency-Key"))
	}
	if keys[0] == keys[1] || len(keys[0]) < 20 || keys[2] != "import-17" {
		t.Errorf("keys %q", keys)
	}
}

func TestBadReplies(t *testing.T) {
	for name, test := range map[string]struct {
		answer
		code fault.Code
	}{
		"no JSON":        {answer{0, `{"agentId":`}, fault.InvalidResponse},
		"another type":   {answer{0, `{"agentId":7}`}, fault.InvalidResponse},
		"no id":          {answer{0, `{"displayName":"x"}`}, fault.InvalidResponse},
		"an empty id":    {answer{0, `{"agentId":""}`}, fault.InvalidResponse},
		"null":           {answer{0, `null`}, fault.InvalidResponse},
		"empty":          {answer{0, ``}, fault.ServerError},
		"too large":      {answer{0, `{"agentId":"` + strings.Repeat("x", 10<<20) + `"}`}, fault.ResponseTooLarge},
		"unknown agent":  {answer{404, `{"message":"AGENT_NOT_FOUND"}`}, fault.AgentNotFound},
		"server's token": {answer{403, `{"message":"` + adminKS + ` is not enough"}`}, fault.Forbidden},
	} {
		f := newFake(t, map[string][]answer{"/agent/get": {test.answer}})
		_, err := f.Agents.Get(t.Context(), "a-1")
		wantCode(t, name, err, test.code)
	}
	f := newFake(t, map[string][]answer{"/v1/intellect/get": {{0, `{"id":0}`}, {0, `{"id":"x"}`}}})
	for _, name := range []string{"the number 0", "no number"} {
		_, err := f.Intellects.Get(t.Context(), 7)
		wantCode(t, name, err, fault.InvalidResponse)
	}
}

func TestOnResponse(t *testing.T) {
	var got []string
	f := newFake(t, map[string][]answer{"/agent/get": {{503, ``}, {0, agentJSON}}}, func(o *management.Options) {
		o.OnResponse = func(r management.Response) {
			got = append(got, fmt.Sprintf("%s %d %d", r.Path, r.Status, r.Attempt))
		}
	})
	must.Get(f.Agents.Get(t.Context(), "a-1"))(t)
	want := []string{"/api_v3" + startPath + " 200 1", "/v1/agent/get 503 1", "/v1/agent/get 200 2"}
	expect.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "got %q", got)
}

// TestListsFetchPagesAsTheLoopGoesOn lists 95 agents, by offset and limit.
func TestListsFetchPagesAsTheLoopGoesOn(t *testing.T) {
	page := func(from, n int) answer {
		var objects []string
		for i := from; i < from+n; i++ {
			objects = append(objects, fmt.Sprintf(`{"agentId":"a-%d"}`, i))
		}
		return answer{0, fmt.Sprintf(`{"totalCount":95,"objects":[%s]}`, strings.Join(objects, ","))}
	}
	f := newFake(t, nil)
	restart := func() { f.answers["/agent/list"] = []answer{page(0, 30), page(30, 30), page(60, 30), page(90, 5)} }
	restart()
	seen := 0
	for agent, err := range f.Agents.List(t.Context(), management.AgentFilter{SearchValue: "a", OrderBy: "-createdAt"}) {
		must.Do(t, err)
		if agent.ID != fmt.Sprintf("a-%d", seen) {
			t.Fatalf("agent %d is %s", seen, agent.ID)
		}
		if asked := len(f.requests()); asked > 1 || (asked == 1) != (seen%30 == 0) {
			t.Errorf("%d requests for agent %d", asked, seen)
		}
		seen++
	}
	expect.Equal(t, seen, 95, "agents")
	restart()
	all, err := management.Collect(f.Agents.List(t.Context(), management.AgentFilter{}, management.PageSize(30)))
	if err != nil || len(all) != 95 {
		t.Errorf("%d agents, %v", len(all), err)
	}
	var offsets []string
	for _, a := range f.take() {
		if a.path == "/agent/list" {
			offsets = append(offsets, a.body)
		}
	}
	want := []string{
		`{"filter":{},"pager":{"offset":0,"limit":30}}`, `{"filter":{},"pager":{"offset":30,"limit":30}}`,
		`{"filter":{},"pager":{"offset":60,"limit":30}}`, `{"filter":{},"pager":{"offset":90,"limit":30}}`,
	}
	expect.Equal(t, fmt.Sprint(offsets), fmt.Sprint(want), "asked %q", offsets)
}

func TestListsThatGoWrong(t *testing.T) {
	one := `{"agentId":"a-1"}`
	for name, test := range map[string]struct {
		answers []answer
		objects int
		code    fault.Code
	}{
		"no objects":             {[]answer{{0, `{"totalCount":0}`}}, 0, fault.InvalidResponse},
		"an object of a type":    {[]answer{{0, `{"totalCount":2,"objects":[` + one + `,7]}`}}, 1, fault.InvalidResponse},
		"the same page for ever": {[]answer{{0, `{"totalCount":9,"objects":[` + one + `]}`}}, 2, fault.InvalidResponse},
		"an error on page 2":     {[]answer{{0, `{"totalCount":2,"objects":[` + one + `]}`}, {403, ``}}, 1, fault.Forbidden},
		"a total that is wrong":  {[]answer{{0, `{"totalCount":9,"objects":[` + one + `]}`}, {0, `{"totalCount":9,"objects":[]}`}}, 1, ""},
		"no total":               {[]answer{{0, `{"objects":[` + one + `]}`}, {0, `{"objects":[]}`}}, 1, ""},
		"empty":                  {[]answer{{0, `{"totalCount":0,"objects":[]}`}}, 0, ""},
	} {
		f := newFake(t, map[string][]answer{"/agent/list": test.answers})
		objects, failed := 0, error(nil)
		for agent, err := range f.Agents.List(t.Context(), management.AgentFilter{}) {
			if failed != nil {
				t.Errorf("%s: goes on after an error", name)
			}
			if failed = err; err == nil && agent != nil {
				objects++
			}
		}
		expect.Equal(t, objects, test.objects, "%s objects", name)
		if test.code == "" {
			if failed != nil {
				t.Errorf("%s: %v", name, failed)
			}
		} else {
			wantCode(t, name, failed, test.code)
		}
	}
}

func TestListOptions(t *testing.T) {
	f := newFake(t, map[string][]answer{"/agent/list": {{0, `{"totalCount":1,"objects":[{"agentId":"a-1"}]}`}}})
	for _, size := range []management.PageSize{0, -1, 501} {
		_, err := management.Collect(f.Agents.List(t.Context(), management.AgentFilter{}, size))
		wantCode(t, fmt.Sprint("page size ", int(size)), err, fault.BadRequest)
	}
	_, err := management.Collect(f.Agents.List(t.Context(), management.AgentFilter{OrderBy: "name"}))
	wantCode(t, "order", err, fault.BadRequest)
	wantRequests(t, f)
	agent, err := management.First(f.Agents.List(t.Context(), management.AgentFilter{AdminTagsIn: []string{"a"}, AdminTagsNotIn: []string{"b"}, AgentID: "a-1"}))
	if err != nil || agent.ID != "a-1" {
		t.Errorf("%v, %v", agent, err)
	}
	if a, _ := f.last(); a.body != `{"filter":{"agentId":"a-1","adminTagsIn":["a"],"adminTagsNotIn":["b"]},"pager":{"offset":0,"limit":30}}` {
		t.Errorf("asked %s", a.body)
	}
	f.answers["/agent/list"] = []answer{{0, `{"totalCount":0,"objects":[]}`}}
	_, err = management.First(f.Agents.List(t.Context(), management.AgentFilter{}))
	wantCode(t, "first of none", err, fault.NotFound)
}

func form(t *testing.T, a asked) url.Values {
	t.Helper()
	values := must.Get(url.ParseQuery(a.body))(t)
	return values
}

// TestLongListsNeedLittleMemory pages through 100,000 agents; what is alive at any time is
// a page of them.
func TestLongListsNeedLittleMemory(t *testing.T) {
	const total = 100_000
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Pager struct{ Offset, Limit int } }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		var objects []string
		for i := range min(q.Pager.Limit, total-q.Pager.Offset) {
			objects = append(objects, `{"agentId":"a-`+strconv.Itoa(q.Pager.Offset+i)+`"}`)
		}
		fmt.Fprintf(w, `{"totalCount":%d,"objects":[%s]}`, total, strings.Join(objects, ","))
	}))
	defer service.Close()
	f := newFake(t, nil, func(o *management.Options) { o.AgenticURL = &service.URL })
	alive := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := alive()
	var most uint64
	seen := 0
	for agent, err := range f.Agents.List(t.Context(), management.AgentFilter{}, management.PageSize(management.MaxPageSize)) {
		must.Do(t, err)
		if agent.ID != "a-"+strconv.Itoa(seen) {
			t.Fatalf("agent %d is %s", seen, agent.ID)
		}
		if seen++; seen%10_000 == 0 {
			most = max(most, alive())
		}
	}
	const limit = 4 << 20 // all of them are about 30 MB
	if seen != total || most > before+limit {
		t.Errorf("%d agents, with %d bytes besides the %d at first", seen, int64(most)-int64(before), before)
	}
}
