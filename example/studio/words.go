package main

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// refusal is an error for a person.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Field is the id of the form's field that must be changed, "" for none.
	Field string `json:"field,omitempty"`

	status int
}

// texts are for errors that no change of the form mends; others have a text of their own.
var texts = map[fault.Code]string{
	fault.NetworkError:      "The service can't be reached. Check that it is running, then try again.",
	fault.Timeout:           "The service does not answer. Try again.",
	fault.RateLimited:       "The service gets too many requests. Wait a minute, then try again.",
	fault.Unauthorized:      "The service does not accept the account's secret. Start the studio again with the line of the service that is running.",
	fault.NotFound:          "It does not exist any more. Reload the page.",
	fault.AgentNotFound:     "The agent does not exist any more. Reload the page.",
	fault.IntellectNotFound: "The agent has no instructions any more, so it can't be edited. Delete it, and build another one.",
	fault.ProtectedResource: "The agent is in production. Remove its tag before you delete it.",
}

// fields are the fields of the form, by the beginning of an error's text. The text after a
// beginning that ends in a colon is about the value alone.
var fields = []struct{ text, field, label string }{
	{"DisplayName: ", "name", ""},
	{"opening_phrase: ", "opening", "The opening line can't be used: "},
	{"base_directive: ", "directive", "The instructions can't be used: "},
	{"knowledge: ", "knowledge", ""},
	{"config.description ", "tool-description", "When to use the tool "},
	{"the name of a tool ", "tool-name", ""},
}

// inWords turns an error into one for a person.
func inWords(err error) refusal {
	failed := fault.From(err)
	r := refusal{Code: string(failed.Code), Message: failed.Message(), status: http.StatusBadGateway}
	switch failed.Code {
	case fault.BadRequest, fault.PromptLintFailed, fault.Conflict:
		r.status = http.StatusBadRequest
	case fault.NotFound, fault.AgentNotFound:
		r.status = http.StatusNotFound
	}
	for _, f := range fields {
		if rest, ok := strings.CutPrefix(r.Message, f.text); ok {
			r.Field = f.field
			switch {
			case f.label != "":
				r.Message = f.label + rest
			case strings.HasSuffix(f.text, ": "):
				r.Message = rest
			}
			break
		}
	}
	if text := texts[failed.Code]; text != "" {
		r.Message = text
	}
	first, n := utf8.DecodeRuneInString(r.Message)
	r.Message = string(unicode.ToUpper(first)) + strings.TrimRight(r.Message[n:], ".") + "."
	return r
}
