package toolrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/template"
)

// withQuery returns the address of a tool's request, with its params.
func withQuery(t *store.ToolDef, vars map[string]any) string {
	address := brain.RenderAs(t.URL, vars, inAddress)
	if t.Request == nil || len(t.Request.Params) == 0 {
		return address
	}
	query := url.Values{}
	for name, value := range t.Request.Params {
		template, ok := value.(string)
		if !ok {
			template = fmt.Sprint(value)
		}
		query.Set(name, brain.Render(template, vars))
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + query.Encode()
}

// clientCredentials is the only flow that needs no user.
const clientCredentials = "client_credentials"

// authenticate gets the token of a tool's request by OAuth 2, "" if it needs none. Errors
// don't say what the service replied, because that may hold a secret.
func (r *Runner) authenticate(ctx context.Context, t *store.ToolDef, vars map[string]any) (string, error) {
	if t.Request == nil || t.Request.Authentication == nil {
		return "", nil
	}
	a := t.Request.Authentication
	if a.Flow != "" && !strings.EqualFold(strings.ReplaceAll(a.Flow, "-", "_"), clientCredentials) && !strings.EqualFold(a.Flow, "clientCredentials") {
		return "", errors.New("this service authenticates tools by the flow " + clientCredentials + " only")
	}
	secret, ok := vars[a.ClientSecret].(string)
	if !ok || secret == "" {
		return "", errors.New("the secret of the tool's authentication is not set: " + a.ClientSecret)
	}
	config := clientcredentials.Config{
		ClientID: brain.Render(a.ClientID, vars), ClientSecret: secret, TokenURL: brain.RenderAs(a.TokenURL, vars, inAddress), Scopes: a.ScopeList(),
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: r.client.Transport, CheckRedirect: r.client.CheckRedirect}))
	switch {
	case errors.Is(err, errNotAllowed):
		return "", errNotAllowed
	case err != nil:
		return "", errors.New("the tool's service gave no access token")
	}
	return token.AccessToken, nil
}

// resultOf makes the result of a tool of the reply: by a template, as chapters, by a
// mapping, or the whole reply. What the variables mapping picks is added as "variables".
func resultOf(t *store.ToolDef, text []byte, vars map[string]any) json.RawMessage {
	var reply any
	if json.Unmarshal(text, &reply) != nil {
		reply = string(text)
	}
	result := shaped(t, text, reply, vars)
	if len(t.VariablesMapping) == 0 {
		return result
	}
	all := map[string]any{}
	if json.Unmarshal(result, &all) != nil { // it is an object always
		return result
	}
	variables := map[string]any{}
	for name, path := range t.VariablesMapping {
		if value := pick(reply, path); value != nil {
			variables[name] = value
		}
	}
	all["variables"] = variables
	result, err := json.Marshal(all)
	if err != nil { // it came from JSON
		return object("error", "the reply can't be read")
	}
	return result
}

func shaped(t *store.ToolDef, text []byte, reply any, vars map[string]any) json.RawMessage {
	switch {
	case t.ResponseTemplate != "":
		values := maps.Clone(vars)
		for _, name := range template.Names(t.ResponseTemplate) {
			if value := pick(reply, name); value != nil {
				values[name] = value
			}
		}
		return object("result", brain.Render(t.ResponseTemplate, values))
	case t.ResponseChapters != nil:
		chapters := []map[string]any{}
		list, _ := pick(reply, t.ResponseChapters.IterateOn).([]any)
		for _, item := range list {
			chapter := map[string]any{"content": pick(item, t.ResponseChapters.Content)}
			if t.ResponseChapters.Link != "" {
				chapter["link"] = pick(item, t.ResponseChapters.Link)
			}
			chapters = append(chapters, chapter)
		}
		result, err := json.Marshal(map[string]any{"chapters": chapters})
		if err != nil { // it came from JSON
			return object("error", "the reply can't be read")
		}
		return result
	}
	return mapped(text, t.ResponseMapping)
}
