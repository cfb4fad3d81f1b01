//go:build !js

package media

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	server "github.com/agentruntime/agentruntime/internal/localservice/media"
	"github.com/agentruntime/agentruntime/internal/localservice/relay"
	"github.com/agentruntime/agentruntime/internal/localservice/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testService is the far end of the tests, natively and in a page: the local
// service's media server and relay, and addresses that fail in chosen ways.
type testService struct {
	t     testing.TB
	media *server.Server
	relay *relay.Server
	http  *httptest.Server

	mu       sync.Mutex
	requests []string // "METHOD path" of everything that subscribes or releases
	heard    chan float64
}

func newTestService(t testing.TB) *testService {
	t.Helper()
	m, err := server.New(server.Config{NewPicture: func(mimeType string) (server.Picture, error) {
		codec := stage.H264
		if mimeType == "video/VP8" {
			codec = stage.VP8
		}
		return &picture{stage.NewPlayer(codec, 1)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	r, err := relay.New(relay.Config{Peers: []netip.AddrPort{m.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	s := &testService{t: t, media: m, relay: r, heard: make(chan float64, 1)}
	mux := http.NewServeMux()
	mux.Handle(server.Prefix, m.Handler())
	mux.HandleFunc("/test/stream", s.newStream)
	mux.HandleFunc("/test/mic", s.microphone)
	mux.HandleFunc("/test/requests", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.seen()) })
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscan(r.PathValue("code"), &code)
		http.Error(w, "refused on purpose", code)
	})
	mux.HandleFunc("/garbage", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/viewer/g")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte("v=0\r\nthis is no session\r\n"))
	})
	mux.HandleFunc("/garbage/viewer/g", func(http.ResponseWriter, *http.Request) {})
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, server.Prefix) { // which has its own
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Access-Control-Expose-Headers", "Location")
			w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
			w.Header().Set("Access-Control-Allow-Methods", "POST, DELETE")
		}
		if r.Method == http.MethodOptions && !strings.HasPrefix(r.URL.Path, server.Prefix) {
			return
		}
		if r.Method == http.MethodPost || r.Method == http.MethodDelete {
			s.mu.Lock()
			s.requests = append(s.requests, r.Method+" "+r.URL.Path)
			s.mu.Unlock()
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.http.Close)
	return s
}

func (s *testService) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// count counts the requests with a method that end in a path's end.
func (s *testService) count(method string) int {
	n := 0
	for _, r := range s.seen() {
		if strings.HasPrefix(r, method+" ") {
			n++
		}
	}
	return n
}

// stream is a stream that speaks a tone, and its address.
func (s *testService) stream() (*server.Stream, string) {
	stream := s.media.NewStream("room")
	stream.Play(server.Utterance{PCM: tone(time.Minute)})
	return stream, stream.URL(s.http.URL)
}

// testStream is what a page is told of a stream.
type testStream struct {
	URL        string
	ICEServers []ICEServer
}

func (s *testService) newStream(w http.ResponseWriter, _ *http.Request) {
	_, address := s.stream()
	writeJSON(w, testStream{address, s.iceServers()})
}

func (s *testService) iceServers() []ICEServer {
	login, err := s.relay.Credentials("test", time.Hour)
	if err != nil {
		s.t.Error(err)
	}
	return []ICEServer{{URLs: s.relay.URLs(), Username: login.Username, Credential: login.Credential}}
}

// testMic is one offer of a microphone, or a question for its loudness.
type testMic struct {
	Offer   string `json:"offer,omitempty"`
	Restart bool   `json:"restart,omitempty"`
}

// microphone answers offers by POST and tells what it hears by GET: the
// loudest sample of the next 20 ms that are louder than "above".
func (s *testService) microphone(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("id")
	s.mu.Lock()
	m := mics[id]
	if m == nil {
		m = &hearing{loud: make(chan float64, 1)}
		m.mic = s.media.NewMicrophone(m.hear)
		mics[id] = m
		s.t.Cleanup(func() {
			m.mic.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(mics, id)
		})
	}
	s.mu.Unlock()
	if r.Method == http.MethodGet {
		select {
		case level := <-m.loud:
			writeJSON(w, level)
		case <-r.Context().Done():
		}
		return
	}
	var offer testMic
	_ = json.NewDecoder(r.Body).Decode(&offer)
	answer, _, err := m.mic.Offer(offer.Offer, offer.Restart)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, answer)
}

var mics = map[string]*hearing{}

// hearing hears a microphone.
type hearing struct {
	mic  *server.Microphone
	loud chan float64 // the level of the last slot that was loud
}

// loudLevel is far above the noise of a codec and far below a voice or a tone.
const loudLevel = 0.02

func (h *hearing) hear(pcm []int16) {
	var peak float64
	for _, sample := range pcm {
		peak = max(peak, math.Abs(float64(sample))/math.MaxInt16)
	}
	if peak < loudLevel {
		return
	}
	select {
	case <-h.loud:
	default:
	}
	select {
	case h.loud <- peak:
	default:
	}
}

// picture is a face.
type picture struct{ player *stage.Player }

func (p *picture) Next(loudness float64, keyFrame bool) []byte {
	if keyFrame {
		p.player.RequestKeyFrame()
	}
	return p.player.Next(loudness).Data
}

// tone is 16 kHz PCM of 440 Hz.
func tone(d time.Duration) []int16 {
	pcm := make([]int16, d*16000/time.Second)
	for i := range pcm {
		pcm[i] = int16(12000 * math.Sin(2*math.Pi*440*float64(i)/16000))
	}
	return pcm
}

func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
