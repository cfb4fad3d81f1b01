//go:build !js

package session

import (
	"context"
	"log/slog"
)

// LogTo returns a function for the option Log that writes to l.
func LogTo(l *slog.Logger) func(level, message string, data map[string]any) {
	return func(level, message string, data map[string]any) {
		var severity slog.Level
		if severity.UnmarshalText([]byte(level)) != nil {
			severity = slog.LevelInfo
		}
		var attrs []slog.Attr
		for name, value := range data {
			attrs = append(attrs, slog.Any(name, value))
		}
		l.LogAttrs(context.Background(), severity, message, attrs...)
	}
}

// logFailures writes to the log of the program what must not be lost when the option Log is
// not set: bugs, such as a panic in a listener.
func logFailures(level, message string, data map[string]any) {
	if level == "error" {
		LogTo(slog.Default())(level, message, data)
	}
}
