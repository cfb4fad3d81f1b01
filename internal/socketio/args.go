package socketio

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
)

// Args are the arguments of an event or an acknowledgement. They stay raw JSON
// until the receiver asks for a type. The zero Args is empty.
//
// A server that offers recovery appends one string to each event, which
// arrives as one more argument (wire-protocol §1.9.5).
type Args struct {
	raw         []json.RawMessage
	attachments [][]byte
}

// RawArgs returns arguments of which the JSON text is known, for those who stand
// in for a socket. The text is not checked.
func RawArgs(raw ...json.RawMessage) Args { return Args{raw: raw} }

// Len returns the number of arguments.
func (a Args) Len() int { return len(a.raw) }

// Raw returns argument i as it was sent, placeholders for binary data included,
// or nil when there is no such argument.
func (a Args) Raw(i int) json.RawMessage {
	if i < 0 || i >= len(a.raw) {
		return nil
	}
	return a.raw[i]
}

// Decode stores argument i in the value that v points to, by the rules of
// encoding/json. Binary data arrives in fields of type [Binary] or []byte; in an
// untyped value it is a base64 string. Decode fails when there is no argument i.
func (a Args) Decode(i int, v any) error {
	raw := a.Raw(i)
	if raw == nil {
		return fmt.Errorf("socketio: no argument %d", i)
	}
	if len(a.attachments) > 0 {
		spans, err := placeholders(raw, len(a.attachments))
		if err != nil {
			return err
		}
		raw = a.inline(raw, spans)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("socketio: decode argument %d: %w", i, err)
	}
	return nil
}

// Bytes returns argument i when it is binary data as a whole, without a copy.
func (a Args) Bytes(i int) ([]byte, bool) {
	raw := a.Raw(i)
	if raw == nil || len(a.attachments) == 0 {
		return nil, false
	}
	spans, err := placeholders(raw, len(a.attachments))
	if err != nil || len(spans) != 1 || spans[0].start != 0 || spans[0].end != len(raw) {
		return nil, false
	}
	return a.attachments[spans[0].num], true
}

// size returns the bytes that the arguments hold.
func (a Args) size() int {
	n := 0
	for _, raw := range a.raw {
		n += len(raw)
	}
	for _, data := range a.attachments {
		n += len(data)
	}
	return n
}

// inline replaces placeholders by the base64 text that encoding/json reads into
// a byte slice.
func (a Args) inline(raw json.RawMessage, spans []span) json.RawMessage {
	var out []byte
	last := 0
	for _, s := range spans {
		out = append(out, raw[last:s.start]...)
		out = append(out, '"')
		out = base64.StdEncoding.AppendEncode(out, a.attachments[s.num])
		out = append(out, '"')
		last = s.end
	}
	return append(out, raw[last:]...)
}

// Binary is data that travels as an attachment beside the JSON instead of
// inside it. As an argument, or anywhere inside one, it becomes a binary message
// of its own; on the way in, a placeholder decodes into it.
type Binary []byte

// binaryMark starts the JSON strings that stand for a [Binary] between
// MarshalJSON and encodeArgs. It is random, so that no text from outside can be
// taken for one, and it never leaves the package in a packet. math/rand/v2 is
// seeded by the system; crypto/rand would add 44 kB to the page after brotli.
var binaryMark = strconv.FormatUint(rand.Uint64(), 36) + strconv.FormatUint(rand.Uint64(), 36) + ":"

// MarshalJSON lets Emit find the data wherever it is inside an argument. The
// result means nothing outside this package.
func (b Binary) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	out := append([]byte{'"'}, binaryMark...)
	out = base64.StdEncoding.AppendEncode(out, b)
	return append(out, '"'), nil
}

// encodeArgs marshals the arguments and moves every [Binary] out of the JSON.
func encodeArgs(values []any) (Args, error) {
	var a Args
	if len(values) > maxArgs {
		return a, fmt.Errorf("socketio: %d arguments, allowed are %d", len(values), maxArgs)
	}
	for i, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			return a, fmt.Errorf("socketio: encode argument %d: %w", i, err)
		}
		raw, err = a.extract(raw)
		if err != nil {
			return a, fmt.Errorf("socketio: encode argument %d: %w", i, err)
		}
		a.raw = append(a.raw, raw)
	}
	if n := len(a.attachments); n > maxAttachments {
		return a, fmt.Errorf("socketio: %d attachments, allowed are %d", n, maxAttachments)
	}
	return a, nil
}

// extract moves the marked strings of raw into attachments.
func (a *Args) extract(raw []byte) ([]byte, error) {
	mark := []byte(`"` + binaryMark)
	before, after, found := bytes.Cut(raw, mark)
	if !found {
		return raw, nil
	}
	out := bytes.Clone(before)
	for found {
		text, rest, _ := bytes.Cut(after, []byte{'"'})
		data, err := base64.StdEncoding.AppendDecode(nil, text)
		if err != nil {
			return nil, fmt.Errorf("binary: %w", err)
		}
		out = append(out, `{"_placeholder":true,"num":`...)
		out = strconv.AppendInt(out, int64(len(a.attachments)), 10)
		out = append(out, '}')
		a.attachments = append(a.attachments, data)
		before, after, found = bytes.Cut(rest, mark)
		out = append(out, before...)
	}
	return out, nil
}

// span is a placeholder object inside JSON text.
type span struct {
	start, end int // raw[start:end] is the object
	num        int // index of its attachment
}

// jsonFrame is an object or array that placeholders is inside of.
type jsonFrame struct {
	start       int
	object      bool
	key         string
	atValue     bool // object: the next token is a value
	placeholder bool
	num         json.Token
	inner       int // spans found before this frame was opened
}

// placeholders finds the objects {"_placeholder":true,"num":n} in valid JSON, in
// order, and refuses a number that is no attachment's. As in the official
// parser, other members of the object don't matter.
func placeholders(raw []byte, attachments int) ([]span, error) {
	var spans []span
	var stack []jsonFrame
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return spans, nil
		}
		if err != nil {
			return nil, violation("payload: %v", err)
		}
		end := int(dec.InputOffset())
		var top *jsonFrame
		if len(stack) > 0 {
			top = &stack[len(stack)-1]
		}
		if top != nil && top.object && !top.atValue && token != json.Delim('}') {
			top.key, _ = token.(string)
			top.atValue = true
			continue
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if top != nil {
				top.take(nil)
			}
			stack = append(stack, jsonFrame{start: end - 1, object: token == json.Delim('{'), inner: len(spans)})
			continue
		case json.Delim('}'), json.Delim(']'):
			closed := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if !closed.placeholder {
				continue
			}
			num, err := attachmentIndex(closed.num, attachments)
			if err != nil {
				return nil, err
			}
			spans = append(spans[:closed.inner], span{closed.start, end, num})
			continue
		}
		if top != nil {
			top.take(token)
		}
	}
}

// take notes the value of an object's member; of two with one name the last
// counts, as in JavaScript.
func (f *jsonFrame) take(value json.Token) {
	if !f.object {
		return
	}
	switch f.key {
	case "_placeholder":
		f.placeholder = value == true
	case "num":
		f.num = value
	}
	f.atValue = false
}

func attachmentIndex(num json.Token, attachments int) (int, error) {
	text, ok := num.(json.Number)
	if !ok {
		return 0, violation("placeholder without a number")
	}
	n, err := strconv.Atoi(text.String())
	if err != nil || n < 0 || n >= attachments {
		return 0, violation("placeholder for an attachment that does not exist")
	}
	return n, nil
}
