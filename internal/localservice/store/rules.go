package store

import (
	"context"
	"database/sql"
	"errors"
)

// States of an [InsightSetting] and of a [Rule].
const (
	StatusActive   = "active"
	StatusDisabled = "disabled"
)

// InsightSetting is a question about a finished conversation. The answer is stored under
// Key in the thread's analysis. The JSON is that of the API.
type InsightSetting struct {
	Key       string    `json:"key"`
	Title     string    `json:"title"`
	Prompt    string    `json:"prompt"`
	ValueType ValueType `json:"valueType"`
	Status    string    `json:"status"` // StatusActive or StatusDisabled
}

// ValueType is the type of an insight's value.
type ValueType string

// ValueTypes are the types of values: three, and lists of each.
func ValueTypes() []ValueType {
	return []ValueType{"string", "number", "boolean", "string[]", "number[]", "boolean[]"}
}

// Rule runs actions on an event of a thread. Its JSON is that of the API.
type Rule struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Status      string       `json:"status"` // StatusActive or StatusDisabled
	ObjectType  string       `json:"objectType"`
	EventType   EventType    `json:"eventType"`
	Conditions  []RuleTerm   `json:"conditions"` // all of them must hold
	Actions     []RuleAction `json:"actions"`
}

// ThreadObject is the only object type of rules.
const ThreadObject = "thread"

// RuleTerm is one condition of a [Rule].
type RuleTerm struct {
	Field    string `json:"field"` // as in "object.agent_id"
	Operator string `json:"operator"`
	Value    any    `json:"value,omitempty"`
}

// RuleAction is one action of a [Rule].
type RuleAction struct {
	Type string `json:"type"`

	InsightSettingIDs []string `json:"insightSettingIds,omitempty"` // of an InsightAction
	EmailTemplateID   string   `json:"emailTemplateId,omitempty"`   // of an EmailAction
	To                string   `json:"to,omitempty"`
}

// Types of a [RuleAction].
const (
	InsightAction = "triggerInsightSettingsKai"
	EmailAction   = "sendEmail" // stored but not sent: this service has no mail
)

// EmailTemplate is the text of an email. Its JSON is that of the API.
type EmailTemplate struct {
	AppGUID  string `json:"appGuid"`
	Name     string `json:"name"`
	Subject  string `json:"subject"`
	Body     string `json:"body"`
	From     string `json:"from"`
	Language string `json:"language"`
	Status   string `json:"status"`
}

// InsightSettings is the collection of insight settings. One to which a rule refers is not
// deleted.
func InsightSettings(s *Store) Collection[InsightSetting] {
	return Collection[InsightSetting]{store: s, kind: InsightKind, newID: UUID, referrer: ruleOf}
}

// ruleOf names a rule that refers to an insight setting, "" if none does.
func ruleOf(ctx context.Context, tx *sql.Tx, partnerID int64, setting string) (string, error) {
	rule, err := one(tx.QueryRowContext(ctx,
		`SELECT id FROM objects WHERE kind = ? AND partner_id = ? AND EXISTS (
			SELECT 1 FROM json_each(body, '$.actions') a, json_each(a.value, '$.insightSettingIds') s WHERE s.value = ?) ORDER BY seq LIMIT 1`,
		ruleKind, partnerID, setting), func(row scanner) (id string, err error) {
		err = row.Scan(&id)
		return "the lifecycle rule " + id, err
	})
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return rule, err
}

const ruleKind = "lifecycle-rule"

// Rules is the collection of lifecycle rules.
func Rules(s *Store) Collection[Rule] {
	return Collection[Rule]{store: s, kind: ruleKind, newID: UUID, references: (*Rule).references}
}

// EmailTemplates is the collection of email templates.
func EmailTemplates(s *Store) Collection[EmailTemplate] {
	return Collection[EmailTemplate]{store: s, kind: EmailKind, newID: UUID}
}
