package avatar

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/replay"
)

// A recording of a page is read as a native one, and has the turns of its conversation.
func TestRecordingIsLikeANativeOne(t *testing.T) {
	t.Parallel()
	_, p := open(t)
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
	data := must.Get(base64.StdEncoding.DecodeString(got.Zip))(t)
	folder := must.Get(zip.NewReader(bytes.NewReader(data), int64(len(data))))(t)
	page := must.Get(replay.Open(folder))(t)
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
	if !reflect.DeepEqual(written, page.Turns()) {
		t.Errorf("%s has %+v, the events %+v", replay.TurnsFile, written, page.Turns())
	}

	want := []string{
		"agent: [silence]", "visitor: My name is Ada.", "agent: Nice to meet you, Ada. I'll remember your name.",
		"visitor: What is my name?", "agent: Your name is Ada.",
	}
	var said []string
	for _, turn := range page.Turns() {
		said = append(said, turn.By+": "+turn.Text)
	}
	expect.List(t, said, want, "the turns are")
}
