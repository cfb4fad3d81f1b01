package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/runtime/replay"
)

// lines counts the lines that are written, and ends the conversation after enough.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	most int
	end  func()
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Write(b); strings.Count(l.text.String(), "\n") == l.most {
		l.end()
	}
	return len(b), nil
}

var _ io.Writer = (*lines)(nil)

// TestEachHearsTheOther: the second line and the third one are answers to what was heard.
func TestEachHearsTheOther(t *testing.T) {
	if testing.Short() {
		t.Skip("on a machine that does something else, pauses are taken for ends of turns; make recordings runs it")
	}
	script, err := os.ReadFile("script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	started := servicetest.Start(t, localservice.Options{Script: script})
	text, err := json.Marshal(started.Info())
	if err != nil {
		t.Fatal(err)
	}
	var s service
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	out := &lines{most: 5, end: end} // of which the first two are one turn
	dir := t.TempDir()
	if err := talk(ctx, s, "Please begin.", dir, out); err != nil {
		t.Fatal(err)
	}
	const want = "One: Good morning!\nOne: Did you sleep well?\nTwo: I never sleep.\nTwo: And you?\nOne: I was switched off for a while.\n"
	if got := out.text.String(); !strings.HasPrefix(got, want) {
		t.Errorf("they said\n%s", got)
	}
	for _, name := range []string{"one", "two"} {
		recording, err := replay.Open(os.DirFS(filepath.Join(dir, name)))
		if err != nil || len(recording.Turns()) < 2 {
			t.Errorf("%s: %v", name, err)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, name, "agent.*")); len(files) != 1 {
			t.Errorf("%s has the pictures %v", name, files)
		}
	}
}
