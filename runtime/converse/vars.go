package converse

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// reservedVars are set by the service on every turn; a client may not set them
// (service.md, "Reserved template variables"; protocol §10.1).
var reservedVars = []string{
	"sys__thread_id", "sys__message_id", "sys__user_id", "sys__user_message", "sys__ks", "sys__is_new_thread",
	"sys__context_id", "sys__context_type", "sys__avatar_enabled", "sys__avatar_share_screen_enabled",
	"secrets", "sys__user_obj",
}

// userAttributes are the parts of sys__user_obj (service.md, "Reserved template
// variables").
var userAttributes = []string{"first_name", "last_name", "title", "company", "gender", "email"}

// ReservedVars returns the names that only the service may set, without those below
// sys__user_obj and secrets.
func ReservedVars() []string { return slices.Clone(reservedVars) }

// UserAttributes returns the attributes of the bound user, which templates read as
// sys__user_obj.<name>.
func UserAttributes() []string { return slices.Clone(userAttributes) }

// CheckVars returns a copy of vars, or a validation_error that names the first
// variable found that is reserved or no scalar. A nil map means no variables.
func CheckVars(vars map[string]any) (map[string]any, error) {
	checked := make(map[string]any, len(vars))
	for name, value := range vars {
		if Reserved(name) {
			return nil, fault.New(fault.ValidationError, "the variable "+name+" is reserved")
		}
		if !isScalar(value) {
			return nil, fault.New(fault.ValidationError, "the variable "+name+" must be a string, a number, a boolean or null")
		}
		checked[name] = value
	}
	return checked, nil
}

func isScalar(value any) bool {
	switch v := value.(type) {
	case nil, string, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return true
	case float32:
		return isFinite(float64(v))
	case float64:
		return isFinite(v)
	case json.Number:
		return json.Unmarshal([]byte(v), new(float64)) == nil && v != "null"
	}
	return false
}

// isFinite reports whether JSON has a form for n.
func isFinite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

// Reserved reports whether only the service may set the variable name.
func Reserved(name string) bool {
	return slices.Contains(reservedVars, name) ||
		strings.HasPrefix(name, "sys__user_obj.") || strings.HasPrefix(name, "secrets.")
}

// VarNames returns the names of vars, sorted; values are private.
func VarNames(vars map[string]any) []string {
	return slices.Sorted(maps.Keys(vars))
}

// capabilities are the names of session §D.10, with think_process of
// protocol §4.9.
var capabilities = []string{
	"use_knowledge_base", "use_content_search", "use_get_entry_content", "generate_followup_questions",
	"include_sources", "use_related_files", "video_gallery", "external_video", "show_link", "avatar",
	"avatar_filler", "avatar_show_content", "kaltura_genie_experiences", "use_web_search",
	"screen_share_analysis", "think_process",
}

// Capabilities returns the names of all capabilities.
func Capabilities() []string { return slices.Clone(capabilities) }

// offByDefault are the capabilities that are off unless they are switched on (protocol §4.9).
var offByDefault = []string{
	"avatar", "avatar_filler", "avatar_show_content", "external_video", "screen_share_analysis", "show_link", "think_process",
	"use_web_search", "video_gallery",
}

// OnByDefault reports whether a capability is on where nothing sets it.
func OnByDefault(capability string) bool { return !slices.Contains(offByDefault, capability) }

// MergeCapabilities returns base with caps merged over it. Errors: unknown_capability
// for a name, bad_request for a state that is not on, off or disabled.
func MergeCapabilities(base, caps map[string]string) (map[string]string, error) {
	merged := make(map[string]string, len(base)+len(caps))
	maps.Copy(merged, base)
	for name, state := range caps {
		if !slices.Contains(capabilities, name) {
			return nil, fault.New(fault.UnknownCapability, "there is no capability "+name)
		}
		if state != "on" && state != "off" && state != "disabled" {
			return nil, fault.New(fault.BadRequest, "the capability "+name+" must be on, off or disabled")
		}
		merged[name] = state
	}
	return merged, nil
}

// MaxDepth bounds the nesting of values that are decoded or sent (protocol §3.11).
const MaxDepth = 64

// Scrub returns v without the keys that could change the prototype of a
// JavaScript object, and without parts that are nested deeper than [MaxDepth].
func Scrub(v any) any { return scrub(v, MaxDepth) }

func scrub(v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		if depth == 0 {
			return nil
		}
		clean := make(map[string]any, len(v))
		for key, value := range v {
			if key != "__proto__" && key != "constructor" && key != "prototype" {
				clean[key] = scrub(value, depth-1)
			}
		}
		return clean
	case []any:
		if depth == 0 {
			return nil
		}
		clean := make([]any, len(v))
		for i, value := range v {
			clean[i] = scrub(value, depth-1)
		}
		return clean
	}
	return v
}
