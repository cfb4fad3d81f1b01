package management

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/template"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Types of a tool (service.md, "Tool"; protocol §9.8).
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

var ToolTypes = []string{ToolAPI, ToolCSV, ToolCode, ToolClient}

// Limits of the time that the model waits for a tool's answer, in seconds
// (protocol §9.8).
const (
	DefaultToolTimeout = 30
	MinToolTimeout     = 1
	MaxToolTimeout     = 120
)

// Limits of the time that the service waits for the reply to an api tool's request, in
// seconds (management-api.md, F.7).
const (
	DefaultRequestTimeout = 10
	MaxRequestTimeout     = 120
)

// ArgTypes are the types of an argument (management-api.md, F.7).
var ArgTypes = converse.ArgTypes()

// argTypeOf maps the types of JSON Schema to [ArgTypes].
var argTypeOf = map[string]string{
	"": "str", "string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict",
}

// ToolConfig is what a tool does (management-api.md, F.7). Build one with [APITool],
// [CSVTool], [CodeTool] or [ClientTool]. One without a type is read too.
type ToolConfig struct {
	// Type is api, csv, code or client.
	Type string `json:"type"`
	// Description tells the model what the tool is for; required.
	Description string `json:"description"`
	// Args are the arguments.
	Args Params `json:"args,omitempty"`
	// DisplayName is the tool's name for people; "" is its name.
	DisplayName string `json:"display_name,omitempty"`
	// AddToHistory keeps the result in the thread for later turns; nil is the service's
	// default.
	AddToHistory *bool `json:"add_to_history,omitempty"`
	// WaitForResponse makes the turn wait for the result; nil means true.
	WaitForResponse *bool `json:"wait_for_response,omitempty"`
	// Timeout is how many seconds the turn waits for a client tool: 1 to 120, 0 means 30.
	Timeout int `json:"timeout,omitempty"`

	// Request is the request of an api tool, which needs exactly one of ResponseMapping,
	// ResponseTemplate and ResponseChapters.
	Request *ToolRequest `json:"request,omitempty"`
	// ResponseMapping picks values of the JSON reply: name to path, as in "data.0.email",
	// see [ApplyResponseMapping].
	ResponseMapping map[string]string `json:"response_mapping,omitempty"`
	// ResponseTemplate is a text over the fields of the reply.
	ResponseTemplate string `json:"response_template,omitempty"`
	// ResponseChapters reads the reply as a list of texts.
	ResponseChapters *ResponseChapters `json:"response_chapters,omitempty"`
	// VariablesMapping sets variables of the conversation: name to path.
	VariablesMapping map[string]string `json:"variables_mapping,omitempty"`

	// CSV is the table of a csv tool, with a line of headers.
	CSV string `json:"csv,omitempty"`

	// Code is the program of a code tool.
	Code string `json:"code,omitempty"`
}

// ToolRequest is the request of an api tool. URL, the values of Headers and Params, and Body
// are templates over args.NAME, request_vars, sys__* and secrets.NAME.
type ToolRequest struct {
	URL string `json:"url"`
	// Method is GET, POST, PUT, PATCH or DELETE; "" means GET.
	Method string `json:"method"`
	// Timeout is in seconds: 1 to 120, 0 means 10.
	Timeout int               `json:"timeout,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Params are the query of the address.
	Params ToolParams `json:"params,omitempty"`
	// Body is JSON with templates in its texts; empty is no body.
	Body           json.RawMessage     `json:"body,omitempty"`
	Authentication *ToolAuthentication `json:"authentication,omitempty"`
}

// ToolParams are the parameters of a query, by their names.
type ToolParams map[string]string

// UnmarshalJSON reads texts, and other values as their JSON, which is what the service sends.
func (p *ToolParams) UnmarshalJSON(data []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil || values == nil {
		return err
	}
	*p = ToolParams{}
	for name, value := range values {
		var text string
		if value[0] != '"' || json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		(*p)[name] = text
	}
	return nil
}

// ToolAuthentication lets the service get an access token for a request by OAuth 2.
type ToolAuthentication struct {
	// Type is oauth2, the default.
	Type     string `json:"type"`
	ClientID string `json:"client_id"`
	// ClientSecret names a secret of the intellect, as in "secrets.CRM"; required.
	ClientSecret string `json:"client_secret"`
	TokenURL     string `json:"token_url,omitempty"`
	AuthURL      string `json:"auth_url,omitempty"`
	Scopes       Tags   `json:"scopes,omitempty"`
	// Flow is the grant, such as client_credentials.
	Flow string `json:"flow,omitempty"`
}

// ResponseChapters reads a list of texts from a reply, by paths.
type ResponseChapters struct {
	// IterateOn is the path of the list; Content and Link are paths within each item.
	IterateOn string `json:"iterate_on"`
	Content   string `json:"content"`
	Link      string `json:"link,omitempty"`
}

// Waits reports whether the turn waits for the tool's result.
func (c *ToolConfig) Waits() bool { return c.WaitForResponse == nil || *c.WaitForResponse }

// UnmarshalJSON derives a type that is missing.
func (c *ToolConfig) UnmarshalJSON(data []byte) error {
	type plain ToolConfig
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	if c.Type == "" {
		switch {
		case c.Request != nil:
			c.Type = ToolAPI
		case c.CSV != "":
			c.Type = ToolCSV
		case c.Code != "":
			c.Type = ToolCode
		default:
			c.Type = ToolClient
		}
	}
	return nil
}

// Param is an argument of a tool. Its JSON is that within [Params].
type Param struct {
	Name string `json:"-"`
	// Description tells the model what to fill in; required.
	Description string `json:"prompt"`
	// Type is one of [ArgTypes], or a type of JSON Schema; "" means str.
	Type     string `json:"type"`
	Required bool   `json:"required,omitempty"`
	// Default is used when the model gives no value; nil is none.
	Default any `json:"default,omitempty"`
	// Enum are the only values allowed; empty allows all. They are sent as part of the
	// description, because the service has no field for them.
	Enum []string `json:"-"`
}

// Params are arguments, in JSON an object by their names in the same order, which is the
// order in which the model reads them.
type Params []Param

// MarshalJSON writes the object.
func (p Params) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for n, param := range p {
		if n > 0 {
			text.WriteByte(',')
		}
		wire := param
		wire.Type = param.argType()
		if len(param.Enum) > 0 {
			wire.Description += " (one of: " + strings.Join(param.Enum, ", ") + ")"
		}
		value, err := json.Marshal(wire)
		if err != nil {
			return nil, err
		}
		text.Write(mustJSON(param.Name))
		text.WriteByte(':')
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// UnmarshalJSON reads the object.
func (p *Params) UnmarshalJSON(data []byte) error {
	*p = nil
	d := json.NewDecoder(bytes.NewReader(data))
	first, err := d.Token()
	if err != nil || first == nil { // null
		return err
	}
	if first != json.Delim('{') {
		return &json.UnmarshalTypeError{Value: "non-object", Type: reflect.TypeFor[map[string]any]()}
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		param := Param{Name: name.(string)} // the name of a member is a text
		if err := d.Decode(&param); err != nil {
			return err
		}
		*p = append(*p, param)
	}
	return nil
}

func (p *Param) argType() string {
	if known, ok := argTypeOf[p.Type]; ok {
		return known
	}
	return p.Type
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
	return ToolConfig{Type: ToolClient, Description: description, WaitForResponse: new(true), Args: params}
}

// APITool returns a tool for which the service sends a request. method "" means GET. The
// tool needs a ResponseMapping, ResponseTemplate or ResponseChapters too.
func APITool(description, method, url string, params ...Param) ToolConfig {
	return ToolConfig{
		Type: ToolAPI, Description: description, WaitForResponse: new(true), Args: params,
		Request: &ToolRequest{URL: url, Method: cmp.Or(method, "GET")},
	}
}

// CSVTool returns a tool that looks up rows of a table, whose first line has the names of
// its columns.
func CSVTool(description, table string, params ...Param) ToolConfig {
	return ToolConfig{Type: ToolCSV, Description: description, WaitForResponse: new(true), CSV: table, Args: params}
}

// CodeTool returns a tool that runs code on the service.
func CodeTool(description, code string, params ...Param) ToolConfig {
	return ToolConfig{Type: ToolCode, Description: description, WaitForResponse: new(true), Code: code, Args: params}
}

var (
	toolNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	methods   = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
)

// ValidateTool checks a tool without a request. The error is bad_request, invalid_url
// for the address of an api tool, or bad_jsonpath for a path.
func ValidateTool(name string, c ToolConfig) error {
	return cmp.Or(checkToolName(name), c.check())
}

func checkToolName(name string) error {
	if !toolNames.MatchString(name) {
		return badRequest("the name of a tool must be 1 to 64 letters, digits and _, and begin with a letter or _")
	}
	return nil
}

func (c *ToolConfig) check() error {
	if err := oneOf("config.type", c.Type, ToolTypes); err != nil {
		return err
	}
	if err := required("config.description", c.Description); err != nil {
		return err
	}
	if c.Timeout != 0 && (c.Timeout < MinToolTimeout || c.Timeout > MaxToolTimeout) {
		return badRequest("config.timeout must be from " + strconv.Itoa(MinToolTimeout) + " to " + strconv.Itoa(MaxToolTimeout) + " seconds")
	}
	if err := c.Args.check(); err != nil {
		return err
	}
	switch c.Type {
	case ToolAPI:
		return c.checkAPI()
	case ToolCSV:
		header, _, _ := strings.Cut(c.CSV, "\n")
		return required("config.csv", strings.TrimSpace(header))
	case ToolCode:
		return required("config.code", c.Code)
	}
	return nil
}

func (p Params) check() error {
	names := make([]string, len(p))
	for n := range p {
		param := &p[n]
		names[n] = param.Name
		if err := cmp.Or(
			required("config.args: the name of an argument", param.Name), required("config.args: the description of "+strconv.Quote(param.Name), strings.TrimSpace(param.Description)),
			oneOf("config.args: the type of "+strconv.Quote(param.Name), param.argType(), ArgTypes),
		); err != nil {
			return err
		}
	}
	return uniqueIDs("config.args", names)
}

func (c *ToolConfig) checkAPI() error {
	if c.Request == nil {
		return badRequest("an api tool must have a request")
	}
	results := 0
	for _, given := range []bool{len(c.ResponseMapping) > 0, c.ResponseTemplate != "", c.ResponseChapters != nil} {
		if given {
			results++
		}
	}
	if err := c.Request.check(); err != nil {
		return err
	}
	if results != 1 {
		return badRequest("an api tool must have exactly one of response_mapping, response_template and response_chapters")
	}
	for _, mapping := range []map[string]string{c.ResponseMapping, c.VariablesMapping} {
		for _, name := range slices.Sorted(maps.Keys(mapping)) {
			if _, err := parsePath(mapping[name]); err != nil {
				return err
			}
		}
	}
	if chapters := c.ResponseChapters; chapters != nil {
		paths := []string{chapters.IterateOn, chapters.Content}
		if chapters.Link != "" {
			paths = append(paths, chapters.Link)
		}
		for _, path := range paths {
			if _, err := parsePath(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *ToolRequest) check() error {
	if err := oneOfOrEmpty("config.request.method", r.Method, methods); err != nil {
		return err
	}
	if r.Timeout < 0 || r.Timeout > MaxRequestTimeout {
		return badRequest("config.request.timeout must be from 1 to " + strconv.Itoa(MaxRequestTimeout) + " seconds")
	}
	if len(r.Body) > 0 && !json.Valid(r.Body) {
		return badRequest("config.request.body must be JSON")
	}
	if err := checkTemplateURL("config.request.url", r.URL); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if !headerNames.MatchString(name) || strings.ContainsAny(r.Headers[name], "\r\n") {
			return badRequest("config.request.headers: " + strconv.Quote(name) + " must be a header with a value of one line")
		}
	}
	return r.Authentication.check()
}

// checkTemplateURL refuses an address whose host is a variable: a host that comes from an
// argument would let the model choose where secrets go.
func checkTemplateURL(field, address string) error {
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	if strings.Contains(scheme, "{{") || strings.Contains(host, "{{") {
		return fault.New(fault.InvalidURL, field+" must begin with a scheme and a host that are not variables")
	}
	if _, open := template.Parse(address); open >= 0 {
		return fault.New(fault.InvalidURL, field+": the braces {{ and }} must come in pairs")
	}
	return httpURL(field, template.Render(address, func(template.Piece, int) string { return "x" }))
}

func (a *ToolAuthentication) check() error {
	switch {
	case a == nil:
		return nil
	case a.Type != "" && a.Type != oauth2:
		return badRequest("config.request.authentication.type must be " + oauth2)
	case a.ClientID == "":
		return badRequest("config.request.authentication must have a client_id")
	case !bareRef.MatchString(a.ClientSecret):
		return badRequest("config.request.authentication.client_secret must name a secret, as in secrets.NAME")
	case a.TokenURL != "":
		return checkTemplateURL("config.request.authentication.token_url", a.TokenURL)
	}
	return nil
}

const oauth2 = "oauth2"

// wire returns the configuration as it is sent: with the tool's name and the type of its
// authentication.
func (c ToolConfig) wire(name string) any {
	type plain ToolConfig
	if r := c.Request; r != nil {
		request := *r
		request.Method = cmp.Or(r.Method, "GET")
		request.Timeout = cmp.Or(r.Timeout, DefaultRequestTimeout)
		if a := r.Authentication; a != nil {
			authentication := *a
			authentication.Type = oauth2
			request.Authentication = &authentication
		}
		c.Request = &request
	}
	return struct {
		Name string `json:"name,omitempty"`
		plain
	}{name, plain(c)}
}

var headerNames = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// FindingClientTool is a client tool that a model or a page can hardly use.
const FindingClientTool = "client_tools_not_ready"

// ClientToolReadiness reports what prevents a client tool from working well in a page: a
// configuration that [ValidateTool] refuses. It returns nil without findings, and for tools
// of other types.
func ClientToolReadiness(name string, c ToolConfig) []Finding {
	if c.Type != ToolClient {
		return nil
	}
	if err := ValidateTool(name, c); err != nil {
		return []Finding{{Code: FindingClientTool, Severity: SeverityError, Detail: fault.From(err).Message()}}
	}
	return nil
}

// ClientToolReadinessOf reports what prevents the client tools of an intellect from working:
// a capability by which the service answers with its own widgets in their place
// (management-api.md, F.7, clientToolReadiness).
func ClientToolReadinessOf(i *Intellect) []Finding {
	const experiences = "kaltura_genie_experiences"
	if len(i.ToolIDs) == 0 || i.Capabilities[experiences] == CapabilityOff {
		return nil
	}
	return []Finding{{
		Code: FindingClientTool, Severity: SeverityWarning, Field: "capabilities." + experiences,
		Detail: "client tools are called reliably only when the capability " + experiences + " is off",
	}}
}

// pathParts are the parts of a path, which dots separate (management-api.md, F.7, "path syntax").
var pathParts = regexp.MustCompile(`^[^\s$.\[\]]+$`)

// parsePath reads a path: names and indexes that dots separate.
func parsePath(path string) ([]string, error) {
	steps := strings.Split(path, ".")
	if slices.ContainsFunc(steps, func(step string) bool { return !pathParts.MatchString(step) }) {
		return nil, fault.New(fault.BadJSONPath, strconv.Quote(path)+" must be names and indexes with dots between them, as in data.0.email")
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

func follow(value any, steps []string) any {
	for _, step := range steps {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(v) {
				return nil
			}
			value = v[n]
		default:
			return nil
		}
	}
	return value
}
