package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/template"
)

// secretMask stands for the value of a secret in replies. In an update it means that the
// value stays as it is.
const secretMask = "***"

// Values of the configuration that service.md does not list.
var (
	thinkingLevels      = []string{"none", "minimal", "low", "medium", "high"}
	summaryContentTypes = []string{"text", "markdown", "html", "json"}
	skillModes          = []string{store.SkillAdhoc, store.SkillAdhocSave, store.SkillPreloaded}
)

// variableName matches the name of a secret, or a key of an analysis.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// viewIntellect is an intellect as clients see it.
func viewIntellect(r *store.Record[store.Intellect]) any {
	visible := *r
	if visible.Body.Status == nil {
		visible.Body.Status = new(store.IntellectActive)
	}
	visible.Body.Secrets = map[string]string{}
	for name := range r.Body.Secrets {
		visible.Body.Secrets[name] = secretMask
	}
	return viewNumbered(&visible)
}

func (s *server) intellects() *resource[store.Intellect] {
	return &resource[store.Intellect]{
		records: store.Intellects(s.Store), view: viewIntellect, numbered: true, set: setIntellect, blank: pendingIntellect,
		query: paged("", false), noEffect: unusedOfIntellect,
	}
}

// pendingIntellect is a new intellect.
func pendingIntellect(*call) store.Intellect {
	in := store.NewIntellect()
	in.Status = new(store.IntellectPending)
	return in
}

// unusedOfIntellect says what of a write has no effect here.
func unusedOfIntellect(in *store.Intellect, body fields) (why []string) {
	if forms := body["user_properties_forms"]; len(forms) > 0 && string(forms) != "null" {
		why = append(why, "user_properties_forms: no form is shown")
	}
	if in.Status != nil && *in.Status != store.IntellectActive {
		why = append(why, "status: the intellect answers nevertheless")
	}
	return why
}

// setIntellect applies fields to an intellect and checks the result.
func setIntellect(old store.Intellect, body fields) (store.Intellect, error) {
	body, err := intellectFields(body)
	if err != nil {
		return old, err
	}
	in, err := overlay(old, store.NewIntellect(), body)
	if err != nil {
		return in, err
	}
	for name, value := range in.Secrets {
		if value != secretMask {
			continue
		}
		kept, ok := old.Secrets[name]
		if !ok {
			return in, invalid("value_error", secretMask+" keeps a value, and there is none", "secrets", name)
		}
		in.Secrets[name] = kept
	}
	return in, checkIntellect(&in)
}

// intellectFields returns the fields of a write in the form in which they are stored.
func intellectFields(body fields) (fields, error) {
	stored := maps.Clone(body)
	stored.dropReadOnly("user_id", "_meta")
	if text := body["user_properties_forms"]; len(text) > 0 && string(text) != "null" {
		var forms []fields
		if json.Unmarshal(text, &forms) != nil {
			return nil, invalid("type_error", "Input is of the wrong type", "user_properties_forms")
		}
		for _, form := range forms { // what the service adds (management-api.md, F.6)
			if form == nil {
				return nil, invalid("dict_type", "Input should be an object", "user_properties_forms")
			}
			if form["id"] == nil {
				form["id"] = json.RawMessage(strconv.Quote(store.UUID()))
			}
			for _, key := range []string{"title", "secondary_title"} {
				if form[key] == nil {
					form[key] = json.RawMessage(`""`)
				}
			}
		}
		text, err := json.Marshal(forms)
		if err != nil {
			return nil, err
		}
		stored["user_properties_forms"] = text
	}
	return stored, nil
}

func checkIntellect(in *store.Intellect) error {
	errs := []error{
		oneOf(in.Type, []string{store.InternalIntellect}, "type"),
		checkRefs("tags", in.Tags),
		checkPrompts(in.Prompts),
		checkRefs("tool_ids", in.ToolIDs),
		checkRefs("thread_start_tools", in.ThreadStartTools),
		checkRefs("starter_questions", in.Starters),
		checkSkillRefs(in.SkillIDs),
		checkModel(in.Model),
		checkSummary(in.Summary),
		checkMCPServers(in.MCPServers),
	}
	for name, state := range in.Capabilities {
		if !brain.ValidState(state) {
			errs = append(errs, invalid("enum", "Input should be on, off or disabled", "capabilities", name))
		}
	}
	for name, value := range in.Secrets {
		if !variableName.MatchString(name) || value == "" {
			errs = append(errs, invalid("value_error", "A secret needs a name of letters, digits and _, and a value", "secrets", name))
		}
	}
	if in.Status != nil && (*in.Status < store.IntellectDeleting || *in.Status > store.IntellectActive) {
		errs = append(errs, invalid("enum", "Input should be 0 (for deletion), 1 (pending) or 2 (active)", "status"))
	}
	for _, id := range in.KnowledgeIDs {
		if id < 0 {
			errs = append(errs, invalid("greater_than_equal", "Input should be greater than or equal to 0", "knowledge_ids"))
		}
	}
	if in.Script != "" {
		if _, err := brain.ParseScript([]byte(in.Script)); err != nil {
			errs = append(errs, invalid("value_error", err.Error(), "script"))
		}
	}
	return cmp.Or(errs...)
}

func checkPrompts(prompts []store.Prompt) error {
	for i, p := range prompts {
		if p.Type != "" && p.Type != store.CustomPrompt {
			return invalid("enum", "Input should be "+store.CustomPrompt, "prompts", i, "type")
		}
	}
	return nil
}

func checkSkillRefs(refs []store.SkillRef) error {
	var ids []string
	for i, ref := range refs {
		ids = append(ids, ref.ID)
		if err := oneOf(ref.Mode, skillModes, "skill_ids", i, "mode"); err != nil {
			return err
		}
		if strings.Contains(ref.Condition, "{{") {
			return invalid("value_error", "A condition is a bare expression, without {{ }}", "skill_ids", i, "condition")
		}
		if _, err := brain.Holds(ref.Condition, nil); err != nil {
			return invalid("value_error", err.Error(), "skill_ids", i, "condition")
		}
	}
	return checkRefs("skill_ids", ids)
}

func checkModel(m *store.ModelConfiguration) error {
	switch {
	case m == nil:
		return nil
	case strings.ContainsAny(m.ModelID, " \t\r\n"):
		return invalid("value_error", "Input should have no white space", "model_configuration", "model_id")
	case m.MaxOutputTokens < 0:
		return invalid("greater_than", "Input should be a positive number", "model_configuration", "max_output_tokens")
	case m.ThinkingLevel != "" && !slices.Contains(thinkingLevels, m.ThinkingLevel):
		return oneOf(m.ThinkingLevel, thinkingLevels, "model_configuration", "thinking_level")
	case m.Temperature != nil && (*m.Temperature < 0 || *m.Temperature > 1):
		return invalid("less_than_equal", "Input should be from 0 to 1", "model_configuration", "temperature")
	}
	return nil
}

func checkSummary(c *store.SummaryConfig) error {
	if c == nil {
		return nil
	}
	if c.ContentType != "" && !slices.Contains(summaryContentTypes, c.ContentType) {
		return oneOf(c.ContentType, summaryContentTypes, "avatar_summary_config", "content_type")
	}
	for key := range c.Analysis {
		if !variableName.MatchString(key) {
			return invalid("value_error", "A key should have letters, digits and _ only", "avatar_summary_config", "analysis", key)
		}
	}
	for _, name := range template.Names(c.Template) {
		if _, ok := c.Analysis[name]; !ok && (len(c.Analysis) > 0 || name != "summary") {
			return invalid("value_error", fmt.Sprintf("{{ %s }} should be a key of the analysis", name), "avatar_summary_config", "template")
		}
	}
	return nil
}

// checkMCPServers checks servers, and sets what is the same for all of them.
func checkMCPServers(servers map[string]store.MCPServer) error {
	for name, m := range servers {
		u, err := url.Parse(m.URL)
		switch {
		case name == "":
			return invalid("string_too_short", "A server needs a name", "mcp_servers")
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return invalid("url_scheme", "Input should be an http or https address", "mcp_servers", name, "url")
		case m.AllowedPrompts != nil || m.AllowedResources != nil:
			return invalid("value_error", "allowed_prompts and allowed_resources should be null: this service uses tools only", "mcp_servers", name)
		}
		m.Type, m.Transport = "mcp", "streamable_http"
		servers[name] = m
	}
	return nil
}
