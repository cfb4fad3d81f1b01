package main

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
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
		if got := name(a, cookie); got != "" {
			t.Errorf("a session that is %s: %q", what, got)
		}
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
