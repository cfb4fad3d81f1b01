package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/pageserver"
)

// cookieName is the name of the cookie with a visitor's session, which ends after
// sessionLife; maxName bounds a visitor's name, in characters, and maxBody the request to
// sign in, in bytes.
const (
	cookieName  = "session"
	sessionLife = 12 * time.Hour
	maxName     = 60
	maxBody     = 4 << 10
)

// accounts signs visitors in. A session is in its cookie alone: the name and the end, with a
// code that only this process can make. So however many sign in, the site stores nothing. A
// site that must end sessions early stores them instead, and bounds their number.
type accounts struct {
	key []byte
}

func newAccounts() *accounts { return &accounts{key: []byte(rand.Text())} }

// name returns the name of a visitor, "" for one who is not signed in.
func (a *accounts) name(r *http.Request) string {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cookie.Value)
	if err != nil || len(sealed) < sha256.Size {
		return ""
	}
	code, session := sealed[:sha256.Size], sealed[sha256.Size:]
	if !hmac.Equal(code, a.code(session)) {
		return ""
	}
	end, name, _ := strings.Cut(string(session), " ")
	if seconds, err := strconv.ParseInt(end, 10, 64); err != nil || time.Now().Unix() >= seconds {
		return ""
	}
	return name
}

// session returns the value of a cookie.
func (a *accounts) session(name string, end time.Time) string {
	session := fmt.Append(nil, end.Unix(), " ", name)
	return base64.RawURLEncoding.EncodeToString(append(a.code(session), session...))
}

// code authenticates a session.
func (a *accounts) code(session []byte) []byte {
	mac := hmac.New(sha256.New, a.key)
	mac.Write(session) // never fails
	return mac.Sum(nil)
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
	// Characters that can't be decoded are all replaced by the same one.
	lossy := strings.ContainsRune(body.Name, utf8.RuneError)
	if err != nil || body.Name == "" || lossy || utf8.RuneCountInString(body.Name) > maxName {
		http.Error(w, "Enter a name of 1 to 60 characters.", http.StatusBadRequest)
		return
	}
	setCookie(w, a.session(body.Name, time.Now().Add(sessionLife)), 0)
	w.WriteHeader(http.StatusNoContent)
}

// signOut removes the cookie.
func (a *accounts) signOut(w http.ResponseWriter, _ *http.Request) {
	setCookie(w, "", -1)
	w.WriteHeader(http.StatusNoContent)
}

// me returns the visitor's name, and that of the agent.
func (a *accounts) me(agent string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(map[string]string{"name": a.name(r), "agent": agent}) // fails only when the page is gone
	}
}

// setCookie sets the session's cookie, which scripts and other sites can't use. A site with
// https must add Secure.
func setCookie(w http.ResponseWriter, session string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: session, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// page is the path of the page.
const page = "/example/tokenserver/"

// paths are the files that the page loads. The directory of the site has others, which must
// stay in it.
var paths = []string{"example/tokenserver", "example/shared", "example/avatar/icon.svg", "js/dist"}

// newSite returns the handler of everything under the site's host names: the page and its
// files, signing in, and the conversations with the agent. The page may also connect to the
// given service.
func newSite(a *accounts, agent string, conversations http.Handler, files fs.FS, hosts pageserver.Hosts, service string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler(page, http.StatusFound))
	mux.Handle("/", &pageserver.Files{FS: files, Paths: paths})
	mux.HandleFunc("GET /me", a.me(agent))
	mux.HandleFunc("POST /sign-in", a.signIn)
	mux.HandleFunc("POST /sign-out", a.signOut)
	mux.Handle("/conversation", conversations)
	policy := "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; " +
		"connect-src 'self' " + service + "; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
	return hosts.Only(http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})))
}
