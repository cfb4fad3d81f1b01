//go:build !js

package session

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/event"
)

// TestAPanicInAListenerIsLogged, also in a program that has not set the option Log.
func TestAPanicInAListenerIsLogged(t *testing.T) {
	var text bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	defer slog.SetDefault(before)
	var b Core
	b.Start(&Options{OnEvent: func(event.Event) { panic("a bug of the application") }}, Kind{Publish: func() {}})
	b.Emit(event.TurnStarted{})
	b.WaitDelivered()
	if got := text.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "a bug of the application") {
		t.Errorf("logged %q", got)
	}
}

func TestLogToHasLevelsAndData(t *testing.T) {
	var text bytes.Buffer
	log := LogTo(slog.New(slog.NewTextHandler(&text, nil)))
	log("debug", "hidden", nil)
	log("warn", "the relay is slow", map[string]any{"ms": 12})
	if got := text.String(); strings.Contains(got, "hidden") || !strings.Contains(got, `level=WARN msg="the relay is slow" ms=12`) {
		t.Errorf("logged %q", got)
	}
}
