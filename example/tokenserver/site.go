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

// cookieName is that of a visitor's session with the site, and maxName bounds what they
// call themselves, in characters.
const (
	cookieName = "session"
	maxName    = 60
	maxBody    = 4 << 10
)

// accounts has the names of signed-in visitors, by the values of their cookies.
type accounts struct {
	mu    sync.Mutex
	names map[string]string
}

func newAccounts() *accounts { return &accounts{names: map[string]string{}} }

// name returns what a visitor is called, "" for one who is not signed in.
func (a *accounts) name(r *http.Request) string {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.names[cookie.Value]
}

// visitor is the hook of the token server.
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

// setCookie keeps the session from scripts and from other sites. A site with https adds
// Secure.
func setCookie(w http.ResponseWriter, session string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: session, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// page is where the page is.
const page = "/example/tokenserver/"

// newSite returns the handler of everything: the page and its files, signing in, and the
// conversations. The page may talk to the given host besides.
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
