package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/jsonbounds"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Bounds of what a client may send.
const (
	maxBody = 1 << 20 // bytes; a page context of 31 kB is known to be in use
	maxKey  = 200     // bytes of an Idempotency-Key
	// maxValues bounds the memory of what is decoded: "[]," takes 16 times as much as its
	// text, and an object of empty objects 100 times.
	maxValues = 50_000
	maxDepth  = 32 // nested arrays and objects; the deepest body here has four
)

// ErrBodiesAtOnce means that a client, or all of them, send too much at the same time.
var ErrBodiesAtOnce = errors.New("too much is sent at the same time; try again later")

// countedBody is the body of a request, for the quotas of bodies. Only the goroutine of the
// request uses it.
type countedBody struct {
	io.ReadCloser
	take  func(by quota.Client, n int) error
	by    quota.Client // without a token if that is known only after the body
	taken int          // bytes
	err   error
}

func (b *countedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if b.err = b.take(b.by, n); b.err != nil {
			return 0, b.err
		}
		b.taken += n
	}
	return n, err
}

func (b *countedBody) free() {
	if b.taken > 0 {
		_ = b.take(b.by, -b.taken) // giving back does not fail
	}
}

// bodyLimit returns the maximum size of a body in bytes, by path: uploads and knowledge
// texts may be larger than other bodies.
func bodyLimit(path string) int64 {
	switch {
	case path == catalogCreatePath, path == catalogUpdatePath, path == uploadPath, strings.HasPrefix(path, stagePrefix):
		return maxUpload
	case strings.HasPrefix(path, "/v1/knowledge/"):
		return maxKnowledge
	}
	return maxBody
}

// Bounds of pages (protocol §9.10, service.md Limits).
const (
	threadPageSize  = 30
	messagePageSize = 50
	maxPageSize     = 500
)

// withBody returns a handler that decodes the JSON body into a T. An empty body counts
// as an empty object. Invalid JSON is a 422; for a wrong type it names the field.
func withBody[T any](handle func(*call, T) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var body T
		text, err := io.ReadAll(c.r.Body)
		if err == nil {
			err = unmarshal(text, &body)
		}
		if err != nil {
			return nil, err
		}
		return handle(c, body)
	}
}

// withID returns a handler of a call about one thing, whose id is in the body.
func withID(handle func(c *call, id string) (any, error)) func(*call) (any, error) {
	return withBody(func(c *call, body struct {
		ID string `json:"id"`
	},
	) (any, error) {
		if body.ID == "" {
			return nil, missing("id")
		}
		return handle(c, body.ID)
	})
}

func unmarshal(text []byte, v any) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if jsonbounds.Check(text, maxDepth, 0) != nil {
		return invalid("json_invalid", fmt.Sprintf("more than %d levels deep", maxDepth))
	}
	if jsonbounds.Values(text) > maxValues {
		return invalid("json_invalid", fmt.Sprintf("more than %d values", maxValues))
	}
	if !utf8.Valid(text) { // what is stored as it came would make replies that are no JSON
		return invalid("json_invalid", "JSON decode error")
	}
	err := json.Unmarshal(text, v)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		var path []any
		if mismatch.Field != "" {
			for part := range strings.SplitSeq(mismatch.Field, ".") {
				path = append(path, part)
			}
		}
		return invalid("type_error", "Input should be of type "+mismatch.Type.String()+", not "+mismatch.Value, path...)
	}
	return invalid("json_invalid", "JSON decode error")
}

// pager is the paging of a list; nil fields mean the defaults.
type pager struct {
	ObjectType string `json:"objectType"` // of the media API
	PageIndex  *int   `json:"pageIndex"`
	PageSize   *int   `json:"pageSize"`
	Offset     *int   `json:"offset"`
	Limit      *int   `json:"limit"`
}

func (p *pager) page(defaultSize int) (store.Page, error) {
	return p.pageUpTo(defaultSize, maxPageSize)
}

func (p *pager) pageUpTo(defaultSize, maxSize int) (store.Page, error) {
	index, size := 1, defaultSize
	if p.PageIndex != nil {
		index = *p.PageIndex
	}
	if p.PageSize != nil {
		size = *p.PageSize
	}
	// The upper bound keeps index times size inside an int64.
	if index < 1 || index > 1<<31 {
		return store.Page{}, invalid("greater_than_equal", "Input should be greater than or equal to 1", "pager", "pageIndex")
	}
	if size < 1 || size > maxSize {
		return store.Page{}, outOfRange(1, maxSize, "pager", "pageSize")
	}
	return store.Page{Offset: (index - 1) * size, Limit: size}, nil
}

// filter is the filter of a list. Its keys are read one by one, so that an unknown key
// can be refused by name.
type filter struct {
	fields map[string]json.RawMessage
	err    error // the first thing that was wrong
}

// newFilter parses a filter and checks its objectType, unless objectType is "". Without
// a filter everything is selected.
func newFilter(raw json.RawMessage, objectType string) *filter {
	f := &filter{}
	if len(raw) == 0 || string(raw) == "null" {
		return f
	}
	if json.Unmarshal(raw, &f.fields) != nil {
		f.err = invalid("type_error", "Input should be an object", "filter")
		return f
	}
	var got string
	switch {
	case objectType == "":
	case f.fields["objectType"] == nil:
		f.err = invalid("union_tag_not_found", "Unable to extract tag using discriminator 'objectType'", "filter")
	case !f.take("objectType", &got):
	case got != objectType:
		f.err = invalid("union_tag_invalid", "Invalid filter type", "filter", "objectType")
	}
	return f
}

// take reads one key into v and reports whether it was there.
func (f *filter) take(key string, v any) bool {
	raw, ok := f.fields[key]
	delete(f.fields, key)
	if !ok || string(raw) == "null" || f.err != nil {
		return false
	}
	if json.Unmarshal(raw, v) != nil {
		f.err = invalid("type_error", "Input is of the wrong type", "filter", key)
		return false
	}
	return true
}

// text reads a string, or an id that is given as a number.
func (f *filter) text(key string) string {
	var raw json.RawMessage
	if !f.take(key, &raw) {
		return ""
	}
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(raw, &s) == nil:
		return s
	case json.Unmarshal(raw, &n) == nil:
		return n.String()
	}
	f.err = invalid("type_error", "Input should be a string", "filter", key)
	return ""
}

// number reads an id that is given as a number or as a string of digits.
func (f *filter) number(key string) int64 {
	text := f.text(key)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && f.err == nil {
		f.err = invalid("type_error", "Input should be a number", "filter", key)
	}
	return n
}

// optional reads a string; nil means that it is absent, because "" is a value too.
func (f *filter) optional(key string) *string {
	var s string
	if f.take(key, &s) {
		return &s
	}
	return nil
}

// list reads strings, given as an array or separated by commas.
func (f *filter) list(key string) []string {
	var raw json.RawMessage
	if !f.take(key, &raw) {
		return nil
	}
	list := []string{}
	var joined string
	switch {
	case json.Unmarshal(raw, &joined) == nil:
		list = strings.Split(joined, ",")
	case json.Unmarshal(raw, &list) != nil:
		f.err = invalid("type_error", "Input should be a list of strings", "filter", key)
	case len(list) > maxPageSize:
		f.err = tooMany(maxPageSize, "filter", key)
	}
	return list
}

// maxSeconds bounds times: those beyond it have no milliseconds in an int64.
const maxSeconds = 1e15

// time reads seconds since 1970, or a time in RFC 3339.
func (f *filter) time(key string) time.Time {
	var raw json.RawMessage
	if !f.take(key, &raw) {
		return time.Time{}
	}
	var seconds float64
	var t time.Time
	switch {
	case json.Unmarshal(raw, &seconds) == nil && math.Abs(seconds) < maxSeconds:
		return time.UnixMilli(int64(seconds * 1000))
	case json.Unmarshal(raw, &t) == nil:
		return t
	}
	f.err = invalid("datetime_invalid", "Input should be a valid time", "filter", key)
	return time.Time{}
}

func (f *filter) order() store.Order {
	order := store.Order(f.text("orderBy"))
	if !order.Valid() && f.err == nil {
		f.err = invalid("enum", "Input should be +createdAt, -createdAt, +updatedAt or -updatedAt", "filter", "orderBy")
	}
	return order
}

// done returns the first error. A key that was not read is an error.
func (f *filter) done() error {
	if f.err != nil {
		return f.err
	}
	for key := range f.fields {
		return invalid("extra_forbidden", "Extra inputs are not permitted", "filter", key)
	}
	return nil
}
