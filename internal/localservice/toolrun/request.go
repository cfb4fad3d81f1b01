package toolrun

import (
	"context"
	"encoding/json"
	"errors"
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
func withQuery(r *store.ToolRequest, vars map[string]any) string {
	address := brain.RenderAs(r.URL, vars, inAddress)
	if len(r.Params) == 0 {
		return address
	}
	query := url.Values{}
	for name, value := range r.Params {
		query.Set(name, brain.Render(plain(value), vars))
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
func (r *Runner) authenticate(ctx context.Context, a *store.ToolAuthentication, vars map[string]any) (string, error) {
	if a == nil {
		return "", nil
	}
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
	result := shaped(t, reply, vars)
	if len(t.VariablesMapping) > 0 {
		variables := map[string]any{}
		for name, path := range t.VariablesMapping {
			if value := pick(reply, path); value != nil {
				variables[name] = value
			}
		}
		result = maps.Clone(result)
		result["variables"] = variables
	}
	all, err := json.Marshal(result)
	if err != nil { // it came from JSON
		return object("error", "the reply can't be read")
	}
	return all
}

// whole makes a result of a whole reply.
func whole(text []byte) json.RawMessage { return resultOf(&store.ToolDef{}, text, nil) }

func shaped(t *store.ToolDef, reply any, vars map[string]any) map[string]any {
	switch {
	case t.ResponseTemplate != "":
		values := maps.Clone(vars)
		for _, name := range template.Names(t.ResponseTemplate) {
			if value := pick(reply, name); value != nil {
				values[name] = value
			}
		}
		return map[string]any{"result": brain.Render(t.ResponseTemplate, values)}
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
		return map[string]any{"chapters": chapters}
	case len(t.ResponseMapping) > 0:
		picked := map[string]any{}
		for name, path := range t.ResponseMapping {
			picked[name] = pick(reply, path)
		}
		return picked
	}
	if whole, ok := reply.(map[string]any); ok {
		return whole
	}
	return map[string]any{"result": reply}
}
