package avatar

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/record"
	"github.com/agentruntime/agentruntime/runtime/replay"
)

// A recording of a page has the format of a native one, and of the same conversation the same turns.
func TestRecordingIsLikeANativeOne(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	var got struct {
		Zip, Disclosure string
		States          []string
		Same            bool
		Error           *string
	}
	p.Call(&got, "record.js", "recordingIsLikeANativeOne")
	if !got.Same || got.Error != nil || !slices.Equal(got.States, []string{"recording", "stopped"}) || !strings.Contains(got.Disclosure, "microphone") {
		t.Errorf("the same file %v, error %v, states %q, disclosure %q", got.Same, got.Error, got.States, got.Disclosure)
	}
	data, err := base64.StdEncoding.DecodeString(got.Zip)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	page, err := replay.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent.webm", "microphone.webm"} {
		content, err := fs.ReadFile(folder, name) // also compares the checksum
		if err != nil || !bytes.HasPrefix(content, []byte{0x1a, 0x45, 0xdf, 0xa3}) || len(content) < 500 {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
		if !slices.ContainsFunc(page.Entries, func(e replay.Entry) bool { return e.File == name }) {
			t.Errorf("no line of the events has the beginning of %s", name)
		}
	}
	// The captions begin with the film, which on a busy machine begins after the first text.
	if captions, err := fs.ReadFile(folder, replay.CaptionsFile); err != nil || !strings.Contains(string(captions), "<v Visitor>What is my name?") || !strings.Contains(string(captions), "<v Agent>") {
		t.Errorf("captions %q, %v", captions, err)
	}
	if text, err := fs.ReadFile(folder, replay.EventsFile); err != nil || bytes.Contains(text, []byte("djJ8")) {
		t.Errorf("the events have a token, or %v", err)
	}
	var written []replay.Turn
	if text, err := fs.ReadFile(folder, replay.TurnsFile); err != nil || json.Unmarshal(text, &written) != nil {
		t.Fatalf("turns %s, %v", text, err)
	}
	if a, b := marshal(t, written), marshal(t, page.Turns()); a != b {
		t.Errorf("%s has %s, the events %s", replay.TurnsFile, a, b)
	}

	native := recordNatively(t, h, "My name is Ada.", "What is my name?")
	for _, d := range replay.Diff(native, page) {
		t.Error(d)
	}
	if a, b := untimed(native.Turns()), untimed(page.Turns()); len(a) != 5 || marshal(t, a) != marshal(t, b) {
		t.Errorf("natively %s, in the page %s", marshal(t, a), marshal(t, b))
	}
}

// recordNatively has a conversation with the silent agent, and returns its recording.
func recordNatively(t *testing.T, h *pagetest.Server, texts ...string) *replay.Recording {
	t.Helper()
	info := h.Info()
	agent, _ := info.Agent("silent")
	reply, err := appinit.Init(h.Context(), appinit.Options{
		WidgetID: agent.WidgetID,
		Config:   appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := avatar.OptionsFor(reply)
	o.AllowPrivateHosts, o.MicStart = true, avatar.MicDeferred
	stopped := make(chan struct{}, 16)
	o.OnEvent = func(e event.Event) {
		if _, ok := e.(event.AvatarStopTalking); ok {
			stopped <- struct{}{}
		}
	}
	dir := filepath.Join(t.TempDir(), "native")
	rec, err := record.New(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Attach(&o); err != nil {
		t.Fatal(err)
	}
	s, err := avatar.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Connect(h.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range len(texts) + 1 {
		if i > 0 {
			if _, err := s.Speak(h.Context(), texts[i-1]); err != nil {
				t.Fatal(err)
			}
		}
		select { // first the opening, which is silent
		case <-stopped:
		case <-h.Context().Done():
			t.Fatal("the agent was not heard")
		}
	}
	s.Close()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	recording, err := replay.Open(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return recording
}

func untimed(turns []replay.Turn) []replay.Turn {
	turns = slices.Clone(turns)
	for i := range turns {
		turns[i].StartMs, turns[i].EndMs = 0, 0
	}
	return turns
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
