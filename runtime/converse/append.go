package converse

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/jsontext"
)

// AppendJSON appends s as encoding/json writes it. A page gets every segment in this
// form; encoding it by reflection would take several times as long as decoding it.
func (s Segment) AppendJSON(b []byte) []byte {
	b = appendText(b, `{"role":`, s.Role, true)
	b = appendText(b, `,"type":`, string(s.Type), true)
	if text, ok := s.Content.(string); ok {
		b = appendText(b, `,"content":`, text, true)
	} else {
		b = appendAny(b, `,"content":`, s.Content)
	}
	b = strconv.AppendInt(appendRaw(b, `,"segmentNumber":`, true), int64(s.SegmentNumber), 10)
	if math.IsNaN(s.Elapsed) || math.IsInf(s.Elapsed, 0) {
		s.Elapsed = 0 // of a segment that was made by hand
	}
	b = strconv.AppendFloat(appendRaw(b, `,"et":`, true), s.Elapsed, 'g', -1, 64)
	b = appendText(b, `,"speechId":`, s.SpeechID, false)
	b = appendText(b, `,"threadId":`, s.ThreadID, false)
	b = appendText(b, `,"messageId":`, s.MessageID, false)
	b = appendRaw(b, `,"segmentStart":true`, s.SegmentStart)
	b = appendRaw(b, `,"segmentEnd":true`, s.SegmentEnd)
	b = appendRaw(b, `,"isFinal":true`, s.IsFinal)
	b = appendText(b, `,"openingPhrase":`, s.OpeningPhrase, false)
	if s.Metadata != nil {
		b = appendAny(b, `,"metadata":`, s.Metadata)
	}
	if s.ToolMetadata != nil {
		b = appendAny(b, `,"tool_metadata":`, s.ToolMetadata)
	}
	if len(s.Extra) > 0 {
		b = appendAny(b, `,"extra":`, s.Extra)
	}
	return append(b, '}')
}

func appendRaw(b []byte, text string, given bool) []byte {
	if !given {
		return b
	}
	return append(b, text...)
}

func appendText(b []byte, key, text string, empty bool) []byte {
	if text == "" && !empty {
		return b
	}
	return jsontext.AppendString(append(b, key...), text)
}

// appendAny appends a value that is rare in an answer.
func appendAny(b []byte, key string, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("null")
	}
	return append(append(b, key...), text...)
}
