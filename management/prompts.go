package management

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/template"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// SilentOpening is the opening phrase of an agent that says nothing first (service.md,
// "Intellect"; protocol §7.6).
const SilentOpening = "<blank>"

// Names of reserved variables that have rules of their own.
const (
	tokenVar       = "sys__ks"
	userObject     = "sys__user_obj"
	userPrefix     = userObject + "."
	secretsPrefix  = "secrets."
	reservedPrefix = "sys__"
	// agentNameVar is set by the local service, unless a client sets it.
	agentNameVar = "agent_name"
)

// Codes of the findings of [LintPrompt] and [LintPrompts].
const (
	// FindingPromptSyntax is a "{{" without "}}", or the reverse.
	FindingPromptSyntax = "prompt_syntax"
	// FindingPromptEmpty is a reference without a name, or a prompt without a text.
	FindingPromptEmpty = "prompt_empty"
	// FindingPromptUnknownVariable is a sys__ name that the service does not set, or
	// any name that nothing can set because client variables are off.
	FindingPromptUnknownVariable = "prompt_unknown_variable"
	// FindingPromptToken is sys__ks, by which a token would be part of the prompt, or a
	// secret in a text that is spoken.
	FindingPromptToken = "prompt_token"
	// FindingPromptUserAttribute is an attribute that users do not have.
	FindingPromptUserAttribute = string(fault.ReservedUserAttrUnresolved)
	// FindingSecretPrefix is a reference that looks like a secret but is not one.
	FindingSecretPrefix = "secret_ref_bad_prefix"
	// FindingSecretUnresolved names a secret that is not set.
	FindingSecretUnresolved = "secret_ref_unresolved"
)

// PromptContext describes where a template is used. The zero value allows client
// variables and any secret.
type PromptContext struct {
	// NoClientVariables means that allow_client_variables is off, so that only names
	// that the service sets have a value.
	NoClientVariables bool
	// Secrets are the names of the secrets that are set; nil means that they are not
	// known, and any name is accepted.
	Secrets []string
	// Spoken means that the text is said to the user, as an opening phrase is: it
	// must not contain a secret.
	Spoken bool
}

// LintPrompt checks one template (service.md, "Reserved template variables"): braces
// that do not match, names that the service does not set, a token or a secret where
// it would be shown. It sends nothing. Without findings it returns nil.
func LintPrompt(text string, c PromptContext) []Finding {
	var findings []Finding
	add := func(code string, severity Severity, detail string) {
		findings = append(findings, Finding{Code: code, Severity: severity, Detail: detail})
	}
	pieces, open := template.Parse(text)
	if open >= 0 {
		add(FindingPromptSyntax, SeverityError, "the braces {{ and }} must come in pairs")
	}
	for _, p := range pieces {
		if p.Ref == nil {
			continue
		}
		name := p.Ref.Name
		secret, isSecret := strings.CutPrefix(name, secretsPrefix)
		attribute, isAttribute := strings.CutPrefix(name, userPrefix)
		switch {
		case name == "":
			add(FindingPromptEmpty, SeverityError, "{{ }} must have the name of a variable in it")
		case name == tokenVar:
			add(FindingPromptToken, SeverityError, "sys__ks is a token; a prompt must not contain it")
		case isSecret && c.Spoken:
			add(FindingPromptToken, SeverityError, "a text that is spoken must not contain a secret")
		case isSecret && !secretName(secret):
			add(FindingSecretPrefix, SeverityError, "secrets."+secret+" is not the name of a secret; write secrets.NAME")
		case isSecret && c.Secrets != nil && !slices.Contains(c.Secrets, secret):
			add(FindingSecretUnresolved, SeverityError, "the secret "+secret+" is not set")
		case isSecret:
		case looksLikeSecret(name):
			add(FindingSecretPrefix, SeverityError, name+" is not a secret; write secrets.NAME")
		case isAttribute && !slices.Contains(converse.UserAttributes(), attribute):
			add(FindingPromptUserAttribute, SeverityWarning,
				"users have no attribute "+attribute+"; they have "+strings.Join(converse.UserAttributes(), ", "))
		case isAttribute:
		case name == userObject:
			add(FindingPromptUserAttribute, SeverityWarning, "sys__user_obj is an object; name one of its attributes")
		case converse.Reserved(name):
		case strings.HasPrefix(name, reservedPrefix):
			add(FindingPromptUnknownVariable, SeverityError,
				"the service sets no variable "+name+"; it sets "+strings.Join(setByService(), ", "))
		case c.NoClientVariables && !p.Ref.HasDefault && name != agentNameVar:
			add(FindingPromptUnknownVariable, SeverityWarning,
				"nothing sets the variable "+name+", because allow_client_variables is off")
		}
	}
	return findings
}

// looksLikeSecret reports whether name was probably meant as secrets.NAME.
func looksLikeSecret(name string) bool {
	head, _, dotted := strings.Cut(name, ".")
	head = strings.ToLower(head)
	return (dotted && (head == "secret" || head == "secrets" || head == "sys__secrets")) || name == "secrets"
}

// setByService are the scalar names that the service sets and that a prompt may have.
func setByService() []string {
	names := converse.ReservedVars()
	return slices.DeleteFunc(names, func(name string) bool {
		return name == tokenVar || name == userObject || name == "secrets"
	})
}

// LintPrompts checks the templates of an intellect: base_directive, prompts, glossary and
// opening_phrase.
func LintPrompts(i *Intellect) []Finding {
	c := PromptContext{NoClientVariables: !i.ClientVariables()}
	if i.Secrets != nil {
		c.Secrets = i.Secrets
	}
	var found findings
	at := func(field, template string, c PromptContext) {
		for _, f := range LintPrompt(template, c) {
			found.add(f.Code, f.Severity, field, f.Detail)
		}
	}
	at("base_directive", i.BaseDirective, c)
	for n, p := range i.Prompts {
		field := indexed("prompts", n) + ".value"
		if strings.TrimSpace(p.Value) == "" {
			found.add(FindingPromptEmpty, SeverityWarning, field, "the prompt has no text")
		}
		at(field, p.Value, c)
	}
	at("glossary", i.Glossary, c)
	spoken := c
	spoken.Spoken = true
	at("opening_phrase", i.OpeningPhrase, spoken)
	return found
}

// lintFailed is prompt_lint_failed with the findings in its body, or nil when none of
// them is an error.
func lintFailed(findings []Finding) error {
	if !hasErrors(findings) {
		return nil
	}
	sortFindings(findings)
	first := findings[0]
	detail := first.Detail
	if first.Field != "" {
		detail = first.Field + ": " + detail
	}
	list := make([]any, len(findings)) // the body of an error consists of JSON types
	for n, f := range findings {
		list[n] = map[string]any{"code": f.Code, "severity": string(f.Severity), "field": f.Field, "detail": f.Detail}
	}
	return fault.New(fault.PromptLintFailed, detail).WithBody(map[string]any{"findings": list})
}

// Preview is the result of [PreviewPrompt]: a template as the service would render it.
type Preview struct {
	// Text is the template with the values in it. A secret is shown as ***.
	Text string `json:"text"`
	// Variables are the names that the template uses, sorted, each once.
	Variables []string `json:"variables"`
	// Unresolved are those of them that have no value and no default, sorted.
	Unresolved []string `json:"unresolved"`
	// Findings are those of [LintPrompt], with reserved_user_attr_unresolved for an
	// attribute that the user of the preview does not have.
	Findings []Finding `json:"findings"`
}

// PreviewValues are the values of a preview.
type PreviewValues struct {
	// Vars are the client's variables, like request_vars: strings, numbers, booleans
	// and nil.
	Vars map[string]any
	// Reserved are examples for names that the service sets, such as sys__user_id or
	// sys__user_obj.first_name. sys__ks and secrets are refused.
	Reserved map[string]any
	// Context is as for [LintPrompt].
	Context PromptContext
}

// mask is shown instead of a secret's value. In a write it keeps the stored value.
const mask = "***"

// PreviewPrompt renders a template with the values given, without a request. The error
// is validation_error for a reserved name in Vars, for a name in Reserved that the
// service does not set, and for a value that is not a scalar.
func PreviewPrompt(text string, v PreviewValues) (Preview, error) {
	vars, err := converse.CheckVars(v.Vars)
	if err != nil {
		return Preview{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(v.Reserved)) {
		attribute, isAttribute := strings.CutPrefix(name, userPrefix)
		known := slices.Contains(setByService(), name) || isAttribute && slices.Contains(converse.UserAttributes(), attribute)
		if !known {
			return Preview{}, fault.New(fault.ValidationError, "a preview has no reserved variable "+name)
		}
		if _, err := converse.CheckVars(map[string]any{"value": v.Reserved[name]}); err != nil {
			return Preview{}, fault.New(fault.ValidationError, "the variable "+name+" must be a string, a number, a boolean or null")
		}
		vars[name] = v.Reserved[name]
	}
	preview := Preview{Variables: []string{}, Unresolved: []string{}, Findings: LintPrompt(text, v.Context)}
	preview.Text = template.Render(text, func(p template.Piece, _ int) string {
		name := p.Ref.Name
		preview.Variables = append(preview.Variables, name)
		value := template.Text(vars[name])
		switch _, given := vars[name]; {
		case strings.HasPrefix(name, secretsPrefix), name == tokenVar:
			return mask
		case value != "":
			return value
		case p.Ref.HasDefault:
			return p.Ref.Default
		case given:
			return ""
		}
		preview.Unresolved = append(preview.Unresolved, name)
		if attribute, ok := strings.CutPrefix(name, userPrefix); ok && slices.Contains(converse.UserAttributes(), attribute) {
			preview.Findings = append(preview.Findings, Finding{
				Code: FindingPromptUserAttribute, Severity: SeverityWarning,
				Detail: "the attribute " + attribute + " has no value; a user without it leaves the place empty",
			})
		}
		return ""
	})
	slices.Sort(preview.Variables)
	preview.Variables = slices.Compact(preview.Variables)
	slices.Sort(preview.Unresolved)
	preview.Unresolved = slices.Compact(preview.Unresolved)
	return preview, nil
}
