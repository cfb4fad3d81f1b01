package socketio

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
)

// Args are the arguments of an event or an acknowledgement, as JSON. Binary data
// is included as base64 text.
//
// A server that offers recovery appends a string to the arguments of each event
// (protocol §1.9.5), which is the last element of Args.
type Args []json.RawMessage

// Decode stores argument i in the value that v points to, by the rules of
// encoding/json. Binary data decodes into a [Binary] or []byte. Decode fails when
// there is no argument i.
func (a Args) Decode(i int, v any) error {
	if i < 0 || i >= len(a) {
		return fmt.Errorf("socketio: no argument %d", i)
	}
	if err := json.Unmarshal(a[i], v); err != nil {
		return fmt.Errorf("socketio: decode argument %d: %w", i, err)
	}
	return nil
}

// Size returns the number of bytes of the arguments.
func (a Args) Size() int {
	n := 0
	for _, raw := range a {
		n += len(raw)
	}
	return n
}

// Binary is data that is sent as an attachment, which is a separate binary message,
// instead of inside the JSON. It may be an argument or a part of one at any depth.
type Binary []byte

// binaryMark begins the JSON strings that represent a [Binary] between
// MarshalJSON and encodeArgs. It is random, so that no text from outside can be
// mistaken for one, and is never sent. It is made at its first use, because the start of a
// program for the page is the same in every page (tools/wasm/link). math/rand/v2 is seeded by
// the system; crypto/rand would add 44 kB to the page after brotli.
var binaryMark = sync.OnceValue(func() string {
	return strconv.FormatUint(rand.Uint64(), 36) + strconv.FormatUint(rand.Uint64(), 36) + ":"
})

// MarshalJSON marks the data for encodeArgs, which finds it wherever it is inside
// an argument. The result has no meaning outside this package.
func (b Binary) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	return json.Marshal(binaryMark() + base64.StdEncoding.EncodeToString(b))
}

// encodeArgs marshals the arguments and moves every [Binary] into an attachment.
func encodeArgs(values []any) (args Args, attachments [][]byte, err error) {
	if len(values) > maxArgs {
		return nil, nil, fmt.Errorf("socketio: %d arguments, allowed are %d", len(values), maxArgs)
	}
	for i, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, nil, fmt.Errorf("socketio: encode argument %d: %w", i, err)
		}
		parts := bytes.Split(raw, []byte(`"`+binaryMark()))
		out := parts[0]
		for _, part := range parts[1:] {
			text, rest, _ := bytes.Cut(part, []byte{'"'})
			data, err := base64.StdEncoding.AppendDecode(nil, text)
			if err != nil {
				return nil, nil, fmt.Errorf("socketio: encode argument %d: %w", i, err)
			}
			out = fmt.Appendf(out[:len(out):len(out)], `{"_placeholder":true,"num":%d}`, len(attachments))
			out = append(out, rest...)
			attachments = append(attachments, data)
		}
		args = append(args, out)
	}
	if n := len(attachments); n > maxAttachments {
		return nil, nil, fmt.Errorf("socketio: %d attachments, allowed are %d", n, maxAttachments)
	}
	return args, attachments, nil
}

var errPlaceholder = errors.New("placeholder for no attachment, or for one that has a placeholder already")

// inlineAttachments replaces each placeholder {"_placeholder":true,"num":n} in the
// arguments by the base64 text of attachment n. As in the official parser, other
// members of the object are ignored. Two placeholders for one attachment are refused,
// because a short message could multiply a large attachment.
func inlineAttachments(args Args, attachments [][]byte) error {
	used := make([]bool, len(attachments))
	var inline func(v any) (any, error)
	inline = func(v any) (any, error) {
		var err error
		switch v := v.(type) {
		case []any:
			for i := range v {
				if v[i], err = inline(v[i]); err != nil {
					return nil, err
				}
			}
		case map[string]any:
			if v["_placeholder"] == true {
				num, _ := v["num"].(json.Number)
				n, err := strconv.Atoi(num.String())
				if err != nil || n < 0 || n >= len(attachments) || used[n] {
					return nil, errPlaceholder
				}
				used[n] = true
				return base64.StdEncoding.EncodeToString(attachments[n]), nil
			}
			for name := range v {
				if v[name], err = inline(v[name]); err != nil {
					return nil, err
				}
			}
		}
		return v, nil
	}
	for i, raw := range args {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber() // keeps every digit
		var v any
		err := dec.Decode(&v)
		if err == nil {
			v, err = inline(v)
		}
		if err == nil {
			args[i], err = json.Marshal(v)
		}
		if err != nil {
			return violation("argument %d: %v", i, err)
		}
	}
	return nil
}
