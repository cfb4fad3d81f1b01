package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/toolrun"
)

// toolName matches the function names that models accept.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// toolView is a tool as clients see it.
type toolView struct {
	ID string `json:"id"`
	store.Tool
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func viewTool(r *store.Record[store.Tool]) toolView {
	return toolView{r.ID, r.Body, r.CreatedAt, r.UpdatedAt}
}

func (s *server) toolRoutes(mux *http.ServeMux) {
	s.manage(mux, "/v1/tool/add", withBody(s.toolAdd))
	s.manage(mux, "/v1/tool/update", withBody(s.toolUpdate))
	s.manage(mux, "/v1/tool/list", withBody(func(c *call, body listQuery) (any, error) {
		var q store.Query
		if err := body.indexed(&q); err != nil {
			return nil, err
		}
		if err := newFilter(body.Filter, "ToolListFilter").done(); err != nil {
			return nil, err
		}
		list, total, err := s.Store.Tools().List(c.ctx(), c.claims.PartnerID, q)
		return listed(list, total, err, viewTool)
	}))
	s.manage(mux, "/v1/tool/get", withID(func(c *call, id string) (any, error) {
		r, err := s.Store.Tools().Get(c.ctx(), c.claims.PartnerID, id)
		return viewed(r, err, viewTool)
	}))
	s.manage(mux, "/v1/tool/delete", withID(func(c *call, id string) (any, error) {
		return idRequest{id}, s.Store.Tools().Delete(c.ctx(), c.claims.PartnerID, id)
	}))
}

func (s *server) toolAdd(c *call, body fields) (any, error) {
	if err := body.need("name", "config"); err != nil {
		return nil, err
	}
	tool, err := setTool(store.Tool{}, body)
	if err != nil {
		return nil, err
	}
	r, err := s.Store.Tools().Create(c.ctx(), c.claims.PartnerID, tool)
	return viewed(r, err, viewTool)
}

func (s *server) toolUpdate(c *call, body fields) (any, error) {
	var id string
	if err := body.take("id", &id); err != nil {
		return nil, err
	}
	r, err := s.Store.Tools().Update(c.ctx(), c.claims.PartnerID, id, func(tool *store.Tool) (err error) {
		*tool, err = setTool(*tool, body)
		return err
	})
	return viewed(r, err, viewTool)
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
	return tool, checkToolConfig(&tool.Config)
}

func checkToolConfig(t *store.ToolConfig) error {
	if err := oneOf("config.type", t.Type, store.ClientTool, store.APITool, store.CodeTool, store.CSVTool); err != nil {
		return err
	}
	var schema map[string]any
	switch {
	case t.TimeoutSeconds != 0 && (t.TimeoutSeconds < store.MinToolTimeout || t.TimeoutSeconds > store.MaxToolTimeout):
		return invalid("less_than_equal", "Input should be from 1 to 120", "config", "timeout_seconds")
	case len(t.Parameters) > 0 && (json.Unmarshal(t.Parameters, &schema) != nil || schema == nil):
		return invalid("dict_type", "Input should be a JSON Schema of an object", "config", "parameters")
	case t.Type == store.APITool:
		return checkRequest(t)
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

// checkRequest checks the address and the method of a tool's request as far as they are
// known without values for the templates.
func checkRequest(t *store.ToolConfig) error {
	if t.URL == "" {
		return missing("config", "url")
	}
	u, err := url.Parse(brain.Render(t.URL, nil))
	switch {
	case strings.HasPrefix(t.URL, "{{"): // known only when the tool runs
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return invalid("url_scheme", "Input should be an http or https address", "config", "url")
	}
	if t.Method == "" {
		return nil
	}
	return oneOf("config.method", strings.ToUpper(t.Method), "GET", "POST", "PUT", "PATCH", "DELETE")
}
