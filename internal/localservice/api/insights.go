package api

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// maxPrompt is how long the prompt of an insight may be, in characters.
const maxPrompt = 8000

// noInsights is why an insight setting has no effect.
const noInsights = "this service has no model, which finds the values; they are not_available in thread_metadata.insights"

// insights are the insight settings. One to which a rule refers is not deleted: a client
// must remove it from the rules first (service.md, Insight settings).
func (s *server) insights() *resource[store.InsightSetting] {
	k := &resource[store.InsightSetting]{
		records: store.InsightSettings(s.Store), view: viewAgentHost[store.InsightSetting], needs: []string{"key", "title", "prompt", "valueType"}, set: setInsight,
		query: byFields("statusEqual", "keyEqual"),
	}
	if s.Model == nil {
		k.noEffect = func(*store.InsightSetting, fields) []string { return []string{noInsights} }
	}
	return k
}

func setInsight(old store.InsightSetting, body fields) (store.InsightSetting, error) {
	setting, err := overlay(old, store.InsightSetting{}, body)
	if err != nil {
		return setting, err
	}
	setting.Status = cmp.Or(setting.Status, store.StatusActive)
	switch {
	case !variableName.MatchString(setting.Key) || len(setting.Key) > maxName:
		return setting, invalid("string_pattern_mismatch", "The key must be a name of letters, digits and underscores", "key")
	case strings.TrimSpace(setting.Prompt) == "" || utf8.RuneCountInString(setting.Prompt) > maxPrompt:
		return setting, invalid("value_error", fmt.Sprintf("The prompt must have 1 to %d characters", maxPrompt), "prompt")
	}
	return setting, cmp.Or(
		oneOf(setting.ValueType, store.ValueTypes(), "valueType"), checkName("title", setting.Title), oneOf(setting.Status, statuses, "status"),
	)
}
