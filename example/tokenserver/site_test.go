package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/pageserver"
)

// TestSessions: a cookie is valid for the name and the time that it was made for, and the
// site stores nothing for it.
func TestSessions(t *testing.T) {
	a := newAccounts()
	name := func(a *accounts, cookie string) string {
		r := httptest.NewRequest(http.MethodGet, "/me", nil)
		r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
		return a.name(r)
	}
	now := time.Now()
	good := a.session("Ann Lee", now.Add(time.Minute))
	if got := name(a, good); got != "Ann Lee" {
		t.Errorf("got %q", got)
	}
	other := a.session("Bob", now.Add(time.Minute))
	for what, cookie := range map[string]string{
		"ended": a.session("Ann", now.Add(-time.Second)), "of another site": newAccounts().session("Ann", now.Add(time.Minute)), "empty": "",
		"cut": good[:20], "longer": good + "A", "another name": other[:43] + good[43:], "not base64": "%" + good[1:],
	} {
		expect.Equal(t, name(a, cookie), "", "a session that is %s", what)
	}

	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	for i := range 50_000 {
		w := httptest.NewRecorder()
		a.signIn(w, httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader(`{"name":"visitor `+strconv.Itoa(i)+`"}`)))
		if w.Code != http.StatusNoContent {
			t.Fatal(w.Code)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	if grown := int64(m.HeapAlloc) - int64(before); grown > 1<<20 {
		t.Errorf("50,000 visitors take %d kB", grown>>10)
	}
}

// TestTheSiteKeepsItsSecret: the site serves its page alone, to its own host and origin, and conversations to those who have
// signed in, with a cookie that no script can read.
func TestTheSiteKeepsItsSecret(t *testing.T) {
	const own = "https://shop.example"
	a := newAccounts()
	conversations := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := a.visitor(r) // the error is always nil
		_, _ = w.Write([]byte(id))
	})
	site := newSite(a, "Robin", conversations, os.DirFS("../.."), pageserver.Hosts{Names: []string{"shop.example"}}, "https://service.example")
	do := func(method, address, body, from string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, address, strings.NewReader(body))
		r.Header.Set("Origin", from)
		for _, cookie := range cookies {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return w
	}
	for _, test := range []struct {
		method, address, body, from string
		want                        int
	}{
		{"POST", own + "/sign-in", "", own, http.StatusBadRequest},
		{"POST", own + "/sign-in", "{}", own, http.StatusBadRequest},
		{"POST", own + "/sign-in", `{"name":" "}`, own, http.StatusBadRequest},
		{"POST", own + "/sign-in", `{"name":"` + strings.Repeat("x", 61) + `"}`, own, http.StatusBadRequest},
		{"POST", own + "/sign-in", `{"name":"` + strings.Repeat(" ", 9000) + `x"}`, own, http.StatusBadRequest},
		{"POST", own + "/sign-in", "{\"name\":\"\xff\"}", own, http.StatusBadRequest},
		{"POST", own + "/sign-in", `{"name":"\ud800"}`, own, http.StatusBadRequest},
		{"POST", own + "/sign-in", `{"name":"Ann"}`, "https://evil.example", http.StatusForbidden},
		{"POST", own + "/conversation", "", "https://evil.example", http.StatusForbidden},
		{"GET", own + "/service.json", "", own, http.StatusNotFound},
		{"GET", own + "/go.mod", "", own, http.StatusNotFound},
		{"GET", own + "/example/tokenserver/site.go", "", own, http.StatusNotFound},
		{"GET", "https://evil.example/me", "", own, http.StatusMisdirectedRequest},
	} {
		if got := do(test.method, test.address, test.body, test.from); got.Code != test.want {
			t.Errorf("%s %s %.40s from %s: status %d, want %d", test.method, test.address, test.body, test.from, got.Code, test.want)
		}
	}
	cookies := do("POST", own+"/sign-in", `{"name":"Ann"}`, own).Result().Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || len(cookies[0].Value) < 20 {
		t.Fatalf("cookies %v", cookies)
	}
	if got := do("POST", own+"/conversation", "", own).Body.String() + "; " + do("POST", own+"/conversation", "", own, cookies...).Body.String(); got != "; visitor:ann" {
		t.Errorf("without the cookie and with it a conversation is that of %q", got)
	}
	if gone := do("POST", own+"/sign-out", "", own, cookies...).Result().Cookies(); len(gone) != 1 || gone[0].MaxAge >= 0 {
		t.Errorf("after signing out the cookies are %v", gone)
	}
}

// TestArgumentsAreOptions: an address without -addr would have no effect.
func TestArgumentsAreOptions(t *testing.T) {
	if err := run(t.Context(), []string{"127.0.0.1:0"}, io.Discard); err == nil || !strings.Contains(err.Error(), "-addr") {
		t.Errorf("err = %v", err)
	}
}
