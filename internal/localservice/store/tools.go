package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Types of a [ToolDef].
const (
	ClientTool = "client" // runs in the page
	APITool    = "api"    // an HTTP request of this service to another one
	CodeTool   = "code"   // JavaScript that runs in a sandbox of this service
	CSVTool    = "csv"    // looks up rows of a table
	MCPTool    = "mcp"    // of an MCP server, which lists it; it is not stored
)

// Limits of a tool's wait, in seconds (protocol §9.8).
const (
	DefaultToolTimeout = 30
	MinToolTimeout     = 1
	MaxToolTimeout     = 120
)

// ToolDef is a tool that the brain may call.
type ToolDef struct {
	Name string
	ToolConfig
	Parameters json.RawMessage // the JSON Schema of Args, or that of an MCP server
	Remote     *RemoteTool     // of an MCPTool
}

// RemoteTool is a tool of an MCP server.
type RemoteTool struct {
	Server MCPServer
	Name   string // the tool's name at the server
}

// ToolConfig describes what a tool does. Its JSON is that of the API (management-api.md, F.7).
type ToolConfig struct {
	ToolName        string          `json:"name,omitempty"` // that of the tool
	Type            string          `json:"type"`
	Description     string          `json:"description"`
	Args            json.RawMessage `json:"args,omitempty"` // by their names: prompt, type, required, default
	DisplayName     string          `json:"display_name,omitempty"`
	AddToHistory    *bool           `json:"add_to_history,omitempty"`
	WaitForResponse bool            `json:"wait_for_response"`
	TimeoutSeconds  int             `json:"timeout,omitempty"` // 0 means that of the request, or DefaultToolTimeout

	// Of an APITool. At most one of the mapping, the template and the chapters makes the
	// result of the reply; without them it is the whole reply.
	Request          *ToolRequest      `json:"request,omitempty"`
	ResponseMapping  map[string]string `json:"response_mapping,omitempty"`  // names to paths in the reply
	ResponseTemplate string            `json:"response_template,omitempty"` // over paths in the reply
	ResponseChapters *ResponseChapters `json:"response_chapters,omitempty"`
	VariablesMapping map[string]string `json:"variables_mapping,omitempty"`

	Code string `json:"code,omitempty"` // of a CodeTool
	CSV  string `json:"csv,omitempty"`  // of a CSVTool, with column names in the first line
}

// DefaultRequestTimeout is the time limit of a [ToolRequest] without one, in seconds.
const DefaultRequestTimeout = 10

// ToolRequest is the request of an APITool. URL, Headers, Params and the texts in Body are
// templates over args.NAME, the request variables, sys__* and secrets.
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

// Text returns the template of the body. One that is a JSON text stands for what is in it.
func (r *ToolRequest) Text() string {
	var text string
	if json.Unmarshal(r.Body, &text) == nil {
		return text
	}
	return string(r.Body)
}

// Kind returns the type of the tool; that of one without is derived from its fields.
func (t *ToolConfig) Kind() string {
	switch {
	case t.Type != "":
		return t.Type
	case t.Request != nil:
		return APITool
	case t.CSV != "":
		return CSVTool
	case t.Code != "":
		return CodeTool
	}
	return ClientTool
}

// Timeout is how long the brain waits for the tool's answer, never outside the protocol's
// limits.
func (t *ToolConfig) Timeout() time.Duration {
	seconds := t.TimeoutSeconds
	if seconds == 0 && t.Request != nil {
		seconds = cmp.Or(t.Request.Timeout, DefaultRequestTimeout)
	}
	return time.Duration(min(max(cmp.Or(seconds, DefaultToolTimeout), MinToolTimeout), MaxToolTimeout)) * time.Second
}

// jsonTypes maps the types of arguments to those of JSON Schema.
var jsonTypes = map[string]string{
	"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object",
}

// Schema makes a JSON Schema of the arguments, in their order; nil without arguments.
func (t *ToolConfig) Schema() (json.RawMessage, error) {
	if len(t.Args) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(t.Args))
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
		jsonType, known := jsonTypes[cmp.Or(arg.Type, "str")]
		if !known {
			return nil, fmt.Errorf("args.%s: the type should be one of: %s", name, strings.Join(converse.ArgTypes(), ", "))
		}
		property, err := json.Marshal(struct {
			Type        string          `json:"type"`
			Description string          `json:"description,omitempty"`
			Default     json.RawMessage `json:"default,omitempty"`
		}{jsonType, arg.Prompt, arg.Default})
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
