package media

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Paths of the two forms of the WHEP address (protocol §6.1).
const (
	sessionPath  = "/rtc/v1/stv/"
	fallbackPath = "/rtc/v1/whep/"
	fallbackApp  = "app"
	// Prefix is the beginning of every path that Handler serves.
	Prefix = "/rtc/v1/"
)

// corsMaxAge is how many seconds a browser may remember a preflight (choice D8).
const corsMaxAge = "600"

const sdpType = "application/sdp"

var errGone = errors.New("media: the stream has ended")

// Handler serves WHEP (protocol §6.4 to §6.6) below [Prefix], with CORS for every origin: the unguessable session id is what
// grants access (choice D3).
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	session := sessionPath + "{room}/whep/session/{session}"
	mux.HandleFunc("POST "+session, func(w http.ResponseWriter, r *http.Request) {
		location := "/whep/session/" + r.PathValue("session") + "/viewer/"
		subscribe(w, r, s.streamAt(r), func(viewer string) string { return location + viewer })
	})
	mux.HandleFunc("DELETE "+session+"/viewer/{viewer}", func(w http.ResponseWriter, r *http.Request) {
		unsubscribe(w, s.streamAt(r), r.PathValue("viewer"))
	})
	// This address names the stream in its query. Clients resolve its Location against it (protocol §6.5).
	mux.HandleFunc("POST "+fallbackPath+"{$}", func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Query().Get("stream")
		subscribe(w, r, s.streamIn(r), func(viewer string) string {
			return "?" + url.Values{"app": {fallbackApp}, "stream": {id}, "viewer": {viewer}}.Encode()
		})
	})
	mux.HandleFunc("DELETE "+fallbackPath+"{$}", func(w http.ResponseWriter, r *http.Request) {
		unsubscribe(w, s.streamIn(r), r.URL.Query().Get("viewer"))
	})
	return s.hurry(allowOrigins(mux))
}

// hurry requires a client to send its offer within the connect timeout, so that an offer that never ends does not keep its connection
// open for ever.
func (s *Server) hurry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.cfg.ConnectTimeout)) // net/http removes it for the next request
		next.ServeHTTP(w, r)
	})
}

func allowOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Location")
		}
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", "POST, DELETE, OPTIONS")
			h.Set("Access-Control-Allow-Headers", "Content-Type")
			h.Set("Access-Control-Max-Age", corsMaxAge)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// streamAt returns the stream that the path names, or nil.
func (s *Server) streamAt(r *http.Request) *Stream {
	stream := s.stream(r.PathValue("session"))
	if stream != nil && stream.room != r.PathValue("room") {
		return nil
	}
	return stream
}

// streamIn returns the stream that the query names, or nil.
func (s *Server) streamIn(r *http.Request) *Stream {
	query := r.URL.Query()
	if query.Get("app") != fallbackApp {
		return nil
	}
	return s.stream(query.Get("stream"))
}

// subscribe answers an offer for stream, nil if there is no such stream. location returns the Location for a viewer's id.
func subscribe(w http.ResponseWriter, r *http.Request, stream *Stream, location func(viewer string) string) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != sdpType {
		http.Error(w, "content type must be "+sdpType, http.StatusUnsupportedMediaType)
		return
	}
	if stream == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxOffer))
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, os.ErrDeadlineExceeded) {
			status = http.StatusRequestTimeout
			w.Header().Set("Connection", "close") // the rest of the offer would look like the next request
		}
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "offer could not be read", status)
		return
	}
	// The place is taken before the offer is parsed, which costs more.
	v := newViewer(stream)
	taken, ok := stream.reserve(v)
	if taken {
		http.Error(w, "the session has a viewer", http.StatusConflict)
		return
	}
	if !ok {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	sdp, err := v.answer(r.Context(), string(body))
	if err == nil {
		err = r.Context().Err() // the client has left
	}
	if err != nil {
		v.gone("not answered")
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", sdpType)
	w.Header().Set("Location", location(v.id))
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, sdp) // if the client is gone, the connect timeout frees its place
}

// answer answers an offer, unless ctx ends before.
func (v *viewer) answer(ctx context.Context, text string) (string, error) {
	if !v.stream.server.offers.Take(v.stream.by, 1) {
		return "", errBusy
	}
	o, err := parseOffer(text)
	if err != nil {
		return "", err
	}
	return v.connect(ctx, o)
}

// refuse reports why an offer was not answered. An error of pion is passed on, because it quotes only the client's own offer.
func refuse(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many viewers", http.StatusServiceUnavailable)
	case errors.Is(err, errGone):
		http.Error(w, "no such session", http.StatusNotFound)
	default:
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// unsubscribe frees the viewer's place. A place that is already free is no error: the stream may have ended with its socket while the
// request was on its way, and a browser prints every 404 on the page's console.
func unsubscribe(w http.ResponseWriter, stream *Stream, id string) {
	if stream != nil {
		if v := stream.releaseID(id); v != nil {
			v.close()
		}
	}
	w.WriteHeader(http.StatusOK)
}
