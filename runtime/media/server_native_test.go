//go:build !js

package media

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/chromium"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	server "github.com/agentruntime/agentruntime/internal/localservice/media"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/relay"
	face "github.com/agentruntime/agentruntime/internal/localservice/renderer"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestInChromium runs this package's tests in a page, against a service here.
func TestInChromium(t *testing.T) {
	mic := filepath.Join(t.TempDir(), "mic.wav")
	must.Do(t, os.WriteFile(mic, audio.EncodeWAV(tone(time.Second), 16000), 0o600))
	chromium.GoTest(t, serverVariable+"="+newTestService(t).http.URL, "AGENTRUNTIME_FAKE_MIC="+mic)
}

// testService is the far end of the tests, natively and in a page: the local
// service's media server and relay, and addresses that fail in chosen ways.
type testService struct {
	t     testing.TB
	media *server.Server
	relay *relay.Server
	http  *httptest.Server

	mu       sync.Mutex
	requests []string // "METHOD path" of everything that subscribes or releases
	mics     map[string]*hearing
}

func newPicture(mimeType string) server.Picture {
	codec := face.H264
	if mimeType == "video/VP8" {
		codec = face.VP8
	}
	return face.NewPlayer(codec, face.FaceNamed(""), face.DefaultMotion, 1)
}

func newTestService(t testing.TB) *testService {
	t.Helper()
	m := must.Get(server.New(server.Config{}))(t)
	t.Cleanup(m.Close)
	r := must.Get(relay.New(relay.Config{Peers: []netip.AddrPort{m.Addr()}}))(t)
	t.Cleanup(func() { _ = r.Close() })
	s := &testService{t: t, media: m, relay: r, mics: map[string]*hearing{}}
	mux := http.NewServeMux()
	mux.Handle(server.Prefix, m.Handler())
	mux.HandleFunc("/test/stream", s.newStream)
	mux.HandleFunc("/test/ice", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.iceServers()) })
	mux.HandleFunc("/test/mic", s.microphone)
	mux.HandleFunc("/test/requests", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.seen()) })
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

// count counts the requests with a method.
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
func (s *testService) stream() (*server.Stream, string) { return s.streamAt(s.http.URL) }

func (s *testService) streamAt(base string) (*server.Stream, string) {
	stream := s.media.NewStream(quota.Client{}, "room", newPicture)
	stream.Play(0, tone(time.Minute), 16000)
	return stream, stream.URL(base)
}

func (s *testService) newStream(w http.ResponseWriter, r *http.Request) {
	_, address := s.streamAt("http://" + r.Host)
	writeJSON(w, address)
}

func (s *testService) iceServers() []ICEServer {
	login, err := s.relay.Credentials("test", time.Hour)
	if err != nil {
		s.t.Error(err)
	}
	url := "turn:" + s.relay.Addrs()[0].String() + "?transport="
	return []ICEServer{{URLs: []string{url + "udp", url + "tcp"}, Username: login.Username, Credential: login.Credential}}
}

// microphone answers offers by POST and tells what it hears by GET: the
// loudest sample of 20 ms with a voice in them.
func (s *testService) microphone(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("id")
	s.mu.Lock()
	m := s.mics[id]
	if m == nil {
		m = &hearing{loud: make(chan float64, 1)}
		m.mic = s.media.NewMicrophone(quota.Client{}, m.hear) // ends with the server
		s.mics[id] = m
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

// tone is 16 kHz PCM of 440 Hz.
func tone(d time.Duration) []int16 {
	pcm := make([]int16, d*16000/time.Second)
	for i := range pcm {
		pcm[i] = int16(12000 * math.Sin(2*math.Pi*440*float64(i)/16000))
	}
	return pcm
}

func writeJSON(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
