package agentruntime

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/agentruntime/agentruntime/agenttest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/localservice"
)

// script answers one word at once and another with a long story.
const script = `
hear: ["what is new"]
rules:
  - when: {contains: story}
    steps: [{repeat: {times: 60, steps: [{say: "And so the story goes on and on, with one thing after another. "}]}}]
  - when: {contains: break}
    steps: [{error: The brain is broken.}]
  - when: {contains: picture}
    steps: [{widget: {runtime: "followups-tool", body: "questions:\n- Why?"}}]
  - when: {any: true}
    steps: [{say: "Not much. "}]
`

// user is a virtual user with the module.
type user struct {
	*modulestest.Runtime
	t       *testing.T
	samples chan metrics.SampleContainer
}

// newUser returns a virtual user whose variable at has the addresses of a local service.
func newUser(t *testing.T) *user {
	t.Helper()
	info := agenttest.NewServerWith(t, localservice.Options{Script: script}).Info()
	u := &user{Runtime: modulestest.NewRuntime(t), t: t, samples: make(chan metrics.SampleContainer, 10_000)}
	for name, value := range new(Module).NewModuleInstance(u.VU).Exports().Named {
		u.set(name, value)
	}
	u.set("at", map[string]any{"agenticUrl": *info.AgenticURL, "genieUrl": *info.GenieURL, "ovpUrl": *info.OVPURL, "widgetId": "silent"})
	return u
}

func (u *user) set(name string, value any) {
	u.t.Helper()
	if err := u.VU.Runtime().Set(name, value); err != nil {
		u.t.Fatal(err)
	}
}

// start leaves the init context.
func (u *user) start() {
	tags := lib.NewVUStateTags(metrics.NewRegistry().RootTagSet().With("scenario", "visits"))
	u.MoveToVUContext(&lib.State{Samples: u.samples, Tags: tags})
}

// run runs the body of an async function, which must not throw, and returns its result.
func (u *user) run(body string) any {
	u.t.Helper()
	u.set("result", nil)
	u.set("failure", nil)
	if _, err := u.RunOnEventLoop(`(async () => {` + body + `})().then((v) => { result = v }, (e) => { failure = e.stack })`); err != nil {
		u.t.Fatal(err)
	}
	if failure := u.VU.Runtime().Get("failure").Export(); failure != nil {
		u.t.Fatal(failure)
	}
	return u.VU.Runtime().Get("result").Export()
}

// collected returns the samples so far, by their metric.
func (u *user) collected() map[string][]metrics.Sample {
	seen := map[string][]metrics.Sample{}
	for len(u.samples) > 0 {
		for _, s := range (<-u.samples).GetSamples() {
			seen[s.Metric.Name] = append(seen[s.Metric.Name], s)
		}
	}
	return seen
}

func TestALiveSession(t *testing.T) {
	u := newUser(t)
	recording := must.Get(os.ReadFile("../e2e/testdata/speech.ogg"))(t)
	u.set("recording", u.VU.Runtime().NewArrayBuffer(recording))
	u.start()
	got := u.run(`
		const face = new AvatarSession({ ...at, allowPrivateHosts: true, microphone: true, statsIntervalMs: 200, tags: { agent: "silent" } })
		const timings = await face.connect()
		const typed = await face.ask("Hello")
		const spoken = await face.say(recording)
		const story = face.ask("Tell me a story")
		const took = await face.interrupt()
		const cut = await story
		const shown = await face.ask("Show a picture")
		const broken = await face.ask("break").catch((e) => e)
		await face.close()
		return { phases: Object.keys(timings), typed, spoken, cut, took, shown, code: broken.code, error: broken instanceof Error }`).(map[string]any)

	for _, phase := range []string{"appInit", "connected", "firstFrame", "mediaReady"} {
		if !slices.Contains(got["phases"].([]any), any(phase)) {
			t.Errorf("phases %v, without %s", got["phases"], phase)
		}
	}
	for _, name := range []string{"typed", "spoken"} {
		a := got[name].(Answer)
		if a.Text != "Not much." || a.Interrupted || a.FirstSound <= 0 || a.Duration <= a.FirstSound {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if cut := got["cut"].(Answer); !cut.Interrupted || cut.FirstSound <= 0 || got["took"].(float64) <= 0 {
		t.Errorf("interrupted: %+v after %v ms", cut, got["took"])
	}
	if shown := got["shown"].(Answer); shown.Text != "" || shown.FirstSound != 0 || shown.Duration > 20_000 {
		t.Errorf("an answer without sound: %+v", shown)
	}
	if got["code"] != "stream_error" || got["error"] != true {
		t.Errorf("an answer that failed: %v, an Error: %v", got["code"], got["error"])
	}

	seen := u.collected()
	for name, n := range map[string]int{
		"app_init": 1, "connect": 1, "first_frame": 1, "media_ready": 1, "connect_failed": 1, "sessions": 1, "sessions_lost": 0,
		"answer_first_text": 3, "answer_first_sound": 3, "answer_duration": 3, "answer_failed": 5, "interrupt": 1, "media_received": 1,
	} {
		expect.Equal(t, len(seen["agentruntime_"+name]), n, "samples of %s", name)
	}
	for _, name := range []string{"rtt", "jitter", "packet_loss_percent", "bitrate_kbps"} {
		if len(seen["agentruntime_"+name]) == 0 {
			t.Errorf("no sample of %s", name)
		}
	}
	if bytes := seen["agentruntime_media_received"][0].Value; bytes < 10_000 {
		t.Errorf("%v bytes of media", bytes)
	}
	failed := seen["agentruntime_answer_failed"][4]
	want := map[string]string{"scenario": "visits", "session": "avatar", "agent": "silent", "code": "stream_error"}
	if got := failed.Tags.Map(); failed.Value != 1 || !maps.Equal(got, want) {
		t.Errorf("the answer that failed: %v with tags %v", failed.Value, got)
	}
}

func TestAChatSession(t *testing.T) {
	u := newUser(t)
	u.start()
	got := u.run(`
		const chat = new ChatSession(at)
		await chat.connect()
		const answer = await chat.ask("Hello")
		const broken = await chat.ask("break").catch((e) => e)
		await chat.close()
		const late = await chat.ask("Hello").catch((e) => e)
		return { answer, broken: broken.code, late: late.code }`).(map[string]any)
	if a := got["answer"].(Answer); a.Text != "Not much. " || a.FirstText <= 0 || a.Duration < a.FirstText {
		t.Errorf("%+v", a)
	}
	if got["broken"] != "stream_error" || got["late"] != "invalid_state" {
		t.Errorf("broken %v, late %v", got["broken"], got["late"])
	}
	seen := u.collected()
	for name, n := range map[string]int{"connect": 1, "sessions": 1, "answer_first_text": 1, "answer_duration": 1, "answer_failed": 3} {
		expect.Equal(t, len(seen["agentruntime_"+name]), n, "samples of %s", name)
	}
}

// TestWhatIsRefused before any request, and what the service refuses.
func TestWhatIsRefused(t *testing.T) {
	u := newUser(t)
	if _, err := u.VU.Runtime().RunString(`new ChatSession(at)`); err == nil || !strings.Contains(err.Error(), "while the script is loaded") {
		t.Errorf("in the init context: %v", err)
	}
	u.start()
	for body, want := range map[string]string{
		`new ChatSession()`:                                                   "bad_request: the options of the session are required",
		`new ChatSession({ ...at, agent: "silent" })`:                         `unknown field "agent"`,
		`new AvatarSession({ ...at, statsIntervalMs: "often" })`:              "statsIntervalMs",
		`new ChatSession({ ...at, timeoutMs: 0 })`:                            "timeoutMs must be positive",
		`new AvatarSession({ ...at, timeoutMs: -1 })`:                         "timeoutMs must be positive",
		`new AvatarSession({ ...at, statsIntervalMs: -1 })`:                   "statsIntervalMs must not be negative",
		`await new AvatarSession(at).ask("Hello")`:                            "invalid_state: the session is not connected",
		`await new AvatarSession(at).interrupt()`:                             "invalid_state: no question is under way",
		`await new ChatSession({ ...at, widgetId: "" }).connect()`:            "bad_request: a widgetId or a token is required",
		`await new ChatSession({ ...at, widgetId: "nobody" }).connect()`:      "agent_not_found",
		`await new ChatSession({ ...at, genieUrl: "ftp://a" }).connect()`:     "bad_request",
		`const c = new ChatSession(at); await c.connect(); await c.connect()`: "invalid_state: the session was connected before",
	} {
		if got := u.run(`try { ` + body + `; return "nothing" } catch (e) { return e.message }`); !strings.Contains(got.(string), want) {
			t.Errorf("%s: %v, want %q", body, got, want)
		}
	}
}

// TestASessionEndsWithItsIteration when the script does not close it.
func TestASessionEndsWithItsIteration(t *testing.T) {
	u := newUser(t)
	u.start()
	u.run(`globalThis.face = new AvatarSession({ ...at, allowPrivateHosts: true }); await face.connect()`)
	u.CancelContext()
	face := u.VU.Runtime().Get("face").Export().(*Avatar)
	select {
	case <-face.ended:
	case <-time.After(30 * time.Second):
		t.Errorf("the session is %s", face.session.Snapshot().State)
	}
}

// TestEveryMetricIsDescribed in the table of docs/load.md.
func TestEveryMetricIsDescribed(t *testing.T) {
	doc := must.Get(os.ReadFile("../docs/load.md"))(t)
	registry := metrics.NewRegistry()
	must.Get(newMeters(registry))(t)
	var described, registered []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(agentruntime_[a-z_]+)` \\|").FindAllSubmatch(doc, -1) {
		described = append(described, string(row[1]))
	}
	for _, m := range registry.All() {
		registered = append(registered, m.Name)
	}
	slices.Sort(described)
	slices.Sort(registered)
	if !slices.Equal(described, registered) {
		t.Errorf("docs/load.md describes %v, registered are %v", described, registered)
	}
}
