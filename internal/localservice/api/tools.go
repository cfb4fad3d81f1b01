package api

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/toolrun"
)

// toolName matches the function names that models accept.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (s *server) tools() *resource[store.Tool] {
	return &resource[store.Tool]{
		records: store.ToolRecords(s.Store), view: viewConversationHost[store.Tool], needs: []string{"name", "config"}, set: setTool,
		query: paged("ToolListFilter", false), noEffect: unusedOfTool,
	}
}

// unusedOfTool says what of a tool has no effect.
func unusedOfTool(t *store.Tool, _ fields) (why []string) {
	if t.Config.DisplayName != "" {
		why = append(why, "display_name: the tool is shown under its name")
	}
	if t.Config.AddToHistory != nil {
		why = append(why, "add_to_history: results are not part of later turns")
	}
	return why
}

// setTool applies fields to a tool and checks the result. By default the turn waits for
// the tool's result.
func setTool(old store.Tool, body fields) (store.Tool, error) {
	tool, err := overlay(old, store.Tool{Config: store.ToolConfig{WaitForResponse: true}}, body)
	if err != nil {
		return tool, err
	}
	if !toolName.MatchString(tool.Name) {
		return tool, invalid("string_pattern_mismatch", "String should have 1 to 64 letters, digits, _ and -", "name")
	}
	if tool.Config.ToolName != "" { // renamed with the tool
		tool.Config.ToolName = tool.Name
	}
	tool.Config.Type = tool.Config.Kind()
	return tool, checkToolConfig(&tool.Config)
}

func checkToolConfig(t *store.ToolConfig) error {
	if err := oneOf(t.Type, []string{store.ClientTool, store.APITool, store.CodeTool, store.CSVTool}, "config", "type"); err != nil {
		return err
	}
	if _, err := t.Schema(); err != nil {
		return invalid("value_error", err.Error(), "config", "args")
	}
	switch {
	case !validTimeout(t.TimeoutSeconds):
		return outOfRange(store.MinToolTimeout, store.MaxToolTimeout, "config", "timeout")
	case t.Type == store.APITool && t.Request == nil:
		return missing("config", "request")
	case t.Type == store.APITool:
		return cmp.Or(checkRequest(t.Request), checkResult(t))
	case t.Type == store.CodeTool && t.Code == "":
		return missing("config", "code")
	case t.Type == store.CodeTool:
		if err := toolrun.CheckCode(t.Code); err != nil {
			return invalid("value_error", err.Error(), "config", "code")
		}
	case t.Type == store.CSVTool && t.CSV == "":
		return missing("config", "csv")
	}
	return nil
}

// validTimeout reports whether a tool may wait for so many seconds; 0 is the default.
func validTimeout(seconds int) bool {
	return seconds == 0 || seconds >= store.MinToolTimeout && seconds <= store.MaxToolTimeout
}

// responsePath matches a path in a reply: names and indexes that dots separate, without
// brackets, $ and spaces (management-api.md, F.7).
var responsePath = regexp.MustCompile(`^[^\s$.\[\]]+(?:\.[^\s$.\[\]]+)*$`)

// checkResult checks how the result of an api tool is made of the reply.
func checkResult(t *store.ToolConfig) error {
	ways := 0
	for _, given := range []bool{len(t.ResponseMapping) > 0, t.ResponseTemplate != "", t.ResponseChapters != nil} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return invalid("value_error", "Only one of response_mapping, response_template and response_chapters may be set", "config")
	}
	paths := slices.AppendSeq(slices.Collect(maps.Values(t.VariablesMapping)), maps.Values(t.ResponseMapping))
	if c := t.ResponseChapters; c != nil {
		paths = append(paths, c.IterateOn, c.Content)
		if c.Link != "" {
			paths = append(paths, c.Link)
		}
	}
	for _, path := range paths {
		if !responsePath.MatchString(path) {
			return invalid("value_error", "A path should be names and indexes with dots between them", "config")
		}
	}
	return nil
}

// checkRequest checks the request of a tool as far as it is known without values for the
// templates.
func checkRequest(r *store.ToolRequest) error {
	if r.URL == "" {
		return missing("config", "request", "url")
	}
	u, err := url.Parse(brain.Render(r.URL, nil))
	switch {
	case strings.HasPrefix(r.URL, "{{"): // known only when the tool runs
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return invalid("url_scheme", "Input should be an http or https address", "config", "request", "url")
	}
	if !validTimeout(r.Timeout) {
		return outOfRange(store.MinToolTimeout, store.MaxToolTimeout, "config", "request", "timeout")
	}
	if a := r.Authentication; a != nil {
		if _, named := strings.CutPrefix(a.ClientSecret, "secrets."); !named || a.ClientID == "" {
			return invalid("value_error", "An authentication should have a client_id, and a client_secret as secrets.NAME", "config", "request", "authentication")
		}
		if err := oneOf(a.Type, []string{"oauth2"}, "config", "request", "authentication", "type"); err != nil {
			return err
		}
	}
	if r.Method == "" {
		return nil
	}
	return oneOf(r.Method, []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, "config", "request", "method")
}
