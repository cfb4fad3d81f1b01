package fetch

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/json"
	"github.com/agentruntime/agentruntime/internal/weburl"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Body is the body of a request, complete before the request starts: a page
// can't send a body that is still growing.
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
		return Body{}, fault.New(fault.BadRequest, "the body of the request can't be written as JSON").Because(err)
	}
	return Body{"application/json", data}, nil
}

// Form returns a form-encoded body, its fields sorted by name.
func Form(values map[string]string) Body {
	fields := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fields = append(fields, weburl.Escape(name)+"="+weburl.Escape(values[name]))
	}
	return Body{"application/x-www-form-urlencoded", []byte(strings.Join(fields, "&"))}
}

// Bytes returns a body of any type, SDP for example.
func Bytes(contentType string, data []byte) Body { return Body{contentType, data} }

// Part is one part of a multipart body: a field, or a file when it has a
// FileName.
type Part struct {
	Name     string
	FileName string
	// ContentType is application/octet-stream by default, for files only.
	ContentType string
	Data        []byte
}

// Multipart returns a multipart/form-data body (RFC 7578). It is written here
// because mime/multipart would link package net into a page that needs none.
func Multipart(parts ...Part) Body {
	// math/rand is seeded by the system and can't be guessed from outside either;
	// crypto/rand would add 44 kB to the page after brotli.
	boundary := "agentruntime-" + strconv.FormatUint(rand.Uint64(), 36) + strconv.FormatUint(rand.Uint64(), 36)
	var b bytes.Buffer
	for _, part := range parts {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + escapeName(part.Name) + `"`)
		if part.FileName != "" {
			contentType := part.ContentType
			if contentType == "" {
				contentType = "application/octet-stream"
			}
			b.WriteString("; filename=\"" + escapeName(part.FileName) + "\"\r\nContent-Type: " + escapeName(contentType))
		}
		b.WriteString("\r\n\r\n")
		b.Write(part.Data)
		b.WriteString("\r\n")
	}
	b.WriteString("--" + boundary + "--\r\n")
	return Body{"multipart/form-data; boundary=" + boundary, b.Bytes()}
}

// nameEscaper writes names of parts as browsers do.
var nameEscaper = strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22")

func escapeName(s string) string { return nameEscaper.Replace(s) }
