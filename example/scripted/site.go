package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/pageserver"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const (
	// sessionLife is how long a session is kept that the page does not end.
	sessionLife = time.Hour
	// maxText bounds what is said at once, in bytes, and maxBody the request for it.
	maxText = 2000
	maxBody = 4 * maxText
)

// stage calls the service's avatar sessions for the page, which gets their ids and no token.
type stage struct {
	client *management.Client
	voice  voice.Voice

	mu       sync.Mutex
	sessions map[string]management.AvatarSession // by their ids
}

// create makes a session that shows the first face of the account's catalog. The page gets
// what ScriptedVideoSession takes, and the id for the other requests.
func (s *stage) create(r *http.Request) (any, error) {
	var visual string
	for item, err := range s.client.Catalog.List(r.Context(), management.CatalogFilter{Type: management.CatalogVisual}) {
		if err != nil {
			return nil, err
		}
		visual = item.ID
		break
	}
	session, err := s.client.AvatarSessions.Create(r.Context(), visual)
	if err != nil {
		return nil, err
	}
	media, err := s.client.AvatarSessions.Media(r.Context(), session)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.sessions[session.ID] = session
	s.mu.Unlock()
	time.AfterFunc(sessionLife, func() { s.forget(session.ID) })
	// The media of a local service are on loopback.
	return map[string]any{"id": session.ID, "whepUrl": media.WHEPURL, "turn": media.TURN, "allowPrivateHosts": true}, nil
}

// say turns a text into sound and queues it behind what is being said.
func (s *stage) say(r *http.Request) (any, error) {
	var in struct{ Text string }
	err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody)).Decode(&in)
	if err != nil || strings.TrimSpace(in.Text) == "" || len(in.Text) > maxText {
		return nil, refusal{http.StatusBadRequest, fmt.Sprintf("text must be a text of 1 to %d bytes", maxText)}
	}
	session, err := s.session(r)
	if err != nil {
		return nil, err
	}
	speech, err := s.voice.Speak(r.Context(), in.Text, voice.Manner{})
	if err != nil {
		return nil, err
	}
	if len(speech.PCM) == 0 {
		return nil, refusal{http.StatusBadRequest, "the text must have words"}
	}
	_, err = s.client.AvatarSessions.Say(r.Context(), session, management.Speech{
		Audio: audio.EncodeWAV(speech.PCM, speech.Rate), MIMEType: "audio/wav", Duration: speech.Duration(),
	})
	return none, err
}

// about handles a request without content about a session. The service ends a session that
// gets no request for a minute, so that of a page that was closed ends by itself.
func (s *stage) about(call func(context.Context, management.AvatarSession) error) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		session, err := s.session(r)
		if err != nil {
			return nil, err
		}
		return none, call(r.Context(), session)
	}
}

func (s *stage) end(ctx context.Context, session management.AvatarSession) error {
	s.forget(session.ID)
	return s.client.AvatarSessions.End(ctx, session)
}

// session returns the session of a request.
func (s *stage) session(r *http.Request) (management.AvatarSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := s.sessions[r.PathValue("id")]
	if !ok {
		return session, ended
	}
	return session, nil
}

func (s *stage) forget(id string) {
	s.mu.Lock()
	delete(s.sessions, id)
	s.mu.Unlock()
}

// none is the answer of a request that has no result.
var none = struct{}{}

// refusal is an answer other than 200, with a text for the visitor.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

var ended = refusal{http.StatusNotFound, "the session has ended"}

// page is the path of the page.
const page = "/example/scripted/"

// paths are the files that the page loads. The directory of the site has others, which must
// stay in it.
var paths = []string{"example/scripted", "example/shared", "example/avatar/icon.svg", "js/dist"}

// newSite returns the handler of the page, its files and its requests. The page may also
// connect to the given media server.
func newSite(s *stage, files fs.FS, media string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler(page, http.StatusFound))
	mux.Handle("/", &pageserver.Files{FS: files, Paths: paths})
	mux.Handle("POST /session", answer(s.create))
	mux.Handle("POST /session/{id}/say", answer(s.say))
	mux.Handle("POST /session/{id}/interrupt", answer(s.about(s.client.AvatarSessions.Interrupt)))
	mux.Handle("POST /session/{id}/keep-alive", answer(s.about(s.client.AvatarSessions.KeepAlive)))
	mux.Handle("POST /session/{id}/end", answer(s.about(s.end)))
	policy := "default-src 'self'; connect-src 'self' " + media + "; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
	return pageserver.Hosts{}.Only(http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})))
}

// answer sends the result of a request as JSON, or the text of its refusal. The cause of any
// other error is for the site's log only.
func answer(handle func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, err := handle(r)
		if errors.Is(err, fault.NotFound) || errors.Is(err, fault.Unauthorized) {
			err = ended
		}
		var refused refusal
		switch {
		case errors.As(err, &refused):
			http.Error(w, refused.text, refused.status)
		case err != nil:
			fmt.Fprintln(os.Stderr, r.Method, r.Pattern, err)
			http.Error(w, "the service can't be reached; try again in a moment", http.StatusBadGateway)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			_ = json.NewEncoder(w).Encode(result) // fails only when the page is gone
		}
	})
}
