package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// toolForm are the fields of a [ToolConfig] in the form of the public client
// (management-api.md, F.7). A record keeps the form in which it was written; [ToolConfig.Plain]
// turns this one into the other.
type toolForm struct {
	ToolName     string          `json:"name,omitempty"` // that of the tool
	Args         json.RawMessage `json:"args,omitempty"` // by their names: prompt, type, required, default
	DisplayName  string          `json:"display_name,omitempty"`
	AddToHistory *bool           `json:"add_to_history,omitempty"`
	Wait         int             `json:"timeout,omitempty"` // in seconds; 0 means DefaultToolTimeout

	// Of an APITool. At most one of the mapping, the template and the chapters makes the
	// result of the reply.
	Request          *ToolRequest      `json:"request,omitempty"`
	ResponseTemplate string            `json:"response_template,omitempty"` // over paths in the reply
	ResponseChapters *ResponseChapters `json:"response_chapters,omitempty"`
	VariablesMapping map[string]string `json:"variables_mapping,omitempty"`
}

// DefaultRequestTimeout is the time limit of a [ToolRequest] without one, in seconds.
const DefaultRequestTimeout = 10

// ToolRequest is the request of an APITool. URL, Headers, Params and the texts in Body are
// templates over args.NAME and what the other form has.
type ToolRequest struct {
	URL            string              `json:"url"`
	Method         string              `json:"method,omitempty"`  // "" means GET
	Timeout        int                 `json:"timeout,omitempty"` // seconds, 0 means DefaultRequestTimeout
	Headers        map[string]string   `json:"headers,omitempty"`
	Params         map[string]any      `json:"params,omitempty"` // of the address
	Body           json.RawMessage     `json:"body,omitempty"`
	Authentication *ToolAuthentication `json:"authentication,omitempty"`
}

// ToolAuthentication gets a token for a request by OAuth 2.
type ToolAuthentication struct {
	Type         string          `json:"type"` // oauth2
	ClientID     string          `json:"client_id"`
	ClientSecret string          `json:"client_secret"` // secrets.NAME
	TokenURL     string          `json:"token_url,omitempty"`
	AuthURL      string          `json:"auth_url,omitempty"`
	Scopes       json.RawMessage `json:"scopes,omitempty"` // a list, or a text with spaces
	Flow         string          `json:"flow,omitempty"`
}

// ScopeList returns the scopes.
func (a *ToolAuthentication) ScopeList() []string {
	var list []string
	var text string
	if json.Unmarshal(a.Scopes, &list) == nil {
		return list
	}
	_ = json.Unmarshal(a.Scopes, &text) // anything else is no scope
	return strings.Fields(text)
}

// ResponseChapters reads a list from a reply; its fields are paths.
type ResponseChapters struct {
	IterateOn string `json:"iterate_on"`
	Content   string `json:"content"`
	Link      string `json:"link,omitempty"`
}

// Kind returns the type of the tool; that of one without is derived from its fields.
func (t *ToolConfig) Kind() string {
	switch {
	case t.Type != "":
		return t.Type
	case t.Request != nil || t.URL != "":
		return APITool
	case t.CSV != "":
		return CSVTool
	case t.Code != "":
		return CodeTool
	}
	return ClientTool
}

// jsonTypes maps the types of arguments to those of JSON Schema.
var jsonTypes = map[string]string{
	"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object",
}

// ArgTypes are the types of arguments.
var ArgTypes = []string{"str", "int", "float", "bool", "list", "dict"}

// Plain returns the configuration with the fields that brains and tools work with. Error:
// arguments of another form.
func (t ToolConfig) Plain() (ToolConfig, error) {
	t.Type = t.Kind()
	if len(t.Args) > 0 && len(t.Parameters) == 0 {
		schema, err := schemaOf(t.Args)
		if err != nil {
			return t, err
		}
		t.Parameters = schema
	}
	if t.TimeoutSeconds == 0 {
		t.TimeoutSeconds = t.Wait
	}
	if r := t.Request; r != nil {
		t.URL, t.Method, t.Headers = r.URL, r.Method, r.Headers
		if t.Method == "" {
			t.Method = "GET"
		}
		if t.TimeoutSeconds == 0 {
			if t.TimeoutSeconds = r.Timeout; r.Timeout == 0 {
				t.TimeoutSeconds = DefaultRequestTimeout
			}
		}
		t.Body = string(r.Body)
		var text string
		if json.Unmarshal(r.Body, &text) == nil { // the body is a text itself
			t.Body = text
		}
	}
	return t, nil
}

// schemaOf makes a JSON Schema of arguments, in their order.
func schemaOf(args json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(args))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("args: should be an object")
	}
	var properties bytes.Buffer
	required := []string{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var arg struct {
			Prompt   string          `json:"prompt"`
			Type     string          `json:"type"`
			Required bool            `json:"required"`
			Default  json.RawMessage `json:"default"`
		}
		if err := d.Decode(&arg); err != nil {
			return nil, fmt.Errorf("args.%s: should be an object with prompt and type", name)
		}
		if arg.Type == "" {
			arg.Type = ArgTypes[0]
		}
		if !slices.Contains(ArgTypes, arg.Type) {
			return nil, fmt.Errorf("args.%s: the type should be one of: %s", name, strings.Join(ArgTypes, ", "))
		}
		property, err := json.Marshal(struct {
			Type        string          `json:"type"`
			Description string          `json:"description,omitempty"`
			Default     json.RawMessage `json:"default,omitempty"`
		}{jsonTypes[arg.Type], arg.Prompt, arg.Default})
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if properties.Len() > 0 {
			properties.WriteByte(',')
		}
		properties.Write(key)
		properties.WriteByte(':')
		properties.Write(property)
		if arg.Required {
			required = append(required, name.(string)) // the name of a member is a text
		}
	}
	return json.Marshal(map[string]any{"type": "object", "properties": json.RawMessage("{" + properties.String() + "}"), "required": required})
}
