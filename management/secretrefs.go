package management

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"

	"github.com/agentruntime/agentruntime/internal/template"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Places of a [SecretRef].
const (
	InTools   = "tools"
	InPrompts = "prompts"
)

// SecretRef is a reference to a secret.
type SecretRef struct {
	Name string `json:"name"`
	// Where is tools or prompts.
	Where string `json:"where"`
}

// SecretRefs is the result of [ValidateSecretRefs].
type SecretRefs struct {
	// References are all that resolve or could resolve.
	References []SecretRef `json:"references"`
	// Unresolved are those whose secret is not set.
	Unresolved []SecretRef `json:"unresolved"`
	// BadPrefix are references that never resolve, as {{ variables.secrets.NAME }}.
	BadPrefix []SecretRef `json:"badPrefix"`
	// Unused are the names of secrets that nothing refers to.
	Unused []string `json:"unused"`
}

// OK reports whether every reference resolves.
func (r *SecretRefs) OK() bool { return len(r.Unresolved) == 0 && len(r.BadPrefix) == 0 }

// secretRef matches the name of a reference to a secret, with or without a prefix before it.
var secretRef = regexp.MustCompile(`^((?:[A-Za-z_]\w*\.)*)secrets\.([A-Za-z_]\w*)`)

// bareRef matches the client_secret of a tool's authentication, which is no template: the
// whole text is the name of a secret, so that no secret is part of a tool's configuration.
var bareRef = regexp.MustCompile(`^secrets\.([A-Za-z_]\w*)$`)

// ValidateSecretRefs compares the references to secrets in tools and prompts with the names
// of the secrets that are set (management-api.md, F.6, validateSecretRefs). It sends
// nothing.
func ValidateSecretRefs(names []string, tools []ToolConfig, prompts []string) SecretRefs {
	r := SecretRefs{References: []SecretRef{}, Unresolved: []SecretRef{}, BadPrefix: []SecretRef{}, Unused: []string{}}
	used := map[string]bool{}
	add := func(name, prefix, where string) {
		ref := SecretRef{name, where}
		if prefix != "" {
			if !slices.Contains(r.BadPrefix, ref) {
				r.BadPrefix = append(r.BadPrefix, ref)
			}
			return
		}
		if slices.Contains(r.References, ref) {
			return
		}
		used[name] = true
		r.References = append(r.References, ref)
		if !slices.Contains(names, name) {
			r.Unresolved = append(r.Unresolved, ref)
		}
	}
	scan := func(text, where string) {
		for _, name := range template.Names(text) {
			if m := secretRef.FindStringSubmatch(name); m != nil {
				add(m[2], m[1], where)
			}
		}
	}
	for _, tool := range tools {
		for _, text := range stringsIn(decoded(mustJSON(tool))) {
			scan(text, InTools)
			if m := bareRef.FindStringSubmatch(text); m != nil {
				add(m[1], "", InTools)
			}
		}
	}
	for _, text := range prompts {
		scan(text, InPrompts)
	}
	for _, name := range names {
		if !used[name] {
			r.Unused = append(r.Unused, name)
		}
	}
	return r
}

func decoded(text []byte) (value any) {
	_ = json.Unmarshal(text, &value) // it has just been written
	return value
}

// stringsIn returns the texts in a JSON value, those of an object in the order of its keys.
func stringsIn(value any) (list []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			list = append(list, stringsIn(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, stringsIn(v[key])...)
		}
	}
	return list
}

// ValidateSecrets reads an intellect and its tools and compares their references to secrets
// with the names of its secrets. Tools that no longer exist are left out. It writes nothing.
func (i Intellects) ValidateSecrets(ctx context.Context, id int64) (SecretRefs, error) {
	intellect, err := i.Get(ctx, id)
	if err != nil {
		return SecretRefs{}, err
	}
	var tools []ToolConfig
	for _, toolID := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(intellect.ToolIDs, intellect.ThreadStartTools)))) {
		tool, err := i.c.Tools.Get(ctx, toolID)
		if errors.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return SecretRefs{}, err
		}
		tools = append(tools, tool.Config)
	}
	prompts := []string{intellect.BaseDirective, intellect.Glossary, intellect.OpeningPhrase}
	for _, p := range intellect.Prompts {
		prompts = append(prompts, p.HeaderTemplate, p.Value)
	}
	return ValidateSecretRefs(intellect.Secrets, tools, prompts), nil
}
