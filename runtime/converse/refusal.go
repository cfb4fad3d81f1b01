package converse

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// maxRefusal bounds the text of a refusal, in characters (wire-protocol §9.6).
const maxRefusal = 500

// noPermission is what the service says of a thread of somebody else, in any
// case (wire-protocol §9.6).
const noPermission = "no permission for thread"

// RefusalOf returns the error that the error segments of a turn stand for:
// thread_access_denied or stream_error (wire-protocol §9.6); nil when there are
// none. Its body holds the segments and what came before them (service.md,
// "Refusals with HTTP 200").
func RefusalOf(errs []Segment, t Turn) *fault.Error {
	if len(errs) == 0 {
		return nil
	}
	code := fault.StreamError
	texts := make([]string, len(errs))
	for i := range errs {
		texts[i] = errs[i].ContentString()
		if strings.Contains(strings.ToLower(texts[i]), noPermission) {
			code = fault.ThreadAccessDenied
		}
	}
	detail := fault.Excerpt(strings.Join(texts, "; "), maxRefusal)
	return fault.New(code, detail).WithStatus(200).At(path).WithBody(map[string]any{
		"errors":   plain(errs),
		"threadId": t.ThreadID,
		"partial":  map[string]any{"text": t.Text, "threadId": t.ThreadID, "messageId": t.MessageID},
	})
}

// plain returns segments as an error's body has them: made of JSON's own types,
// so that they can be redacted.
func plain(segments []Segment) any {
	text, err := json.Marshal(segments)
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}
