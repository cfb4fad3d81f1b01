package store

import "regexp"

// traceparent is the W3C form of a trace context.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// TraceLabel returns a client's traceparent for the log, "" for what is none.
func TraceLabel(text string) string { return traceparent.FindString(text) }
