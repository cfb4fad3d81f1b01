package management

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// HubSpotContact describes a tool for [HubSpotContactUpsert].
type HubSpotContact struct {
	// SecretName is the secret of the intellect with the access token of a private app;
	// required.
	SecretName string
	// Properties are those of the contact that the agent asks for; default email, firstname
	// and lastname. Of them only email is required of the visitor.
	Properties []string
	// Name is the tool's; default hubspot_contact_upsert.
	Name string
	// Description tells the model when to call the tool; there is a default.
	Description string
}

// HubSpotContactUpsert returns a tool that stores a visitor as a contact in HubSpot
// (management-api.md, F.7). It sends nothing; [Tools.Add] stores it. Error: bad_request.
func HubSpotContactUpsert(in HubSpotContact) (NewTool, error) {
	fields, err := recipeFields("Properties", in.Properties, "email", "firstname", "lastname")
	if err != nil {
		return NewTool{}, err
	}
	properties := map[string]string{}
	for _, field := range fields {
		properties[field] = "{{args." + field + "}}"
	}
	return contactTool(
		cmp.Or(in.Name, "hubspot_contact_upsert"), cmp.Or(in.Description, "Stores the contact details of the visitor in HubSpot."),
		in.SecretName, ToolRequest{Method: "POST", URL: "https://api.hubapi.com/crm/v3/objects/contacts"}, fields, "email",
		map[string]any{"properties": properties}, map[string]string{"contact_id": "id", "result": "properties"},
	)
}

// SalesforceContact describes a tool for [SalesforceContactUpsert].
type SalesforceContact struct {
	// SecretName is the secret of the intellect with an access token; required.
	SecretName string
	// InstanceURL is the address of the Salesforce instance; required.
	InstanceURL string
	// ExternalIDField is the field by which a contact is found; default Email.
	ExternalIDField string
	// Fields are those of the contact that the agent asks for, with ExternalIDField, which
	// alone is required of the visitor; default Email, FirstName and LastName.
	Fields []string
	// Name is the tool's; default salesforce_contact_upsert.
	Name string
	// Description tells the model when to call the tool; there is a default.
	Description string
}

// SalesforceContactUpsert returns a tool that stores a visitor as a contact in Salesforce
// (management-api.md, F.7). It sends nothing; [Tools.Add] stores it. Errors: bad_request,
// invalid_url.
func SalesforceContactUpsert(in SalesforceContact) (NewTool, error) {
	key := cmp.Or(in.ExternalIDField, "Email")
	fields, err := recipeFields("Fields", in.Fields, "Email", "FirstName", "LastName")
	if err := cmp.Or(err, required("InstanceURL", in.InstanceURL)); err != nil {
		return NewTool{}, err
	}
	if !slices.Contains(fields, key) {
		return NewTool{}, badRequest("Fields must have the field " + strconv.Quote(key) + ", by which a contact is found")
	}
	body := map[string]string{}
	for _, field := range fields {
		if field != key {
			body[field] = "{{args." + field + "}}"
		}
	}
	address := strings.TrimSuffix(in.InstanceURL, "/") + "/services/data/v59.0/sobjects/Contact/" + key + "/{{args." + key + "}}"
	return contactTool(
		cmp.Or(in.Name, "salesforce_contact_upsert"), cmp.Or(in.Description, "Stores the contact details of the visitor in Salesforce."),
		in.SecretName, ToolRequest{Method: "PATCH", URL: address}, fields, key, body, map[string]string{"result": "id"},
	)
}

// recipeField matches the name of a field of a contact, which is also that of an argument.
var recipeField = regexp.MustCompile(`^\w+$`)

func recipeFields(name string, fields []string, usual ...string) ([]string, error) {
	if fields == nil {
		return usual, nil
	}
	if len(fields) == 0 {
		return nil, badRequest(name + " must have a field")
	}
	for n, field := range fields {
		if !recipeField.MatchString(field) {
			return nil, badRequest(indexed(name, n) + " must be the name of a field")
		}
	}
	return fields, nil
}

// contactTool is an api tool whose arguments are the fields of a contact; needed is the one
// that is required.
func contactTool(name, description, secret string, r ToolRequest, fields []string, needed string, body any, mapping map[string]string) (NewTool, error) {
	if !secretName(secret) {
		return NewTool{}, badRequest("SecretName must be the name of a secret")
	}
	var args []Param
	for _, field := range fields {
		args = append(args, Param{Name: field, Description: "The visitor's " + field + ".", Required: field == needed})
	}
	t := NewTool{name, APITool(description, r.Method, r.URL, args...)}
	t.Config.Request.Headers = map[string]string{"Authorization": "Bearer {{secrets." + secret + "}}"}
	t.Config.Request.Body, t.Config.ResponseMapping = mustJSON(body), mapping
	return t, ValidateTool(t.Name, t.Config)
}
