package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
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

// intellectView is an intellect as clients see it. Its mcp_servers are a map by their
// names.
type intellectView struct {
	ID        int64 `json:"id"`
	PartnerID int64 `json:"partner_id"`
	store.Intellect
	MCPServers map[string]fields `json:"mcp_servers"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
	Meta       notes             `json:"_meta,omitzero"`
}

func viewIntellect(r *store.Record[store.Intellect]) intellectView {
	v := intellectView{ID: r.Number(), PartnerID: r.PartnerID, Intellect: r.Body, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	if v.Status == nil {
		v.Status = new(store.IntellectActive)
	}
	v.Secrets = map[string]string{}
	for name := range r.Body.Secrets {
		v.Secrets[name] = secretMask
	}
	v.MCPServers = map[string]fields{}
	for _, m := range r.Body.MCPServers {
		v.MCPServers[m.Name] = viewMCPServer(&m)
	}
	return v
}

// viewMCPServer is a server in the map mcp_servers (management-api.md, F.6, setMcpServers).
func viewMCPServer(m *store.MCPServer) fields {
	text, _ := json.Marshal(m) // texts always marshal
	view := fields{}
	_ = json.Unmarshal(text, &view) // it has just been written
	delete(view, "name")
	for _, key := range []string{"headers", "allowed_tools", "allowed_prompts", "allowed_resources"} {
		if view[key] == nil {
			view[key] = json.RawMessage("null")
		}
	}
	view["type"], view["transport"] = json.RawMessage(`"mcp"`), json.RawMessage(`"streamable_http"`)
	return view
}

// written is the reply of an add or an update: what is in the body and has no effect here
// is in its _meta.
func written(r store.Record[store.Intellect], err error, body fields) (any, error) {
	if err != nil {
		return nil, err
	}
	v := viewIntellect(&r)
	if forms := body["user_properties_forms"]; len(forms) > 0 && string(forms) != "null" {
		v.Meta.NoEffect = append(v.Meta.NoEffect, "user_properties_forms: no form is shown")
	}
	if *v.Status != store.IntellectActive {
		v.Meta.NoEffect = append(v.Meta.NoEffect, "status: the intellect answers nevertheless")
	}
	return v, nil
}

func (s *server) intellectRoutes(mux *http.ServeMux) {
	s.manage(mux, "/v1/intellect/add", withBody(s.intellectAdd))
	s.manage(mux, "/v1/intellect/list", withBody(s.intellectList))
	s.manage(mux, "/v1/intellect/update", withBody(s.intellectUpdate))
	s.partnerConfigRoutes(mux)
	s.manage(mux, "/v1/intellect/get", withNumber(func(c *call, id string) (any, error) {
		r, err := s.Store.Intellects().Get(c.ctx(), c.claims.PartnerID, id)
		return viewed(r, err, viewIntellect)
	}))
	s.manage(mux, "/v1/intellect/delete", withNumber(func(c *call, id string) (any, error) {
		return nil, s.Store.Intellects().Delete(c.ctx(), c.claims.PartnerID, id)
	}))
}

// withNumber returns a handler that decodes a body whose id is a number.
func withNumber(handle func(c *call, id string) (any, error)) func(*call) (any, error) {
	return withBody(func(c *call, body struct {
		ID *int64 `json:"id"`
	},
	) (any, error) {
		if body.ID == nil {
			return nil, missing("id")
		}
		return handle(c, strconv.FormatInt(*body.ID, 10))
	})
}

func (s *server) intellectList(c *call, body listQuery) (any, error) {
	var q store.Query
	if err := body.indexed(&q); err != nil {
		return nil, err
	}
	if err := newFilter(body.Filter, "").done(); err != nil {
		return nil, err
	}
	list, total, err := s.Store.Intellects().List(c.ctx(), c.claims.PartnerID, q)
	return listed(list, total, err, viewIntellect)
}

// newIntellect makes an intellect from its fields, without storing it.
func (s *server) newIntellect(c *call, body fields) (store.Intellect, error) {
	blank := store.NewIntellect()
	blank.Status = new(store.IntellectPending)
	in, err := setIntellect(blank, body)
	if err == nil {
		err = s.checkSkillIDs(c, in.SkillIDs)
	}
	return in, err
}

// addIntellect stores an intellect that is part of another request, and returns its id.
func (s *server) addIntellect(c *call, in store.Intellect) (int64, error) {
	r, err := s.Store.Intellects().Create(c.ctx(), c.claims.PartnerID, in)
	return r.Number(), err
}

func (s *server) intellectAdd(c *call, body fields) (any, error) {
	in, err := s.newIntellect(c, body)
	if err != nil {
		return nil, err
	}
	r, err := s.Store.Intellects().Create(c.ctx(), c.claims.PartnerID, in)
	return written(r, err, body)
}

func (s *server) intellectUpdate(c *call, body fields) (any, error) {
	var number int64
	if err := body.take("id", &number); err != nil {
		return nil, err
	}
	id := strconv.FormatInt(number, 10)
	if _, attaches := body["skill_ids"]; attaches { // outside the transaction: it reads other records
		in, err := setIntellect(store.NewIntellect(), fields{"skill_ids": body["skill_ids"]})
		if err == nil {
			err = s.checkSkillIDs(c, in.SkillIDs)
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := s.Store.Intellects().Update(c.ctx(), c.claims.PartnerID, id, func(in *store.Intellect) (err error) {
		*in, err = setIntellect(*in, body)
		return err
	})
	return written(r, err, body)
}

// checkSkillIDs refuses skills that do not exist or belong to another partner
// (service.md, Skills).
func (s *server) checkSkillIDs(c *call, refs []store.SkillRef) error {
	ids := make([]string, len(refs))
	for i, ref := range refs {
		ids[i] = ref.ID
	}
	found, err := s.Store.Skills().Usable(c.ctx(), c.claims.PartnerID, ids)
	if err == nil && len(found) < len(ids) {
		err = problem(http.StatusForbidden, "a skill of skill_ids does not exist or may not be used")
	}
	return err
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

// readOnly are fields of an intellect's record that are left out of a write, because
// clients write back what they have read.
var readOnly = []string{"partner_id", "user_id", "created_at", "updated_at", "_meta"}

// intellectFields returns the fields of a write in the form in which they are stored.
func intellectFields(body fields) (fields, error) {
	stored := maps.Clone(body)
	for _, key := range readOnly {
		delete(stored, key)
	}
	if text := body["mcp_servers"]; bytes.HasPrefix(text, []byte("{")) {
		list, err := listMCPServers(text)
		if err != nil {
			return nil, err
		}
		stored["mcp_servers"] = list
	}
	if text := body["user_properties_forms"]; len(text) > 0 && string(text) != "null" {
		var forms []fields
		if err := unmarshalIn("user_properties_forms", text, &forms); err != nil {
			return nil, err
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

// listMCPServers turns the map mcp_servers into the list that is stored, by their names.
func listMCPServers(text json.RawMessage) (json.RawMessage, error) {
	servers := map[string]fields{}
	if err := unmarshalIn("mcp_servers", text, &servers); err != nil {
		return nil, err
	}
	list := []fields{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		server := fields{}
		for key, value := range servers[name] {
			if string(value) != "null" && key != "type" && key != "transport" {
				server[key] = value
			}
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		server["name"] = quoted
		list = append(list, server)
	}
	return json.Marshal(list)
}

func checkIntellect(in *store.Intellect) error {
	errs := []error{
		oneOf("type", in.Type, store.InternalIntellect),
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
	return errors.Join(errs...)
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
		if !slices.Contains(skillModes, ref.Mode) {
			return invalid("enum", "Input should be one of: "+strings.Join(skillModes, ", "), "skill_ids", i, "mode")
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
		return invalid("enum", "Input should be one of: "+strings.Join(thinkingLevels, ", "), "model_configuration", "thinking_level")
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
		return invalid("enum", "Input should be one of: "+strings.Join(summaryContentTypes, ", "), "avatar_summary_config", "content_type")
	}
	for key := range c.Analysis {
		if !variableName.MatchString(key) {
			return invalid("value_error", "A key should have letters, digits and _ only", "avatar_summary_config", "analysis", key)
		}
	}
	for _, name := range brain.Names(c.Template) {
		if _, ok := c.Analysis[name]; !ok && (len(c.Analysis) > 0 || name != "summary") {
			return invalid("value_error", fmt.Sprintf("{{ %s }} should be a key of the analysis", name), "avatar_summary_config", "template")
		}
	}
	return nil
}

func checkMCPServers(servers []store.MCPServer) error {
	for i, m := range servers {
		u, err := url.Parse(m.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return invalid("url_scheme", "Input should be an http or https address", "mcp_servers", i, "url")
		}
		if m.Name == "" {
			return missing("mcp_servers", i, "name")
		}
	}
	return nil
}
