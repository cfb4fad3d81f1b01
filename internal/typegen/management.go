package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// managementLists are the values that the client for servers accepts, in both languages, as literals.
var managementLists = []struct {
	name, doc string
	values    []string
}{
	{"EMBED_TYPES", "The ways to embed an agent.", quoted(management.EmbedTypes)},
	{"SKILL_MODES", "Modes of a skill.", quoted(management.SkillModes)},
	{"CALL_STAGES", "When a form is shown.", quoted(management.CallStages)},
	{"TOOL_TYPES", "The kinds of tools.", quoted(management.ToolTypes)},
	{"MODALITIES", "What documents are indexed by.", quoted(management.Modalities)},
	{"insightTypes", "The types of the value of an insight.", quoted(management.ValueTypes)},
	{"ruleStates", "The states of an insight setting and of a rule.", quoted([]string{management.StatusActive, management.StatusDisabled})},
	{"actionTypes", "What the rules of an account may do.", quoted(management.ActionTypes)},
}

// managementText returns the text of management.ts: the addresses of all services, which the
// client for servers needs more of than a page, and the values that it accepts.
func managementText() (string, error) {
	var b strings.Builder
	b.WriteString("import type { Region } from \"./settings.js\"\n\n/** The addresses of each region; null for a service that it does not have. */\n")
	b.WriteString("export const bases: Readonly<Record<Region, Readonly<Record<\"agenticUrl\" | \"genieUrl\" | \"ovpUrl\" | \"messagingUrl\", string | null>>>> = {\n")
	if err := writeAddresses(&b, appinit.Agentic, appinit.Genie, appinit.OVP, appinit.Messaging); err != nil {
		return "", err
	}
	for _, list := range managementLists {
		fmt.Fprintf(&b, "\n/** %s */\nexport const %s = [%s] as const\n", list.doc, list.name, strings.Join(list.values, ", "))
	}
	names, err := json.MarshalIndent(management.Languages, "", "  ")
	fmt.Fprintf(&b, "\n/** The names of languages, by the first part of their tags. */\nexport const languages: Readonly<Record<string, string>> = %s\n", names)
	return b.String(), err
}
