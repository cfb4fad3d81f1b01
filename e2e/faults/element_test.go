package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/chromium"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

// dark is the brightness, 0 to 255, below which a picture counts as black; the faces of the local
// service are brighter than 100.
const dark = 16

// current is the age of a picture that stands still and has no veil yet: a session notices the
// loss of a picture, and begins to repair it, within 5 s (docs/resilience.md).
const current = 6 * time.Second

// rate is how often each second a page is looked at, at least, on average; on a machine that is
// not busy it is ten times.
const rate = 4

// TestElementUnderFaults has an element in a page for each row of the table, and looks at it
// ten times a second: there is always a picture, or a veil or a sentence that says why there
// is none, the last picture stays under the veil, and the end is that of the row.
func TestElementUnderFaults(t *testing.T) {
	if _, err := os.Stat("../../js/dist/agentruntime.wasm"); err != nil {
		skip(t, "js/dist is not built; `make build` does that")
	}
	if _, err := chromium.Find(); err != nil {
		skip(t, err.Error())
	}
	browser := must.Get(browsertest.Start(t.Context(), pagetest.WithVoice))(t)
	defer browser.Close()
	t.Run("rows", func(t *testing.T) {
		for _, w := range table {
			if !w.quick && !*all {
				continue
			}
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				w.runPage(t, browser)
			})
		}
	})
}

// skip skips a test for a reason that make excludes.
func skip(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("AGENTRUNTIME_REQUIRE_NODE") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// tab is a page with an element, as a [guest].
type tab struct {
	*browsertest.Page
	t *testing.T

	mu      sync.Mutex
	expires time.Time // of the newest token
}

// openTab opens a page with an element for the agent of a service.
func openTab(t *testing.T, browser *browsertest.Browser, info localservice.Info, w row) *tab {
	t.Helper()
	agent, ok := info.Agent("receptionist")
	if !ok {
		t.Fatal("no agent")
	}
	p := &tab{t: t}
	files := http.FileServerFS(os.DirFS("../.."))
	mux := http.NewServeMux()
	mux.Handle("/js/dist/", files)
	mux.Handle("/e2e/faults/testdata/", files)
	mux.HandleFunc("/plan", func(out http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(out).Encode(map[string]any{
			"widgetId": agent.WidgetID, "expires": w.life > 0, "newToken": !w.noToken, "newLogin": !w.noLogin, "mediaLostMs": w.mediaLost.Milliseconds(),
			"addresses": map[string]string{"agenticUrl": info.AgenticURL, "genieUrl": info.GenieURL, "ovpUrl": info.OVPURL},
		})
	})
	mux.HandleFunc("/token", func(out http.ResponseWriter, r *http.Request) {
		client := fetch.New()
		defer client.Close()
		token, expires, err := mint(r.Context(), client, info, agent, w.life)
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadGateway) // the service is down
			return
		}
		p.mu.Lock()
		p.expires = expires
		p.mu.Unlock()
		_, _ = out.Write([]byte(token))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.Page = must.Get(browser.NewPage(t.Context(), server.URL+"/e2e/faults/testdata/element.html"))(t)
	t.Cleanup(p.Close)
	p.do(awaitPage(`"ready" in document.documentElement.dataset`), nil)
	return p
}

// do evaluates an expression in the page.
func (p *tab) do(expression string, out any) {
	p.t.Helper()
	must.Do(p.t, p.Eval(p.t.Context(), expression, out))
}

func (p *tab) answerWHEP(status int) { p.do(fmt.Sprintf("whep = %q", startWHEP(p.t, status)), nil) }
func (p *tab) restoreWHEP()          { p.do(`whep = ""`, nil) }

func (p *tab) awaitExpiry() {
	p.mu.Lock()
	at := p.expires
	p.mu.Unlock()
	pause(p.t.Context(), time.Until(at))
}

func (p *tab) noticed(broken time.Time) {
	p.t.Helper()
	var noticed bool
	p.do(fmt.Sprintf("drive.broken(%d, %d)", broken.UnixMilli(), settles.Milliseconds()), &noticed)
	if !noticed {
		p.t.Errorf("the element did not notice the fault within %v", settles)
	}
}

func (p *tab) awaitPicture(limit time.Duration) {
	p.t.Helper()
	if back := p.picture(limit); !back.Back || back.Over {
		p.t.Fatalf("no picture within %v: %s", limit, p.story())
	}
}

// outlook is whether a picture was seen, or the end of the conversation.
type outlook struct {
	Back, Over bool
	After      float64 // ms
}

func (p *tab) picture(limit time.Duration) (o outlook) {
	p.t.Helper()
	p.do(fmt.Sprintf("drive.picture(%d)", limit.Milliseconds()), &o)
	return o
}

func (p *tab) ask(text string, limit time.Duration) {
	p.t.Helper()
	var answered bool
	p.do(fmt.Sprintf("drive.ask(%q, %d)", text, limit.Milliseconds()), &answered)
	if !answered {
		p.t.Errorf("%q was not answered within %v: %s", text, limit, p.story())
	}
}

// look is what a visitor sees at one time.
type look struct {
	At              float64 // ms since 1970
	Phase           string
	Veil, Sentence  string
	Layer           string // poster, still or video
	Brightness, Age float64
}

// happening is an event of the element.
type happening struct {
	At                                 float64
	Name, Phase, Code, Channel, Reason string
}

// story lists the events of the element.
func (p *tab) story() string {
	var events []happening
	p.do("drive.events()", &events)
	var words []string
	for _, e := range events {
		words = append(words, strings.Join(strings.Fields(fmt.Sprintf("%.1f s %s %s %s %s %s", (e.At-events[0].At)/1000, e.Name, e.Phase, e.Code, e.Channel, e.Reason)), " "))
	}
	return strings.Join(words, ", ")
}

// runPage is [row.run] for an element in a page.
func (w row) runPage(t *testing.T, browser *browsertest.Browser) {
	var args []string
	if w.life > 0 {
		args = append(args, "-relay-login", w.life.String())
	}
	s := startService(t, args...)
	p := openTab(t, browser, s.Info, w)
	p.do("drive.start()", nil)
	var opened bool
	if p.do(fmt.Sprintf("drive.opened(%d)", patience.Milliseconds()), &opened); !opened {
		t.Fatalf("the agent did not open the conversation: %s", p.story())
	}
	if back := p.picture(patience); !back.Back || back.Over {
		t.Fatalf("no picture: %s", p.story())
	}
	r := &rig{service: s, guest: p, t: t}
	r.awaitExpiry()
	broken := time.Now()
	w.breaks(r)
	p.do(`drive.type("What is during?")`, nil)
	pause(t.Context(), w.lasts) // which is part of the fault's definition
	if w.life > 0 {
		r.noticed(broken)
	}
	w.repairs(r)
	back := p.picture(settles)
	if !back.Back {
		t.Errorf("neither a picture nor an end within %v: %s", settles, p.story())
		return
	}
	switch {
	case w.ends == "" && back.Over:
		t.Errorf("the conversation has ended: %s", p.story())
	case w.ends == "":
		if within := max(w.within, 10*time.Second); back.After > float64(within.Milliseconds()) {
			t.Errorf("picture back after %.1f s, want %v: %s", back.After/1000, within, p.story())
		}
		r.ask("What is after?", patience)
	default:
		p.checkEnd(w)
	}
	p.checkLooks(broken)
}

// checkEnd checks that the element says how the session has ended, and tells the page.
func (p *tab) checkEnd(w row) {
	p.t.Helper()
	var got struct {
		Phase, Message, Want string
	}
	p.do(`import("/js/dist/ui.js").then(({errorMessage}) => ({phase: drive.phase(), message: drive.message(), want: errorMessage({code: "`+string(w.ends)+`"})}))`, &got)
	if got.Phase != "error" || got.Message != got.Want {
		p.t.Errorf("the phase is %s, and the element says %q, want %q: %s", got.Phase, got.Message, got.Want, p.story())
	}
	var events []happening
	p.do("drive.events()", &events)
	ended := func(name string) func(happening) bool {
		return func(e happening) bool { return e.Name == name && e.Code == string(w.ends) }
	}
	if !slices.ContainsFunc(events, ended("error")) || !slices.ContainsFunc(events, ended("phaseChange")) {
		p.t.Errorf("no event error, or no phaseChange, has the code %s: %s", w.ends, p.story())
	}
	lines := 0
	for _, m := range p.Console() {
		if m.Type == "error" && strings.HasPrefix(m.Text, "agentruntime: <agent-avatar>") {
			lines++
		}
	}
	if lines != 1 {
		p.t.Errorf("the element has written %d lines to the console, want 1: %v", lines, p.Console())
	}
}

// checkLooks checks everything that a visitor saw since a fault began.
func (p *tab) checkLooks(broken time.Time) {
	p.t.Helper()
	var looks []look
	p.do("drive.seen()", &looks)
	since := func(l look) float64 { return (l.At - float64(broken.UnixMilli())) / 1000 }
	at := slices.IndexFunc(looks, func(l look) bool { return since(l) >= 0 })
	if at < 0 {
		p.t.Fatal("the page was not looked at")
	}
	looks = looks[at:]
	gap, veiled, faults := 0.0, 0, 0
	for i, l := range looks {
		if i > 0 {
			gap = max(gap, since(l)-since(looks[i-1]))
		}
		told := l.Veil != "" || l.Sentence != ""
		if l.Veil != "" {
			veiled++
		}
		wrong := ""
		switch live := l.Phase == "live" || l.Phase == "reconnecting"; {
		case live && l.Layer != "poster" && l.Brightness < dark:
			wrong = "the picture is black"
		case live && l.Layer == "poster":
			wrong = "the last picture is gone"
		case !told && l.Age > float64(current.Milliseconds()):
			wrong = "the picture stands still without a word"
		case !told && !live:
			wrong = "nothing is said"
		default:
			continue
		}
		if faults++; faults <= 5 {
			p.t.Errorf("%.1f s after the fault began, %s: %+v", since(l), wrong, l)
		}
	}
	if often := float64(len(looks)) / since(looks[len(looks)-1]); often < rate {
		p.t.Errorf("the page was looked at %.1f times a second, want %d", often, rate)
	}
	p.t.Logf("%d looks, %d with a veil; longest time without one %.1f s; %d wrong; %s", len(looks), veiled, gap, faults, p.story())
}
