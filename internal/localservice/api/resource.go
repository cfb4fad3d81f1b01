package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Limits of a partner's records, besides the size of a body.
const (
	maxName = 200 // characters of a name
	maxRefs = 500 // entries of a list of ids or tags
)

// manageAgentHost is manage for the agent host, which refuses bad input with 400 where the
// conversation host uses 422 (service.md, Errors).
func (s *server) manageAgentHost(mux routes, path string, handle func(*call) (any, error)) {
	s.manage(mux, path, func(c *call) (any, error) {
		reply, err := handle(c)
		return reply, badInput(err)
	})
}

// badInput returns a 422 as a 400, and other errors as they are.
func badInput(err error) error {
	var refused *apiError
	if errors.As(err, &refused) && refused.wrong != nil {
		return &apiError{status: http.StatusBadRequest, body: refused.body, text: refused.text}
	}
	return err
}

// titled is an exception that clients identify by its title (service.md, Avatars).
func titled(title string) error {
	return &apiError{status: http.StatusOK, text: title, body: map[string]any{
		"objectType": "KalturaAPIException", "code": title, "title": title, "message": title, "args": map[string]string{},
	}}
}

// fields is the body of a create or an update: the fields of a record to set.
type fields map[string]json.RawMessage

// take reads a field that does not belong to the record and removes it.
func (f fields) take(key string, v any) error {
	raw, ok := f[key]
	delete(f, key)
	if !ok || string(raw) == "null" {
		return missing(key)
	}
	if json.Unmarshal(raw, v) != nil {
		return invalid("type_error", "Input is of the wrong type", key)
	}
	return nil
}

// has reports whether a field is set, and not to null.
func (f fields) has(key string) bool {
	raw, ok := f[key]
	return ok && string(raw) != "null"
}

// need refuses a body in which one of the fields is missing.
func (f fields) need(keys ...string) error {
	for _, key := range keys {
		if !f.has(key) {
			return missing(key)
		}
	}
	return nil
}

// dropReadOnly removes what only the service sets, and which every kind of record has, and more
// of that from the body of a write: clients write back what they have read.
func (f fields) dropReadOnly(more ...string) {
	for _, key := range append([]string{"partner_id", "created_at", "updated_at"}, more...) {
		delete(f, key)
	}
}

// overlay returns old with the fields of f in place of its own. Each is replaced as a
// whole; null resets it to its value in blank. A field that T does not have is refused.
func overlay[T any](old, blank T, f fields) (T, error) {
	known := reflect.VisibleFields(reflect.TypeFor[T]())
	for key, raw := range f { // encoding/json would also take a name in other letters
		if key == "_meta" || !f.has(key) {
			continue
		}
		i := slices.IndexFunc(known, func(field reflect.StructField) bool { return jsonName(field) == key })
		switch {
		case i < 0:
			return old, invalid("extra_forbidden", "Extra inputs are not permitted", key)
		case known[i].Type.Kind() == reflect.Slice && known[i].Type != reflect.TypeFor[json.RawMessage]() && hasNull(raw):
			return old, invalid("value_error", "Items should not be null", key)
		}
	}
	text, err := json.Marshal(old)
	if err != nil {
		return old, err
	}
	all := fields{}
	if err := json.Unmarshal(text, &all); err != nil {
		return old, err
	}
	maps.Copy(all, f)
	delete(all, "_meta") // of a record that a write returned
	for key, raw := range all {
		if string(raw) == "null" {
			delete(all, key)
		}
	}
	if text, err = json.Marshal(all); err != nil {
		return old, err
	}
	return blank, unmarshalStrict(text, &blank)
}

// hasNull reports whether there is a null in a list. encoding/json makes the zero value of it: in a list of
// ids that is 0, the id of the documents of the service.
func hasNull(raw json.RawMessage) bool {
	var list []json.RawMessage
	return json.Unmarshal(raw, &list) == nil && slices.ContainsFunc(list, func(item json.RawMessage) bool { return string(item) == "null" })
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// unmarshalStrict refuses fields that v does not have.
func unmarshalStrict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return invalid("extra_forbidden", "Extra inputs are not permitted", strings.Trim(name, `"`))
	}
	return unmarshal(text, v)
}

// listQuery is the body of every list. The conversation host and the media API page by
// pageIndex and pageSize, the agent host by offset and limit.
type listQuery struct {
	Filter  json.RawMessage `json:"filter"`
	OrderBy string          `json:"orderBy"` // of the agent host
	Pager   pager           `json:"pager"`
}

// ordered fills in the order and the page of a list of the agent host.
func (b *listQuery) ordered(q *store.Query) error {
	q.Order = store.Order(b.OrderBy)
	return cmp.Or(checkOrder(q.Order, "orderBy"), b.offset(q))
}

// offset fills in the page of a list of the agent host.
func (b *listQuery) offset(q *store.Query) error {
	q.Limit = threadPageSize
	if b.Pager.Offset != nil {
		q.Offset = *b.Pager.Offset
	}
	if b.Pager.Limit != nil {
		q.Limit = *b.Pager.Limit
	}
	switch {
	case q.Offset < 0:
		return invalid("greater_than_equal", "Input should be greater than or equal to 0", "pager", "offset")
	case q.Limit < 1 || q.Limit > maxPageSize:
		return outOfRange(1, maxPageSize, "pager", "limit")
	}
	return nil
}

// listed is the reply of a list of records.
func listed[T, V any](list []store.Record[T], total int, err error, view func(*store.Record[T]) V) (any, error) {
	return viewAll(list, total, func(r store.Record[T]) V { return view(&r) }), err
}

// viewed is the reply about one record.
func viewed[T, V any](r store.Record[T], err error, view func(*store.Record[T]) V) (any, error) {
	if err != nil {
		return nil, err
	}
	return view(&r), nil
}

// checkName refuses a name that is empty or too long.
func checkName(key, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return invalid("string_too_short", "String should have at least 1 character", key)
	case utf8.RuneCountInString(name) > maxName:
		return tooLong(maxName, key)
	}
	return nil
}

// checkRefs refuses a list with an empty entry, the same one twice, or too many.
func checkRefs(key string, list []string) error {
	if len(list) > maxRefs {
		return tooMany(maxRefs, key)
	}
	seen := map[string]bool{}
	for _, entry := range list {
		switch {
		case strings.TrimSpace(entry) == "":
			return invalid("string_too_short", "String should have at least 1 character", key)
		case seen[entry]:
			return invalid("value_error", "Items should be unique", key)
		}
		seen[entry] = true
	}
	return nil
}

// oneOf refuses a value of the field at path that is not among the allowed ones.
func oneOf[T ~string](value T, allowed []T, path ...any) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return invalid("enum", "Input should be one of: "+strings.Join(names, ", "), path...)
}
