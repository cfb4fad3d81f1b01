package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Stage is a picture with a voice that a server speaks through; [media.Stream] is one.
type Stage interface {
	// Play queues mono speech behind what is playing, Stop cuts all of it.
	Play(lead time.Duration, pcm []int16, rate int)
	Stop()
	// URL is the address for a viewer's offer (WHEP), below base.
	URL(base string) string
	Close()
}

// Times of avatar sessions (management-api.md, F.5). Clients send keep-alive about every
// 10 s.
const (
	// stageIdle is how long a session lasts without a call.
	stageIdle    = 60 * time.Second
	stageLife    = time.Hour        // of its token
	stageQueue   = 10 * time.Minute // of sound that waits
	stagesAtOnce = 16               // of a partner
)

// Work of decoding a second of sound, in milliseconds of the processor.
const decodeWork = 5

// stages are the avatar sessions: pictures whose voice a server sends, for scripted videos.
type stages struct {
	open func(by quota.Client, visual map[string]string) Stage
	key  []byte // signs the tokens

	mu   sync.Mutex
	byID map[string]*stage
}

type stage struct {
	Stage
	id      string
	partner int64

	// Guarded by the lock of stages.
	timer *time.Timer // ends it
	until time.Time   // when what was queued has been played
}

func newStages(open func(quota.Client, map[string]string) Stage) *stages {
	return &stages{open: open, key: []byte(rand.Text()), byID: map[string]*stage{}}
}

func (s *server) avatarSessionRoutes(mux routes) {
	s.manageAgentHost(mux, "/v1/avatar-session/create", withBody(s.stageCreate))
	for action, handle := range map[string]func(*server, *http.Request, *stage) (any, error){
		"init-client": (*server).stageClient,
		"say-audio":   (*server).stageSay,
		"interrupt": func(_ *server, _ *http.Request, a *stage) (any, error) {
			s.stages.interrupt(a)
			return map[string]bool{"success": true}, nil
		},
		"keep-alive": func(_ *server, _ *http.Request, _ *stage) (any, error) { return map[string]bool{"success": true}, nil },
		"end": func(_ *server, _ *http.Request, a *stage) (any, error) {
			s.stages.end(a)
			return map[string]bool{"success": true}, nil
		},
	} {
		mux.HandleFunc("POST "+stagePrefix+"{id}/"+action, func(w http.ResponseWriter, r *http.Request) {
			a, err := s.stages.of(r)
			if err == nil {
				err = s.Work.Wait(r.Context(), quota.Client{Token: a.id, Addr: remoteAddr(r)}, requestWork)
			}
			var reply any
			if err == nil {
				reply, err = handle(s, r, a)
			}
			s.reply(w, r, reply, badInput(err))
		})
	}
}

// stagePrefix is the path of the calls about one session.
const stagePrefix = "/v1/avatar-session/"

// stageCreate begins a session that shows a visual of the catalog.
func (s *server) stageCreate(c *call, body struct {
	VisualConfig struct {
		ID string `json:"id"`
	} `json:"visualConfig"`
},
) (any, error) {
	if body.VisualConfig.ID == "" {
		return nil, missing("visualConfig", "id")
	}
	visual, err := s.usableItem(c, store.VisualItem, body.VisualConfig.ID)
	if err != nil {
		return nil, err
	}
	a, err := s.stages.add(c, visual.Texts("visual"))
	if err != nil {
		return nil, err
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Subject: a.id, ExpiresAt: jwt.NewNumericDate(time.Now().Add(stageLife)),
	}).SignedString(s.stages.key)
	return map[string]string{"sessionId": a.id, "token": token}, err
}

func (s *stages) add(c *call, visual map[string]string) (*stage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for _, a := range s.byID {
		if a.partner == c.claims.PartnerID {
			running++
		}
	}
	if running >= stagesAtOnce {
		return nil, problem(http.StatusTooManyRequests, fmt.Sprintf("at most %d avatar sessions at once", stagesAtOnce))
	}
	a := &stage{Stage: s.open(c.client(), visual), id: store.UUID(), partner: c.claims.PartnerID}
	a.timer = time.AfterFunc(stageIdle, func() { s.end(a) })
	s.byID[a.id] = a
	return a, nil
}

// of returns the session of a request, and keeps it alive.
func (s *stages) of(r *http.Request) (*stage, error) {
	refused := problem(http.StatusUnauthorized, "the header Authorization: Bearer <token of the session> is required")
	claims := &jwt.RegisteredClaims{}
	_, err := jwt.ParseWithClaims(tokenOf(r), claims, func(*jwt.Token) (any, error) { return s.key, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired())
	if err != nil || claims.Subject != r.PathValue("id") {
		return nil, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.byID[claims.Subject]
	if a == nil {
		return nil, problem(http.StatusNotFound, "the avatar session has ended")
	}
	a.timer.Reset(stageIdle)
	return a, nil
}

func (s *stages) end(a *stage) {
	s.mu.Lock()
	a.timer.Stop()
	delete(s.byID, a.id)
	s.mu.Unlock()
	a.Close()
}

func (s *stages) interrupt(a *stage) {
	s.mu.Lock()
	a.until = time.Time{}
	s.mu.Unlock()
	a.Stop()
}

// stageClient returns what a viewer needs.
func (s *server) stageClient(_ *http.Request, a *stage) (any, error) {
	hosts, err := s.Hosts()
	if err != nil {
		return nil, err
	}
	relay := map[string]string{"url": hosts.TURNServerURL}
	if login := hosts.TURNCredentials; login != nil {
		relay["username"], relay["credential"] = login.Username, login.Credential
	}
	return map[string]any{"whepUrl": a.URL(hosts.SRSBaseURL), "turn": relay}, nil
}

// stageSay queues a sound file.
func (s *server) stageSay(r *http.Request, a *stage) (any, error) {
	if err := readForm(r); err != nil {
		return nil, err
	}
	defer r.MultipartForm.RemoveAll() //nolint:errcheck // temporary files
	if seconds, err := strconv.ParseFloat(r.FormValue("duration"), 64); err != nil || !(seconds > 0) {
		return nil, invalid("greater_than", "Input should be a number of seconds above 0", "duration")
	}
	file, _, err := formFile(r, "audio")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	pcm, rate, err := audio.DecodeFile(data, stageQueue)
	if errors.Is(err, audio.ErrTooLong) {
		return nil, invalid("value_error", fmt.Sprintf("The sound should be at most %s long", stageQueue), "audio")
	}
	if err != nil {
		return nil, invalid("value_error", "The file should be MP3 or WAV", "audio")
	}
	length := audio.Duration(len(pcm), rate)
	if err := s.Work.Wait(r.Context(), quota.Client{Token: a.id, Addr: remoteAddr(r)}, 1+int(length.Seconds())*decodeWork); err != nil {
		return nil, err
	}
	if !s.stages.queue(a, length) {
		return nil, problem(http.StatusTooManyRequests, fmt.Sprintf("at most %s of sound may wait", stageQueue))
	}
	a.Play(0, pcm, rate)
	turn := r.FormValue("turnId")
	if strings.TrimSpace(turn) == "" {
		turn = store.UUID()
	}
	return map[string]any{"turnId": turn, "success": true}, context.Cause(r.Context())
}

// queue reports whether a session may queue so much sound, and counts it.
func (s *stages) queue(a *stage, length time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if a.until.Before(now) {
		a.until = now
	}
	if a.until.Sub(now)+length > stageQueue {
		return false
	}
	a.until = a.until.Add(length)
	return true
}
