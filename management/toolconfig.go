package management

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Types of a tool (service.md, "Tool"; wire-protocol §9.8).
const (
	// ToolAPI is an HTTP request that the service makes.
	ToolAPI = "api"
	// ToolCSV looks up rows of a table.
	ToolCSV = "csv"
	// ToolCode runs code on the service.
	ToolCode = "code"
	// ToolClient runs in the page.
	ToolClient = "client"
)

var toolTypes = []string{ToolAPI, ToolCSV, ToolCode, ToolClient}

// Limits of the time that the model waits for a tool's answer, in seconds
// (wire-protocol §9.8).
const (
	DefaultToolTimeout = 30
	MinToolTimeout     = 1
	MaxToolTimeout     = 120
)

// ToolConfig is what a tool does. service.md does not show its form; docs/management.md
// describes it. Build one with [APITool], [CSVTool], [CodeTool] or [ClientTool].
type ToolConfig struct {
	// Type is api, csv, code or client.
	Type string `json:"type"`
	// Description tells the model what the tool is for; required.
	Description string `json:"description"`
	// Parameters is the JSON Schema of the arguments, an object; empty means none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// WaitForResponse makes the turn wait for the result; nil means true.
	WaitForResponse *bool `json:"wait_for_response,omitempty"`
	// TimeoutSeconds is how long the turn waits: 1 to 120, 0 means 30.
	TimeoutSeconds int `json:"timeout_seconds,omitempty"`

	// Method, URL, Headers and Body are the request of an api tool. URL, header values
	// and Body are templates over the arguments, request_vars, sys__* and secrets.
	Method  string            `json:"method,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	// ResponseMapping picks values of the JSON reply of an api tool: name to path, as in
	// "$.data[0].email", see [ApplyResponseMapping]. Empty means the whole reply.
	ResponseMapping map[string]string `json:"response_mapping,omitempty"`

	// CSV is the table of a csv tool, with a line of headers.
	CSV string `json:"csv,omitempty"`

	// Code is the program of a code tool.
	Code string `json:"code,omitempty"`
}

// Waits reports whether the turn waits for the tool's result.
func (c *ToolConfig) Waits() bool { return c.WaitForResponse == nil || *c.WaitForResponse }

// Param is an argument of a tool, for the builders.
type Param struct {
	Name string
	// Type is string, number, integer, boolean, array or object; "" means string.
	Type        string
	Description string
	Required    bool
	// Enum are the only values allowed; empty allows all.
	Enum []string
}

var paramTypes = []string{"string", "number", "integer", "boolean", "array", "object"}

// schema is the JSON Schema of params, nil without any. Its properties are in the order
// of params, which is the order in which the model reads them.
func schema(params []Param) json.RawMessage {
	if len(params) == 0 {
		return nil
	}
	var properties bytes.Buffer
	required := []string{}
	for n, p := range params {
		if n > 0 {
			properties.WriteByte(',')
		}
		property := struct {
			Type        string   `json:"type"`
			Description string   `json:"description,omitempty"`
			Enum        []string `json:"enum,omitempty"`
		}{p.Type, p.Description, p.Enum}
		if property.Type == "" {
			property.Type = "string"
		}
		properties.Write(mustJSON(p.Name))
		properties.WriteByte(':')
		properties.Write(mustJSON(property))
		if p.Required {
			required = append(required, p.Name)
		}
	}
	text := `{"type":"object","properties":{` + properties.String() + `}`
	if len(required) > 0 {
		text += `,"required":` + string(mustJSON(required))
	}
	return json.RawMessage(text + `}`)
}

// mustJSON encodes texts and structs of texts, which always have a JSON form.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("management: " + err.Error())
	}
	return text
}

// ClientTool returns a tool that runs in the page; the turn waits for the page's response.
func ClientTool(description string, params ...Param) ToolConfig {
	return ToolConfig{Type: ToolClient, Description: description, WaitForResponse: new(true), Parameters: schema(params)}
}

// APITool returns a tool for which the service sends a request. method "" means GET.
func APITool(description, method, url string, params ...Param) ToolConfig {
	if method == "" {
		method = "GET"
	}
	return ToolConfig{
		Type: ToolAPI, Description: description, WaitForResponse: new(true), Method: method, URL: url, Parameters: schema(params),
	}
}

// CSVTool returns a tool that looks up rows of a table, whose first line has the names of
// its columns.
func CSVTool(description, table string, params ...Param) ToolConfig {
	return ToolConfig{Type: ToolCSV, Description: description, WaitForResponse: new(true), CSV: table, Parameters: schema(params)}
}

// CodeTool returns a tool that runs code on the service. The local service stores it, but
// refuses to run it.
func CodeTool(description, code string, params ...Param) ToolConfig {
	return ToolConfig{Type: ToolCode, Description: description, WaitForResponse: new(true), Code: code, Parameters: schema(params)}
}

var (
	toolNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	methods   = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
)

// ValidateTool checks a tool without a request. The error is bad_request, invalid_url
// for the address of an api tool, or bad_jsonpath for a path of its response mapping.
func ValidateTool(name string, c ToolConfig) error {
	return firstError(checkToolName(name), c.check())
}

func checkToolName(name string) error {
	if !toolNames.MatchString(name) {
		return badRequest("the name of a tool must be 1 to 64 letters, digits, _ and -, and begin with a letter or _")
	}
	return nil
}

func (c *ToolConfig) check() error {
	if err := oneOf("config.type", c.Type, toolTypes); err != nil {
		return err
	}
	if err := required("config.description", c.Description); err != nil {
		return err
	}
	if c.TimeoutSeconds != 0 && (c.TimeoutSeconds < MinToolTimeout || c.TimeoutSeconds > MaxToolTimeout) {
		return badRequest("config.timeout_seconds must be from " + strconv.Itoa(MinToolTimeout) + " to " + strconv.Itoa(MaxToolTimeout) + " seconds")
	}
	if err := checkParameters(c.Parameters); err != nil {
		return err
	}
	switch c.Type {
	case ToolAPI:
		return c.checkAPI()
	case ToolCSV:
		return required("config.csv", c.CSV)
	case ToolCode:
		return required("config.code", c.Code)
	}
	return nil
}

func (c *ToolConfig) checkAPI() error {
	if err := oneOf("config.method", c.Method, methods); err != nil {
		return err
	}
	// A host that comes from an argument would let the model choose where secrets go.
	scheme, rest, _ := strings.Cut(c.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	if strings.Contains(scheme, "{{") || strings.Contains(host, "{{") {
		return fault.New(fault.InvalidURL, "config.url must begin with a scheme and a host that are not variables")
	}
	var plain strings.Builder
	pieces, open := parseTemplate(c.URL)
	if open >= 0 {
		return fault.New(fault.InvalidURL, "config.url: the braces {{ and }} must come in pairs")
	}
	for _, p := range pieces {
		if p.ref != nil {
			plain.WriteString("x")
			continue
		}
		plain.WriteString(p.text)
	}
	if err := httpURL("config.url", plain.String()); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if !headerNames.MatchString(name) || strings.ContainsAny(c.Headers[name], "\r\n") {
			return badRequest("config.headers: " + strconv.Quote(name) + " must be a header with a value of one line")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.ResponseMapping)) {
		if _, err := parsePath(c.ResponseMapping[name]); err != nil {
			return err
		}
	}
	return nil
}

var headerNames = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// parameters is the part of a JSON Schema that is checked.
type parameters struct {
	Type       string                     `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func checkParameters(text json.RawMessage) error {
	if len(text) == 0 {
		return nil
	}
	var p parameters
	if json.Unmarshal(text, &p) != nil || p.Type != "object" {
		return badRequest(`config.parameters must be the JSON Schema of an object: {"type":"object","properties":{…}}`)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		var property struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(p.Properties[name], &property) != nil {
			return badRequest("config.parameters: the property " + strconv.Quote(name) + " must be an object")
		}
		if property.Type != "" {
			if err := oneOf("config.parameters: the type of "+strconv.Quote(name), property.Type, paramTypes); err != nil {
				return err
			}
		}
	}
	for _, name := range p.Required {
		if _, ok := p.Properties[name]; !ok {
			return badRequest("config.parameters: the required " + strconv.Quote(name) + " must be one of the properties")
		}
	}
	return nil
}

// FindingClientTool is a client tool that a model or a page can hardly use.
const FindingClientTool = "client_tools_not_ready"

// ClientToolReadiness reports what prevents a client tool from working well in a page: a
// configuration that [ValidateTool] refuses, or arguments without a type. It returns nil
// without findings, and for tools of other types.
func ClientToolReadiness(name string, c ToolConfig) []Finding {
	if c.Type != ToolClient {
		return nil
	}
	if err := ValidateTool(name, c); err != nil {
		return []Finding{{Code: FindingClientTool, Severity: SeverityError, Detail: fault.From(err).Message()}}
	}
	var findings []Finding
	var p parameters
	_ = json.Unmarshal(c.Parameters, &p) // ValidateTool has read it
	for _, property := range slices.Sorted(maps.Keys(p.Properties)) {
		var typed struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(p.Properties[property], &typed)
		if typed.Type == "" {
			findings = append(findings, Finding{
				Code: FindingClientTool, Severity: SeverityWarning,
				Field: "config.parameters.properties." + property, Detail: "the argument " + property + " has no type",
			})
		}
	}
	return findings
}

// pathSteps are the steps of a JSON path: .name, ['name'] or [number].
var pathSteps = regexp.MustCompile(`^(?:\.([A-Za-z_][A-Za-z0-9_-]*)|\['([^'\]]+)'\]|\[(\d{1,9})\])`)

// parsePath reads a path: "$" and steps after it. A step is a string or an int.
func parsePath(path string) ([]any, error) {
	rest, ok := strings.CutPrefix(path, "$")
	var steps []any
	for ok && rest != "" {
		m := pathSteps.FindStringSubmatch(rest)
		if m == nil {
			ok = false
			break
		}
		switch {
		case m[3] != "":
			index, _ := strconv.Atoi(m[3]) // at most nine digits
			steps = append(steps, index)
		default:
			steps = append(steps, m[1]+m[2])
		}
		rest = rest[len(m[0]):]
	}
	if !ok {
		return nil, fault.New(fault.BadJSONPath, strconv.Quote(path)+" must be $ followed by .name, ['name'] or [number]")
	}
	return steps, nil
}

// ApplyResponseMapping applies a mapping to a JSON reply, as the service does for an api
// tool: each name of mapping gets the value at its path, null where there is none.
// The error is bad_jsonpath, or bad_request for a reply that is not JSON.
func ApplyResponseMapping(mapping map[string]string, reply []byte) (map[string]any, error) {
	var document any
	if err := json.Unmarshal(reply, &document); err != nil {
		return nil, badRequest("the reply must be JSON")
	}
	values := make(map[string]any, len(mapping))
	for _, name := range slices.Sorted(maps.Keys(mapping)) {
		steps, err := parsePath(mapping[name])
		if err != nil {
			return nil, err
		}
		values[name] = follow(document, steps)
	}
	return values, nil
}

func follow(value any, steps []any) any {
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}
