package fetch

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Body is the body of a request, complete before the request starts, because not all
// browsers can stream one.
type Body struct {
	// ContentType becomes the content-type header, unless the request's
	// Header has one. Empty means that the request has no body.
	ContentType string
	Data        []byte
}

// JSON returns v as a JSON body.
func JSON(v any) (Body, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Body{}, fault.New(fault.BadRequest, "the body of the request must have a JSON form").Wrap(err)
	}
	return Body{"application/json", data}, nil
}

// Form returns a form-encoded body, its fields sorted by name.
func Form(values map[string]string) Body {
	fields := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fields = append(fields, url.QueryEscape(name)+"="+url.QueryEscape(values[name]))
	}
	return Body{"application/x-www-form-urlencoded", []byte(strings.Join(fields, "&"))}
}

// Bytes returns a body of any type, SDP for example.
func Bytes(contentType string, data []byte) Body { return Body{contentType, data} }
