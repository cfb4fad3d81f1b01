package api

import (
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
)

// pagePolicy allows the pages of this file their own style and form, and forbids other
// pages to show them in a frame.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// writePage writes a small page; body is HTML.
func writePage(w http.ResponseWriter, status int, title, body string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // an address may hold a state; "no-referrer" would make the origin of its form "null"
	w.WriteHeader(status)
	title = html.EscapeString(title)
	w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8">` + //nolint:errcheck // the client is gone
		`<meta name="viewport" content="width=device-width"><title>` + title + `</title>` +
		`<style>body{font:1.1rem/1.5 system-ui;max-width:34rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}</style>` +
		`<h1>` + title + `</h1>` + body))
}

func (s *server) webpageRoutes(mux routes) {
	mux.HandleFunc("GET "+dialogue.ConsentPath, s.consentPage)
	mux.HandleFunc("POST "+dialogue.ConsentPath, s.giveConsent)
	mux.HandleFunc("GET "+brain.DocumentPrefix+"{name...}", s.document)
}

// consentPage is where a provider would ask a user to allow what the agent wants
// to do (protocol §10.8). Here the tool is simulated, and the page says so.
func (s *server) consentPage(w http.ResponseWriter, r *http.Request) {
	state := r.URL.Query().Get(dialogue.ConsentState)
	name, given, ok := s.Dialogue.AskedConsent(state)
	switch {
	case !ok:
		writePage(w, http.StatusNotFound, "Nothing to allow", "<p>This address asks for nothing, or no longer.</p>")
	case given:
		writePage(w, http.StatusOK, name+" is allowed", "<p>You can close this page. Now ask the agent again.</p>")
	default:
		writePage(w, http.StatusOK, name, `<p>The agent wants to use this. It is simulated: nothing is behind it.</p>`+
			`<form method="post"><input type="hidden" name="`+dialogue.ConsentState+`" value="`+html.EscapeString(state)+`">`+
			`<button autofocus>Allow</button></form>`)
	}
}

// giveConsent takes the form of consentPage, and shows the page again.
func (s *server) giveConsent(w http.ResponseWriter, r *http.Request) {
	if err := parseForm(r); err != nil {
		s.fail(w, r, err)
		return
	}
	state := r.PostForm.Get(dialogue.ConsentState)
	s.Dialogue.GiveConsent(state) // the page says whether there was anything to allow
	query := url.Values{dialogue.ConsentState: {state}}
	http.Redirect(w, r, dialogue.ConsentPath+"?"+query.Encode(), http.StatusSeeOther)
}

// document shows one of the Markdown files that agents answer from, as text, or
// the list of them.
func (s *server) document(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "" {
		s.documents(w, r)
		return
	}
	var text []byte
	err := fs.ErrNotExist
	if strings.EqualFold(path.Ext(name), ".md") {
		text, err = fs.ReadFile(s.Knowledge, name)
	}
	if err != nil {
		writePage(w, http.StatusNotFound, "No such document", `<p><a href="`+brain.DocumentPrefix+`">All documents</a></p>`)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(text) //nolint:errcheck // the client is gone
}

func (s *server) documents(w http.ResponseWriter, r *http.Request) {
	names, err := brain.Documents(s.Knowledge)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	body := "<p>What the agents of this service answer from.</p><ul>"
	for _, name := range names {
		address := (&url.URL{Path: brain.DocumentPrefix + name}).EscapedPath()
		body += `<li><a href="` + html.EscapeString(address) + `">` + html.EscapeString(name) + "</a>"
	}
	writePage(w, http.StatusOK, "Documents", body+"</ul>")
}
