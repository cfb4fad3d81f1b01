package main

import (
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"
)

// cookieName is the name of the cookie with a visitor's session; maxName bounds a visitor's
// name, in characters, and maxBody the request to sign in, in bytes.
const (
	cookieName = "session"
	maxName    = 60
	maxBody    = 4 << 10
)

// accounts stores the names of signed-in visitors, by the values of their cookies.
type accounts struct {
	mu    sync.Mutex
	names map[string]string
}

func newAccounts() *accounts { return &accounts{names: map[string]string{}} }

// name returns the name of a visitor, "" for one who is not signed in.
func (a *accounts) name(r *http.Request) string {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.names[cookie.Value]
}

// visitor returns the id of a visitor for the token server, "" for one who is not signed in.
func (a *accounts) visitor(r *http.Request) (string, error) {
	name := a.name(r)
	if name == "" {
		return "", nil
	}
	return "visitor:" + strings.ToLower(name), nil
}

func (a *accounts) signIn(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name string `json:"name"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body)
	body.Name = strings.TrimSpace(body.Name)
	if err != nil || body.Name == "" || utf8.RuneCountInString(body.Name) > maxName {
		http.Error(w, "name must be a text of 1 to 60 characters", http.StatusBadRequest)
		return
	}
	session := rand.Text()
	a.mu.Lock()
	a.names[session] = body.Name
	a.mu.Unlock()
	setCookie(w, session, 0)
	w.WriteHeader(http.StatusNoContent)
}

func (a *accounts) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		a.mu.Lock()
		delete(a.names, cookie.Value)
		a.mu.Unlock()
	}
	setCookie(w, "", -1)
	w.WriteHeader(http.StatusNoContent)
}

func (a *accounts) me(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]string{"name": a.name(r)}) // fails only when the page is gone
}

// setCookie sets the session's cookie, which scripts and other sites can't use. A site with
// https must add Secure.
func setCookie(w http.ResponseWriter, session string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: session, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// page is the path of the page.
const page = "/example/tokenserver/"

// newSite returns the handler of everything: the page and its files, signing in, and the
// conversations. The page may also connect to the given host.
func newSite(a *accounts, conversations http.Handler, files fs.FS, host string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler(page, http.StatusFound))
	served := http.FileServerFS(files)
	for _, dir := range []string{page, "/example/shared/", "/example/avatar/icon.svg", "/js/dist/"} {
		mux.Handle("GET "+dir, served)
	}
	mux.HandleFunc("GET /me", a.me)
	mux.HandleFunc("POST /sign-in", a.signIn)
	mux.HandleFunc("POST /sign-out", a.signOut)
	mux.Handle("/conversation", conversations)
	policy := "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
		"connect-src 'self' " + host + "; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}))
}
