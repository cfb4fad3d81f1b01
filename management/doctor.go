package management

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/template"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Codes of the findings of [Client.Doctor], [Intellects.Audit] and [Lifecycle.Audit], besides
// those of a prompt lint and [FindingClientTool].
const (
	FindingExternalIntellect   = "external_intellect"
	FindingForms               = "invalid_user_properties_forms"
	FindingCapabilities        = "capabilities_invalid"
	FindingKnowledgeOverCap    = "knowledge_ids_over_cap"
	FindingToolNotFound        = "tool_not_found"
	FindingSkillNotFound       = "skill_not_found"
	FindingKnowledgeNotFound   = "knowledge_not_found"
	FindingIntellectNotFound   = "intellect_not_found"
	FindingAvatarNotFound      = "avatar_not_found"
	FindingUnscopedRule        = "unscoped_rule"
	FindingAgentNotFound       = "agent_not_found"
	FindingDuplicateAgents     = "duplicate_agent_ids"
	FindingInsightMissing      = "insight_setting_missing"
	FindingInsightDisabled     = "insight_setting_disabled"
	FindingTooManyInsights     = "too_many_insight_settings"
	FindingEmailOnSessionEnded = "email_on_session_ended"
	FindingEmailUnfiltered     = "email_unfiltered"
	FindingChangedKeysUnknown  = "changed_keys_unproduced"
	FindingTemplateMissing     = "template_missing_or_deleted"
	FindingTemplateTokens      = "template_tokens_unproduced"
	FindingDTCWithoutForms     = "dtc_without_forms"
	FindingRuleDisabled        = "rule_disabled"
	FindingOrphanInsight       = "orphan_insight_setting"
	FindingOrphanEmail         = "orphan_email_template"
	FindingDefaultAgent        = "agent_id_default"
)

// DoctorInput limits what [Client.Doctor] looks at.
type DoctorInput struct {
	// AgentIDs are the agents to check, with their intellects. None means the whole
	// account, including its rules and settings.
	AgentIDs []string
}

// Diagnosis is what [Client.Doctor] found.
type Diagnosis struct {
	// Findings are sorted: errors first.
	Findings []Finding      `json:"findings"`
	Summary  FindingSummary `json:"summary"`
	// Checked counts the objects that were looked at, by kind.
	Checked map[string]int `json:"checked"`
	// Skipped has the kinds of objects that could not be read, and why. What depends on
	// them was not checked.
	Skipped map[string]string `json:"skipped"`
}

// FindingSummary counts findings.
type FindingSummary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
}

// inventory has the objects of an account that audits need. A nil map could not be read.
type inventory struct {
	agents     map[string]*Agent
	avatars    map[string]*Avatar
	skills     map[string]*Skill
	intellects map[int64]*Intellect
	knowledge  map[int64]*KnowledgeRecord
	tools      map[string]*Tool
	insights   map[string]*Insight
	emails     map[string]*EmailTemplate
}

// produced are the keys that the analysis of a thread may have: those of insight settings and
// of the summaries of intellects. It is nil if they are not known.
func (i *inventory) produced() map[string]bool {
	if i.insights == nil || i.intellects == nil {
		return nil
	}
	keys := map[string]bool{defaultAnalysis: true}
	for _, insight := range i.insights {
		keys[insight.Key] = true
	}
	for _, intellect := range i.intellects {
		if summary := intellect.AvatarSummaryConfig; summary != nil {
			for key := range summary.Analysis {
				keys[key] = true
			}
		}
	}
	return keys
}

// defaultAnalysis is the key of the analysis of an intellect without an
// avatar_summary_config of its own (service.md, "Intellect").
const defaultAnalysis = "summary"

// auditIntellect looks for inconsistencies in an intellect.
func auditIntellect(i *Intellect, have *inventory) []Finding {
	found := findings(LintPrompts(i))
	if i.Type != "" && i.Type != "internal" {
		found.add(FindingExternalIntellect, SeverityWarning, "type", "the intellect is "+i.Type+"; its answers do not come from this configuration")
	}
	if err := checkForms(i.UserPropertiesForms); err != nil || i.badForms {
		detail := "the forms are not a list of forms"
		if err != nil {
			detail = fault.From(err).Message()
		}
		found.add(FindingForms, SeverityError, "user_properties_forms", detail)
	}
	if err := checkCapabilities(i.Capabilities); err != nil {
		found.add(FindingCapabilities, SeverityError, "capabilities", fault.From(err).Message())
	}
	if len(i.KnowledgeIDs) > MaxKnowledgeIDs {
		found.add(FindingKnowledgeOverCap, SeverityError, "knowledge_ids", fmt.Sprintf("%d knowledge records; the service reads %d", len(i.KnowledgeIDs), MaxKnowledgeIDs))
	}
	for n, id := range i.KnowledgeIDs {
		if have.knowledge != nil && have.knowledge[id] == nil {
			found.add(FindingKnowledgeNotFound, SeverityError, indexed("knowledge_ids", n), fmt.Sprintf("there is no knowledge record %d", id))
		}
	}
	for n, ref := range i.SkillIDs {
		if have.skills != nil && have.skills[ref.ID] == nil {
			found.add(FindingSkillNotFound, SeverityError, indexed("skill_ids", n), "there is no skill "+ref.ID)
		}
	}
	if have.tools == nil {
		return found
	}
	check := func(field string, ids []string) {
		for n, id := range ids {
			tool := have.tools[id]
			if tool == nil {
				found.add(FindingToolNotFound, SeverityError, indexed(field, n), "there is no tool "+id)
				continue
			}
			for _, f := range append(ClientToolReadiness(tool.Name, tool.Config), toolSecrets(tool, i)...) {
				found.add(f.Code, f.Severity, indexed(field, n), "tool "+tool.Name+": "+f.Detail)
			}
		}
	}
	check("tool_ids", i.ToolIDs)
	check("thread_start_tools", i.ThreadStartTools)
	return found
}

// toolSecrets looks for secrets that the request of a tool needs and the intellect lacks.
func toolSecrets(tool *Tool, i *Intellect) []Finding {
	var findings []Finding
	for _, text := range stringsIn(decoded(mustJSON(tool.Config.Request))) {
		for _, f := range LintPrompt(text, PromptContext{Secrets: i.Secrets}) {
			if f.Code == FindingSecretUnresolved || f.Code == FindingSecretPrefix {
				findings = append(findings, f)
			}
		}
	}
	return findings
}

// auditAgent looks for parts of an agent that do not exist.
func auditAgent(a *Agent, have *inventory) []Finding {
	var found findings
	if have.intellects != nil && have.intellects[a.Intellect.ID] == nil {
		found.add(FindingIntellectNotFound, SeverityError, "intellect.id", fmt.Sprintf("there is no intellect %d", a.Intellect.ID))
	}
	for n, id := range a.AvatarIDs {
		if have.avatars != nil && have.avatars[id] == nil {
			found.add(FindingAvatarNotFound, SeverityError, indexed("avatarIds", n), "there is no avatar "+id)
		}
	}
	return found
}

// auditRule looks for objects that a lifecycle rule refers to but that do not exist, and
// for signs that the rule does more, or less, than intended.
func auditRule(r *Rule, have *inventory) []Finding {
	var found findings
	if r.Status == StatusDisabled {
		found.add(FindingRuleDisabled, SeverityWarning, "status", "the rule is disabled")
	}
	if !r.scoped() {
		found.add(FindingUnscopedRule, SeverityWarning, "conditions", "no condition names agents; the rule runs for every one")
	}
	produced := have.produced()
	for n, t := range r.Conditions {
		field := indexed("conditions", n)
		switch t.Field {
		case "object.agent_id":
			var seen []string
			for _, id := range texts(t.Value) {
				switch {
				case slices.Contains(seen, id):
					found.add(FindingDuplicateAgents, SeverityWarning, field, "the agent "+id+" is named twice")
				case id == "default":
					found.add(FindingDefaultAgent, SeverityError, field, "conditions about agents do not match threads of the agent default")
				case have.agents != nil && have.agents[id] == nil:
					found.add(FindingAgentNotFound, SeverityError, field, "there is no agent "+id)
				}
				seen = append(seen, id)
			}
		case "event.changed_keys":
			for _, key := range texts(t.Value) {
				if produced != nil && !produced[key] {
					found.add(FindingChangedKeysUnknown, SeverityWarning, field, "no insight setting and no summary has the key "+key)
				}
			}
		}
	}
	for n, a := range r.Actions {
		field := indexed("actions", n)
		if len(a.InsightSettingIDs) > MaxRuleInsights {
			found.add(FindingTooManyInsights, SeverityError, field, fmt.Sprintf("%d insight settings; a rule may have %d", len(a.InsightSettingIDs), MaxRuleInsights))
		}
		for _, id := range a.InsightSettingIDs {
			switch insight := have.insights[id]; {
			case have.insights == nil:
			case insight == nil:
				found.add(FindingInsightMissing, SeverityError, field, "there is no insight setting "+id)
			case insight.Status == StatusDisabled:
				found.add(FindingInsightDisabled, SeverityWarning, field, "the insight setting "+id+" ("+insight.Key+") is disabled")
			}
		}
		if a.Type != ActionEmail {
			continue
		}
		switch email := have.emails[a.EmailTemplateID]; {
		case have.emails == nil:
		case email == nil:
			found.add(FindingTemplateMissing, SeverityError, field, "there is no e-mail template "+a.EmailTemplateID)
		case produced != nil:
			for _, name := range variablesOf(email.Subject + " " + email.Body) {
				if !produced[name] && !converse.Reserved(name) && !strings.HasPrefix(name, userPrefix) {
					found.add(FindingTemplateTokens, SeverityWarning, field,
						"the e-mail template "+a.EmailTemplateID+" has {{ "+name+" }}, which no insight setting and no summary has as its key")
				}
			}
		}
		if agents := have.withoutForms(r); len(agents) > 0 && len(template.Names(a.To)) > 0 {
			found.add(FindingDTCWithoutForms, SeverityWarning, field,
				"the e-mail goes to an address that the visitor enters, and these agents have no form for it: "+strings.Join(agents, ", "))
		}
		if r.EventType == EventSessionEnded {
			found.add(FindingEmailOnSessionEnded, SeverityWarning, field, "at the end of a session insights are not known yet; wait for analysis_updated")
		}
		if len(r.Conditions) == 0 {
			found.add(FindingEmailUnfiltered, SeverityWarning, field, "without a condition an e-mail is sent for every event")
		}
	}
	return found
}

// withoutForms returns the ids of the agents of a rule whose intellect has no form that asks the
// visitor for properties.
func (i *inventory) withoutForms(r *Rule) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(i.agents)) {
		intellect := i.intellects[i.agents[id].Intellect.ID]
		if intellect != nil && len(intellect.UserPropertiesForms) == 0 && r.concerns(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// concerns reports whether the conditions about agents let the rule run for an agent.
func (r *Rule) concerns(agentID string) bool {
	for _, t := range r.Conditions {
		if t.Field != "object.agent_id" {
			continue
		}
		named := slices.Contains(texts(t.Value), agentID)
		switch t.Operator {
		case "equals", "in":
			if !named {
				return false
			}
		case "notEquals", "notIn":
			if named {
				return false
			}
		}
	}
	return true
}

// texts returns the strings of a condition's value, which may be one or a list.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	case []any:
		var list []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

// Audit reads an intellect, and the account's tools, skills and knowledge, and looks for
// inconsistencies. It writes nothing. Errors are those of Get and of an ended ctx; lists that
// can't be read are left out of the checks.
func (i Intellects) Audit(ctx context.Context, id int64) ([]Finding, error) {
	intellect, err := i.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	d := newDoctor(ctx, i.c)
	d.readParts()
	d.about(fmt.Sprintf("intellect %d", id), auditIntellect(intellect, &d.have))
	return d.findings()
}

// Audit reads a lifecycle rule, and what it refers to, and looks for inconsistencies. It
// writes nothing. Errors are those of Get and of an ended ctx; lists that can't be read are
// left out of the checks.
func (l Lifecycle) Audit(ctx context.Context, id string) ([]Finding, error) {
	rule, err := l.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	d := newDoctor(ctx, l.c)
	d.readAgents()
	d.readIntellects()
	d.readRuleParts()
	d.about("lifecycle rule "+id, auditRule(rule, &d.have))
	return d.findings()
}

// Doctor reads the whole account, or some agents of it, and looks for inconsistencies:
// tools, skills, knowledge, intellects and avatars that do not exist, templates with
// variables that nothing sets, rules with errors, settings and e-mail templates that no
// rule uses. It only reads. Kinds that can't be read are listed as skipped. The error is
// that of reading one of AgentIDs, or that of an ended ctx.
func (c *Client) Doctor(ctx context.Context, in DoctorInput) (*Diagnosis, error) {
	if err := uniqueIDs("AgentIDs", in.AgentIDs); err != nil {
		return nil, err
	}
	d := newDoctor(ctx, c)
	d.readParts()
	var agents []*Agent
	if len(in.AgentIDs) > 0 {
		for _, id := range in.AgentIDs {
			agent, err := c.Agents.Get(ctx, id)
			if err != nil {
				return nil, err
			}
			agents = append(agents, agent)
		}
		d.diagnosis.Checked["agents"] = len(agents)
	} else {
		agents = d.readAgents()
	}
	wanted := map[int64]bool{}
	for _, a := range agents {
		wanted[a.Intellect.ID] = true
	}
	for _, i := range d.readIntellects() {
		if len(in.AgentIDs) == 0 || wanted[i.ID] {
			d.about(named("intellect", fmt.Sprint(i.ID), i.Name), auditIntellect(i, &d.have))
		}
	}
	for _, a := range agents {
		d.about(named("agent", a.ID, a.DisplayName), auditAgent(a, &d.have))
	}
	if len(in.AgentIDs) == 0 {
		d.auditRules()
	}
	return d.done()
}

func named(kind, id, name string) string {
	if name == "" {
		return kind + " " + id
	}
	return kind + " " + id + " (" + name + ")"
}

// doctor is one run of [Client.Doctor].
type doctor struct {
	c         *Client
	ctx       context.Context
	have      inventory
	diagnosis *Diagnosis
}

func newDoctor(ctx context.Context, c *Client) *doctor {
	return &doctor{c: c, ctx: ctx, diagnosis: &Diagnosis{Findings: []Finding{}, Checked: map[string]int{}, Skipped: map[string]string{}}}
}

func (d *doctor) about(object string, findings []Finding) {
	for _, f := range findings {
		f.Object = object
		d.diagnosis.Findings = append(d.diagnosis.Findings, f)
	}
}

// done returns what was found, the errors first. When ctx has ended, lists that were to be read
// are missing, and it returns that error.
func (d *doctor) done() (*Diagnosis, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	sortFindings(d.diagnosis.Findings)
	for _, f := range d.diagnosis.Findings {
		if f.Severity == SeverityError {
			d.diagnosis.Summary.Errors++
		} else {
			d.diagnosis.Summary.Warnings++
		}
	}
	return d.diagnosis, nil
}

func (d *doctor) findings() ([]Finding, error) {
	diagnosis, err := d.done()
	if err != nil {
		return nil, err
	}
	return diagnosis.Findings, nil
}

// read returns the objects of a list, in order and by their ids, and counts them. If the whole
// list can't be read, it records the reason, and returns those read so far and a nil map.
func read[T any, ID comparable](d *doctor, kind string, objects iter.Seq2[*T, error], id func(*T) ID) ([]*T, map[ID]*T) {
	var all []*T
	byID := map[ID]*T{}
	for object, err := range objects {
		if err != nil {
			d.diagnosis.Skipped[kind] = why(err)
			return all, nil
		}
		all = append(all, object)
		byID[id(object)] = object
	}
	d.diagnosis.Checked[kind] = len(all)
	return all, byID
}

// why returns in a few words why a list could not be read.
func why(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return string(f.Code) + ": " + f.Message()
	}
	return fault.From(err).Message()
}

// readParts reads what intellects and agents refer to.
func (d *doctor) readParts() {
	c, ctx, all := d.c, d.ctx, PageSize(MaxPageSize)
	_, d.have.tools = read(d, "tools", c.Tools.List(ctx, all), func(t *Tool) string { return t.ID })
	_, d.have.skills = read(d, "skills", c.Skills.List(ctx, all), func(s *Skill) string { return s.ID })
	_, d.have.knowledge = read(d, "knowledge", c.Knowledge.List(ctx, all), func(r *KnowledgeRecord) int64 { return r.ID })
	_, d.have.avatars = read(d, "avatars", c.Avatars.List(ctx, all), func(a *Avatar) string { return a.ID })
}

func (d *doctor) readAgents() (agents []*Agent) {
	agents, d.have.agents = read(d, "agents", d.c.Agents.List(d.ctx, AgentFilter{}, PageSize(MaxPageSize)), func(a *Agent) string { return a.ID })
	return agents
}

func (d *doctor) readIntellects() (intellects []*Intellect) {
	intellects, d.have.intellects = read(d, "intellects", d.c.Intellects.List(d.ctx, PageSize(MaxPageSize)), func(i *Intellect) int64 { return i.ID })
	return intellects
}

// readRuleParts reads what rules refer to.
func (d *doctor) readRuleParts() (insights []*Insight, emails []*EmailTemplate) {
	c, ctx, all := d.c, d.ctx, PageSize(MaxPageSize)
	insights, d.have.insights = read(d, "insight settings", c.Insights.List(ctx, InsightFilter{}, all), func(i *Insight) string { return i.ID })
	emails, d.have.emails = read(d, "e-mail templates", c.EmailTemplates.List(ctx, all), func(e *EmailTemplate) string { return e.ID })
	return insights, emails
}

// auditRules audits the rules, and looks for insight settings and e-mail templates that no
// rule refers to.
func (d *doctor) auditRules() {
	insights, emails := d.readRuleParts()
	rules, complete := read(d, "lifecycle rules", d.c.Lifecycle.List(d.ctx, PageSize(MaxPageSize)), func(r *Rule) string { return r.ID })
	used := map[string]bool{}
	for _, r := range rules {
		d.about(named("lifecycle rule", r.ID, r.Name), auditRule(r, &d.have))
		for _, id := range r.insights() {
			used[id] = true
		}
		for _, a := range r.Actions {
			used[a.EmailTemplateID] = true
		}
	}
	if complete == nil {
		return
	}
	orphan := func(kind, id, name, code string) {
		if !used[id] {
			d.about(named(kind, id, name), []Finding{{Code: code, Severity: SeverityWarning, Detail: "no lifecycle rule names the " + kind}})
		}
	}
	for _, i := range insights {
		orphan("insight setting", i.ID, i.Key, FindingOrphanInsight)
	}
	for _, e := range emails {
		orphan("e-mail template", e.ID, e.Name, FindingOrphanEmail)
	}
}
