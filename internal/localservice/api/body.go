package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
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
	maxPageIndex    = 1 << 31 // keeps the index times the size inside an int64
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
		return invalid("type_error", "Input should be "+jsonType(mismatch.Type)+", not "+mismatch.Value, path...)
	}
	return invalid("json_invalid", "JSON decode error")
}

// jsonType is a type in the words of JSON, for clients that are not written in Go.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "an integer"
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
	if index < 1 {
		return store.Page{}, invalid("greater_than_equal", "Input should be greater than or equal to 1", "pager", "pageIndex")
	}
	if index > maxPageIndex {
		return store.Page{}, outOfRange(1, maxPageIndex, "pager", "pageIndex")
	}
	if size < 1 || size > maxSize {
		return store.Page{}, outOfRange(1, maxSize, "pager", "pageSize")
	}
	return store.Page{Offset: (index - 1) * size, Limit: size}, nil
}

// conditions are the keys that a filter may have, each with a pointer to what it sets, or with a [comparison].
// What is itself a pointer stays nil without the key, or with null: "" and 0 are values like others.
type conditions map[string]any

// comparison reads the value of a key, and adds a condition about the records to a query.
type comparison func(raw json.RawMessage, key string) error

// where compares a field of the records with the value of a key.
func where[T any](q *store.Query, field string, condition func(field string, value T) store.Condition) comparison {
	return func(raw json.RawMessage, key string) error {
		var value T
		err := readCondition(raw, &value, key)
		q.Where = append(q.Where, condition(field, value))
		return err
	}
}

// readFilter reads a filter, and checks its objectType unless that is "". Without a filter
// everything is selected.
func readFilter(raw json.RawMessage, objectType string, into conditions) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	given := fields{}
	if json.Unmarshal(raw, &given) != nil {
		return invalid("type_error", "Input should be an object", "filter")
	}
	if objectType != "" {
		var got string
		switch {
		case given["objectType"] == nil:
			return invalid("union_tag_not_found", "Unable to extract tag using discriminator 'objectType'", "filter")
		case json.Unmarshal(given["objectType"], &got) != nil || got != objectType:
			return invalid("union_tag_invalid", "Invalid filter type", "filter", "objectType")
		}
		delete(given, "objectType")
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		to, known := into[key]
		switch {
		case !known:
			return invalid("extra_forbidden", "Extra inputs are not permitted", "filter", key)
		case given.has(key):
			if err := readCondition(given[key], to, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxSeconds bounds times: those beyond it have no milliseconds in an int64.
const maxSeconds = 1e15

// readCondition reads one condition. A text, also one of a list, may be a number, a number may be a
// text of digits, a list a text with commas, and a time is in seconds since 1970 or RFC 3339.
func readCondition(raw json.RawMessage, to any, key string) error {
	wrong := invalid("type_error", "Input is of the wrong type", "filter", key)
	switch to := to.(type) {
	case comparison:
		return to(raw, key)
	case **string:
		return readCondition(raw, set(to), key)
	case **int64:
		return readCondition(raw, set(to), key)
	case **time.Time:
		return readCondition(raw, set(to), key)
	case *string:
		if json.Unmarshal(raw, (*idText)(to)) != nil {
			return wrong
		}
	case *int64:
		var digits idText
		err := json.Unmarshal(raw, &digits)
		if err == nil {
			*to, err = strconv.ParseInt(string(digits), 10, 64)
		}
		if err != nil {
			return wrong
		}
	case *[]string:
		var joined string
		if json.Unmarshal(raw, &joined) == nil {
			*to = strings.Split(joined, ",")
			return nil
		}
		var texts []idText
		if json.Unmarshal(raw, &texts) != nil {
			return wrong
		}
		if len(texts) > maxPageSize {
			return tooMany(maxPageSize, "filter", key)
		}
		*to = make([]string, len(texts))
		for i, text := range texts {
			(*to)[i] = string(text)
		}
	case *time.Time:
		var seconds float64
		switch {
		case json.Unmarshal(raw, &seconds) == nil && math.Abs(seconds) < maxSeconds:
			*to = time.UnixMilli(int64(seconds * 1000))
		case json.Unmarshal(raw, to) != nil:
			return invalid("datetime_invalid", "Input should be a valid time", "filter", key)
		}
	case *store.Order:
		if json.Unmarshal(raw, to) != nil {
			return wrong
		}
		return checkOrder(*to, "filter", key)
	default:
		if json.Unmarshal(raw, to) != nil {
			return wrong
		}
	}
	return nil
}

// set lets a pointer point to a new value.
func set[T any](to **T) *T {
	*to = new(T)
	return *to
}

func checkOrder(order store.Order, path ...any) error {
	if order.Valid() {
		return nil
	}
	return invalid("enum", "Input should be +createdAt, -createdAt, +updatedAt or -updatedAt", path...)
}
