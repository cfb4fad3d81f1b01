package dialogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Bounds of request variables. The protocol has none; a page context of 31 kB is
// known to be in use (protocol §10.1).
const (
	maxVars      = 256
	maxVarsBytes = 256 << 10
)

// ErrTooManyVars means that request variables, or those of a thread, exceed their bounds.
var ErrTooManyVars = errors.New("request_vars: too many or too large")

// CheckVars returns an error for request variables with a value that is not a scalar, with
// a name that only the service sets (protocol §10.1), or beyond the bounds.
func CheckVars(vars map[string]any) error {
	size := 0
	for name, value := range vars {
		if converse.Reserved(name) {
			return fmt.Errorf("request_vars: %q is reserved", name)
		}
		size += len(name)
		switch v := value.(type) {
		case string:
			size += len(v)
		case nil, bool, float64:
			size += 8
		default:
			return fmt.Errorf("request_vars: %q must be a string, a number, a boolean or null", name)
		}
	}
	if len(vars) > maxVars || size > maxVarsBytes {
		return ErrTooManyVars
	}
	return nil
}

// merged returns the stored variables, overridden by the new ones (protocol §10.2).
func merged(stored, vars map[string]any) map[string]any {
	all := maps.Clone(stored)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, vars)
	return all
}

// FormKey is the key, in a thread's analysis, of the values that the user entered into a
// form (local-service choice A21).
const FormKey = "form_lead_info"

// userObject returns the variables about a user: what the directory has, otherwise what they
// put into a form of the thread, and the email address when it is their id. It is empty for an
// anonymous visitor.
func userObject(who Caller, t store.Thread) map[string]any {
	vars := map[string]any{}
	if who.Claims.UserID == "" {
		return vars
	}
	if strings.Contains(who.Claims.UserID, "@") {
		vars["sys__user_obj.email"] = who.Claims.UserID
	}
	form, _ := t.Analysis[FormKey].(map[string]any)
	for _, name := range converse.UserAttributes() {
		if text, ok := form[name].(string); ok {
			vars["sys__user_obj."+name] = text
		}
		if text, ok := who.User[name]; ok {
			vars["sys__user_obj."+name] = text
		}
	}
	return vars
}

// withResults returns the results of the tools that ran when the thread began, overridden
// by the client's variables. A field of a result is named after the tool, a dot, and the
// field.
func withResults(client map[string]any, results []store.ToolResult) map[string]any {
	vars := map[string]any{}
	for _, r := range results {
		var object map[string]any
		if json.Unmarshal(r.Result, &object) == nil {
			for name, value := range object {
				vars[r.Tool+"."+name] = value
			}
		}
	}
	maps.Copy(vars, client)
	return vars
}

// secretVariables returns vars with the token and the secrets, which only requests of api
// tools may use.
func secretVariables(who Caller, vars map[string]any) map[string]any {
	all := maps.Clone(vars)
	all["sys__ks"] = who.KS
	for name, value := range who.Agent.Profile.Secrets {
		all["secrets."+name] = value
	}
	return all
}

// variables returns the variables of templates: the client's, overridden by those that the
// service sets. sys__ks and secrets are left out on purpose, because the rendered text is
// spoken or sent to a model.
func variables(who Caller, t store.Thread, c Context, client map[string]any, text, messageID string, isNew bool) map[string]any {
	vars := map[string]any{"agent_name": who.Agent.Profile.DisplayName}
	maps.Copy(vars, client)
	maps.Copy(vars, userObject(who, t))
	maps.Copy(vars, map[string]any{
		"sys__thread_id":                   t.ID,
		"sys__message_id":                  messageID,
		"sys__user_id":                     who.Claims.UserID,
		"sys__user_message":                text,
		"sys__is_new_thread":               isNew,
		"sys__context_id":                  c.ContextID,
		"sys__context_type":                c.ContextType,
		"sys__avatar_enabled":              c.Avatar,
		"sys__avatar_share_screen_enabled": c.ScreenShare && who.Agent.Profile.ScreenShare,
	})
	return vars
}
