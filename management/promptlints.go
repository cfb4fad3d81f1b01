package management

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/template"
)

// Codes of the findings of [LintGlossary] and [LintPersonaIdentity].
const (
	// FindingGlossaryFormat is a glossary that looks like JSON.
	FindingGlossaryFormat = "glossary_format"
	// FindingPersonaMismatch is a text with another name than the agent's.
	FindingPersonaMismatch = "persona_name_mismatch"
	// FindingPersonaDrift is a text with another name than the first text with one.
	FindingPersonaDrift = "persona_name_drift"
)

// Formats of a [GlossaryLint].
const (
	GlossaryEmpty = "empty"
	GlossaryText  = "text"
	GlossaryJSON  = "json"
)

// GlossaryLint is the result of [LintGlossary].
type GlossaryLint struct {
	// Format is empty, text or json.
	Format string `json:"format"`
	// Variables are the names in the text, in their order, each once.
	Variables []string  `json:"variables"`
	Findings  []Finding `json:"findings"`
}

// OK reports whether no finding is an error.
func (l *GlossaryLint) OK() bool { return !hasErrors(l.Findings) }

// looksLikeJSON matches the beginning of a list or of an object, not that of a reference.
var looksLikeJSON = regexp.MustCompile(`^\s*(?:\[|\{(?:[^{]|$))`)

// LintGlossary checks a glossary, which is a template (management-api.md, F.11): its
// variables as [LintPrompt] does, and that it is written for the model, which reads text. It
// sends nothing.
func LintGlossary(text string, c PromptContext) GlossaryLint {
	l := GlossaryLint{Format: GlossaryText, Variables: variablesOf(text), Findings: LintPrompt(text, c)}
	switch {
	case strings.TrimSpace(text) == "":
		l.Format = GlossaryEmpty
	case looksLikeJSON.MatchString(text):
		l.Format = GlossaryJSON
		l.Findings = append(l.Findings, Finding{
			Code: FindingGlossaryFormat, Severity: SeverityWarning,
			Detail: "the glossary looks like JSON; the model reads it as text, so write one term per line",
		})
	}
	for n := range l.Findings {
		l.Findings[n].Field = "glossary"
	}
	return l
}

// variablesOf returns the names in a template, in their order, each once.
func variablesOf(text string) []string {
	names := []string{}
	for _, name := range template.Names(text) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Persona are the texts by which an agent has a name.
type Persona struct {
	// Name is the agent's; "" means that of the first text with a name.
	Name          string
	OpeningPhrase string
	BaseDirective string
	Prompts       []Prompt
}

// PersonaLint is the result of [LintPersonaIdentity].
type PersonaLint struct {
	// DetectedName is the name in the first text with one, "" for none.
	DetectedName string    `json:"detectedName"`
	Findings     []Finding `json:"findings"`
}

// OK reports whether no finding is an error.
func (l *PersonaLint) OK() bool { return !hasErrors(l.Findings) }

// naming matches "You are Ada" and "My name is Ada Lovelace": a name has capital letters, and
// ends before the next word without one.
var naming = regexp.MustCompile(`(?:\b[Yy]ou are|\b[Yy]our name is|\b[Mm]y name is|\bI am|\bI['’]m|\b[Tt]his is)\s+(\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*)*)`)

// LintPersonaIdentity finds texts in which an agent has another name than in the others
// (management-api.md, F.11). It sends nothing.
func LintPersonaIdentity(p Persona) PersonaLint {
	l, found := PersonaLint{}, findings{}
	first := "" // the field of DetectedName
	check := func(field, text string) {
		m := naming.FindStringSubmatch(text)
		if m == nil {
			return
		}
		if l.DetectedName == "" {
			l.DetectedName, first = m[1], field
		}
		switch {
		case p.Name != "" && !sameName(m[1], p.Name):
			found.add(FindingPersonaMismatch, SeverityWarning, field, "the agent is called "+m[1]+" here, and its name is "+p.Name)
		case p.Name == "" && !sameName(m[1], l.DetectedName):
			found.add(FindingPersonaDrift, SeverityWarning, field, "the agent is called "+m[1]+" here, and "+l.DetectedName+" in "+first)
		}
	}
	check("base_directive", p.BaseDirective)
	for n, prompt := range p.Prompts {
		check(indexed("prompts", n)+".value", prompt.Value)
	}
	check("opening_phrase", p.OpeningPhrase)
	l.Findings = found
	return l
}

// sameName reports whether two names are the same, or one begins with the other.
func sameName(a, b string) bool {
	a, b = strings.ToLower(a)+" ", strings.ToLower(b)+" "
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// SystemPromptInput are the texts for [AssembleSystemPrompt].
type SystemPromptInput struct {
	Prompts       []Prompt
	BaseDirective string
	Glossary      string
	// Vars are the values of variables, also of names that the service sets; nil stands for
	// an empty text.
	Vars map[string]any
	// Literal leaves variables as they are written.
	Literal bool
}

// SystemPrompt is the result of [AssembleSystemPrompt].
type SystemPrompt struct {
	Text string `json:"text"`
	// SkippedKeys are the keys of prompts that are left out, because their header or value
	// is blank.
	SkippedKeys []string `json:"skippedKeys"`
	// UsedDefaultDirective means that there was no directive: the service uses its own,
	// for which Text has a mark in << >>.
	UsedDefaultDirective bool `json:"usedDefaultDirective"`
	// UnresolvedVariables have no value and no default, and stay as they are written.
	UnresolvedVariables []string `json:"unresolvedVariables"`
}

// defaultDirective stands for the directive of the service, which is not known here.
const defaultDirective = "<<the service's default directive>>"

// AssembleSystemPrompt puts the texts of an intellect together as the service does
// (management-api.md, F.11): the directive, each prompt as "## header" and its value, the
// glossary. What the service adds by itself is not in it. It sends nothing.
func AssembleSystemPrompt(in SystemPromptInput) SystemPrompt {
	p := SystemPrompt{SkippedKeys: []string{}, UnresolvedVariables: []string{}}
	render := func(text string) string {
		if in.Literal {
			return text
		}
		return template.Render(text, func(piece template.Piece, _ int) string {
			name := piece.Ref.Name
			switch value, given := in.Vars[name]; {
			case given:
				return template.Text(value)
			case piece.Ref.HasDefault:
				return piece.Ref.Default
			}
			if !slices.Contains(p.UnresolvedVariables, name) {
				p.UnresolvedVariables = append(p.UnresolvedVariables, name)
			}
			return piece.Text
		})
	}
	parts := []string{render(in.BaseDirective)}
	if strings.TrimSpace(in.BaseDirective) == "" {
		parts[0], p.UsedDefaultDirective = defaultDirective, true
	}
	for _, prompt := range in.Prompts {
		prompt = prompt.withDefaults()
		if strings.TrimSpace(prompt.HeaderTemplate) == "" || strings.TrimSpace(prompt.Value) == "" {
			p.SkippedKeys = append(p.SkippedKeys, prompt.Key)
			continue
		}
		parts = append(parts, "## "+render(prompt.HeaderTemplate)+"\n"+render(prompt.Value))
	}
	if strings.TrimSpace(in.Glossary) != "" {
		parts = append(parts, render(in.Glossary))
	}
	p.Text = strings.Join(parts, "\n\n")
	return p
}
