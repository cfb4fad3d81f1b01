// Reads an account, and reports what does not fit together. It writes nothing.
import { recordOf, type Page } from "./calls.js"
import { bad, isObject, isText } from "./fault.js"
import { callChecks, settingsOf, type CallSettings, type Checks } from "./given.js"
import type { Http } from "./http.js"
import { buildUserPropertiesForms, secretsOf, validateSecretRefs, type intellects, type PropertiesForm } from "./intellects.js"
import type { knowledge } from "./knowledge.js"
import { isSystem, lintPrompts, summaryOf, validatePromptVars, type Finding, type LintSummary } from "./lint.js"
import { plainCapabilities } from "../core/options.js"
import { resolveIntellectId, type agents, type avatars, type emailTemplates, type insightSettings, type lifecycle, type skills, type tools } from "./resources.js"
import type { Meta } from "./small.js"
import { tools as builders } from "./toolconfig.js"
import type { Ks } from "./token.js"
import type { Agent, EmailTemplate, InsightSetting, Intellect, LifecycleRule, RuleCondition, ToolRecord } from "./types.js"

/** Something that does not fit, in one object of the account. */
export interface AuditFinding extends Finding {
  /** The object, such as `intellect 7`. */
  object: string
}

/** What an audit of one object has found; errors come first. */
export interface AuditResult {
  ok: boolean
  summary: LintSummary
  findings: AuditFinding[]
  _meta: Meta
}

/** What `doctor` has found. */
export interface Diagnosis extends AuditResult {
  /** How many objects of each kind were read. */
  checked: Record<string, number>
  /** Why a kind could not be read; what depends on it was not checked. */
  skipped: Record<string, string>
}

export interface DoctorSettings extends CallSettings {
  /** Only these agents and their intellects. Default: the whole account, with its rules and settings. */
  agentIds?: readonly string[]
  /** How many objects a request gets, 1 to 500; default 500. */
  pageSize?: number
}

const doctorChecks: Checks<DoctorSettings> = { ...callChecks, agentIds: "any", pageSize: "any" }

/** The parts of a client that an audit reads with. */
export interface AuditParts {
  agents: ReturnType<typeof agents>
  avatars: ReturnType<typeof avatars>
  intellects: ReturnType<typeof intellects>["resource"]
  tools: ReturnType<typeof tools>
  skills: ReturnType<typeof skills>
  knowledge: ReturnType<typeof knowledge>
  lifecycle: ReturnType<typeof lifecycle>
  insightSettings: ReturnType<typeof insightSettings>
  emailTemplates: ReturnType<typeof emailTemplates>
}

/** The objects of a kind by their ids; undefined when they could not be read. */
type Known<Row> = ReadonlyMap<unknown, Row> | undefined

const maxKnowledgeIds = 1
const maxRuleInsights = 20
// The key of the analysis of an intellect without an avatar_summary_config of its own.
const defaultAnalysis = "summary"

const named = (kind: string, id: unknown, name?: unknown): string => `${kind} ${id}${isText(name) ? ` (${name})` : ""}`

/** One run of an audit. */
class Examination {
  readonly #parts: AuditParts
  readonly #ks: Ks
  readonly #settings: { pageSize: number; signal?: AbortSignal | undefined }
  readonly findings: AuditFinding[] = []
  readonly checked: Record<string, number> = {}
  readonly skipped: Record<string, string> = {}
  agents: Known<Agent>
  intellects: Known<Intellect>
  avatars: Known<unknown>
  tools: Known<ToolRecord>
  skills: Known<unknown>
  knowledge: Known<unknown>
  insights: Known<InsightSetting>
  emails: Known<EmailTemplate>

  constructor(parts: AuditParts, ks: Ks, { pageSize = 500, signal }: DoctorSettings) {
    this.#parts = parts
    this.#ks = ks
    this.#settings = { pageSize, signal }
  }

  /** Reads a list to its end; one that can't be read is skipped. */
  async read<Row>(kind: string, list: (ks: Ks, settings: { pageSize: number; signal?: AbortSignal | undefined }) => Page<Row>, idOf: (row: Row) => unknown): Promise<Known<Row>> {
    try {
      const rows = await list(this.#ks, this.#settings).all()
      this.checked[kind] = rows.length
      return new Map(rows.map((row) => [idOf(row), row]))
    } catch (error) {
      const { code = "error", message } = error as { code?: string; message: string }
      if (code === "aborted" || code === "bad_request" || code === "wrong_token_scope") throw error
      this.skipped[kind] = `${code}: ${message}`
      return undefined
    }
  }

  /** Reads what intellects and agents refer to. */
  async readParts(): Promise<void> {
    const { tools, skills, knowledge, avatars } = this.#parts
    const idOf = ({ id }: { id: unknown }) => id
    this.tools = await this.read("tools", tools.list, idOf)
    this.skills = await this.read("skills", skills.list, idOf)
    this.knowledge = await this.read("knowledge", knowledge.list, idOf)
    this.avatars = await this.read("avatars", avatars.list, idOf)
  }

  async readAgents(): Promise<void> {
    this.agents = await this.read("agents", this.#parts.agents.list, ({ agentId }) => agentId)
  }

  async readIntellects(): Promise<void> {
    this.intellects = await this.read("intellects", this.#parts.intellects.list, resolveIntellectId)
  }

  /** Reads what rules refer to. */
  async readRuleParts(): Promise<void> {
    this.insights = await this.read("insight settings", this.#parts.insightSettings.list, ({ id }) => id)
    this.emails = await this.read("e-mail templates", this.#parts.emailTemplates.list, ({ id }) => id)
  }

  add(object: string, severity: Finding["severity"], code: string, path: string, message: string): void {
    this.findings.push({ object, severity, code, path, message })
  }

  result(http: Http, source: string, scope: string): AuditResult {
    this.findings.sort((a, b) => Number(a.severity === "warning") - Number(b.severity === "warning"))
    const summary = summaryOf(this.findings)
    return { ok: summary.ok, summary, findings: this.findings, _meta: http.meta(source, { scope }) }
  }

  /** Looks for what does not fit in an intellect. */
  intellect(record: Intellect): void {
    const object = named("intellect", resolveIntellectId(record), record["name"])
    const add = (severity: Finding["severity"], code: string, path: string, message: string) => this.add(object, severity, code, path, message)
    const settings = { allowClientVariables: record.allow_client_variables !== false }
    const texts = (["base_directive", "glossary", "opening_phrase"] as const).filter((field) => typeof record[field] === "string")
    const findings = [
      ...(Array.isArray(record.prompts) ? lintPrompts(record.prompts, settings).findings : []),
      ...texts.flatMap((path) => validatePromptVars(record[path] as string, { ...settings, path }).findings),
    ]
    for (const { severity, code, path, message } of findings) add(severity, `prompt_${code}`, path, message)
    if (record.type !== undefined && record.type !== "internal") add("warning", "external_intellect", "type", `the intellect is ${record.type}: its answers do not come from this configuration`)
    const forms: unknown = record.user_properties_forms ?? []
    const wrongForms = Array.isArray(forms) ? forms.length > 0 && refusalOf(() => buildUserPropertiesForms(forms as PropertiesForm[])) : "the forms must be a list"
    if (wrongForms) add("error", "invalid_user_properties_forms", "user_properties_forms", wrongForms)
    const wrongCapabilities = refusalOf(() => plainCapabilities(record.capabilities ?? {}))
    if (wrongCapabilities) add("error", "capabilities_invalid", "capabilities", wrongCapabilities)
    const { knowledge_ids: knowledgeIds = [], skill_ids: skillIds = [], tool_ids: toolIds = [], thread_start_tools: startTools = [] } = record
    if ((knowledgeIds ?? []).length > maxKnowledgeIds) add("error", "knowledge_ids_over_cap", "knowledge_ids", `there are ${knowledgeIds!.length} knowledge records, and the service reads ${maxKnowledgeIds}`)
    const missing = (known: Known<unknown>, code: string, field: string, what: string, ids: readonly unknown[] | null) => {
      for (const [i, id] of (ids ?? []).entries()) if (known && !known.has(id)) add("error", code, `${field}[${i}]`, `there is no ${what} ${id}`)
    }
    missing(this.knowledge, "knowledge_not_found", "knowledge_ids", "knowledge record", knowledgeIds)
    missing(this.skills, "skill_not_found", "skill_ids", "skill", (skillIds ?? []).map(({ id }) => id))
    missing(this.tools, "tool_not_found", "tool_ids", "tool", toolIds)
    missing(this.tools, "tool_not_found", "thread_start_tools", "tool", startTools)
    const used = [...(toolIds ?? []), ...(startTools ?? [])].flatMap((id) => this.tools?.get(id) ?? [])
    const refs = validateSecretRefs({ secretNames: Object.keys(secretsOf(record)), tools: used.map(({ config }) => config), prompts: [record.base_directive, record.glossary, record.opening_phrase, record.prompts] })
    for (const { ref, where } of refs.unresolved) add("error", "secret_ref_unresolved", where, `${ref} is not a secret of the intellect`)
    for (const { ref, where, note } of refs.badPrefix) add("error", "secret_ref_bad_prefix", where, `${ref} never resolves: ${note}`)
    if (used.some(({ config }) => isObject(config) && config["type"] === "client")) {
      for (const warning of builders.clientToolReadiness(record).warnings) add("warning", "client_tools_not_ready", "capabilities", warning)
    }
  }

  /** Looks for parts of an agent that do not exist. */
  agent(record: Agent): void {
    const object = named("agent", record.agentId, record.displayName)
    const id = resolveIntellectId(record.intellect)
    if (this.intellects && !this.intellects.has(id)) this.add(object, "error", "intellect_not_found", "intellect.id", `there is no intellect ${id}`)
    for (const [i, avatarId] of (record.avatarIds ?? []).entries()) {
      if (this.avatars && !this.avatars.has(avatarId)) this.add(object, "error", "avatar_not_found", `avatarIds[${i}]`, `there is no avatar ${avatarId}`)
    }
  }

  /** The keys that the analysis of a thread may have; undefined when they are not known. */
  #produced(): Set<string> | undefined {
    if (!this.insights || !this.intellects) return undefined
    const keys = new Set([defaultAnalysis])
    for (const { key } of this.insights.values()) keys.add(key)
    for (const { avatar_summary_config: summary } of this.intellects.values()) for (const key of Object.keys(summary?.analysis ?? {})) keys.add(key)
    return keys
  }

  /** Looks for what a rule refers to and does not exist, and for signs that it does more, or less, than intended. */
  rule(record: LifecycleRule): void {
    const object = named("lifecycle rule", record.id, record.name)
    const add = (severity: Finding["severity"], code: string, path: string, message: string) => this.add(object, severity, code, path, message)
    const { conditions = [], actions = [] } = record
    if (record.status === "disabled") add("warning", "rule_disabled", "status", "the rule is disabled")
    if (!conditions.some(({ field }) => field === aboutAgent)) add("warning", "unscoped_rule", "conditions", "no condition names agents: the rule runs for every one")
    const produced = this.#produced()
    for (const [i, { field, value }] of conditions.entries()) {
      const path = `conditions[${i}]`
      const texts = textsOf(value)
      if (field === aboutAgent) {
        for (const [n, id] of texts.entries()) {
          if (texts.indexOf(id) < n) add("warning", "duplicate_agent_ids", path, `the agent ${id} is named twice`)
          else if (id === "default") add("error", "agent_id_default", path, "conditions about agents do not match threads of the agent default")
          else if (this.agents && !this.agents.has(id)) add("error", "agent_not_found", path, `there is no agent ${id}`)
        }
      } else if (field === "event.changed_keys") {
        for (const key of texts) if (produced && !produced.has(key)) add("warning", "changed_keys_unproduced", path, `no insight setting and no summary has the key ${key}`)
      }
    }
    for (const [i, action] of actions.entries()) {
      const path = `actions[${i}]`
      const { insightSettingIds = [] } = action
      if (insightSettingIds.length > maxRuleInsights) add("error", "too_many_insight_settings", path, `there are ${insightSettingIds.length} insight settings, and a rule may have ${maxRuleInsights}`)
      for (const id of insightSettingIds) {
        const insight = this.insights?.get(id)
        if (this.insights && !insight) add("error", "insight_setting_missing", path, `there is no insight setting ${id}`)
        else if (insight?.status === "disabled") add("warning", "insight_setting_disabled", path, `the insight setting ${id} (${insight.key}) is disabled`)
      }
      if (action.type !== "sendEmail") continue
      const email = this.emails?.get(action.emailTemplateId)
      if (this.emails && !email) add("error", "template_missing_or_deleted", path, `there is no e-mail template ${action.emailTemplateId}`)
      for (const name of email && produced ? variablesIn(`${email.subject} ${email.body}`) : []) {
        if (!produced!.has(name) && !isSystem(name)) add("warning", "template_tokens_unproduced", path, `the e-mail template ${email!.id} has {{ ${name} }}, which no insight setting and no summary has as its key`)
      }
      const withoutForms = variablesIn(action.to ?? "").length > 0 ? this.#withoutForms(conditions) : []
      if (withoutForms.length > 0) add("warning", "dtc_without_forms", path, `the e-mail goes to an address that the visitor enters, and these agents have no form for it: ${withoutForms.join(", ")}`)
      if (record.eventType === "session_ended") add("warning", "email_on_session_ended", path, "at the end of a session insights are not known yet: wait for analysis_updated")
      if (conditions.length === 0) add("warning", "email_unfiltered", path, "without a condition an e-mail is sent for every event")
    }
  }

  /** The agents of a rule whose intellect has no form that asks the visitor for properties. */
  #withoutForms(conditions: readonly RuleCondition[]): string[] {
    return [...(this.agents?.values() ?? [])].filter(({ agentId, intellect }) => {
      const record = this.intellects?.get(resolveIntellectId(intellect))
      return record && !record.user_properties_forms?.length && concerns(conditions, agentId)
    }).map(({ agentId }) => agentId).sort()
  }

  /** Looks for insight settings and e-mail templates that no rule names. */
  orphans(rules: Iterable<LifecycleRule>): void {
    const used = new Set([...rules].flatMap(({ actions = [] }) => actions.flatMap(({ insightSettingIds = [], emailTemplateId }) => [...insightSettingIds, emailTemplateId])))
    for (const { id, key } of this.insights?.values() ?? []) if (!used.has(id)) this.add(named("insight setting", id, key), "warning", "orphan_insight_setting", "", "no lifecycle rule names the insight setting")
    for (const { id, name } of this.emails?.values() ?? []) if (!used.has(id)) this.add(named("e-mail template", id, name), "warning", "orphan_email_template", "", "no lifecycle rule names the e-mail template")
  }
}

const aboutAgent = "object.agent_id"

/** Whether the conditions about agents let a rule run for an agent. */
const concerns = (conditions: readonly RuleCondition[], agentId: string): boolean => conditions.every(({ field, operator = "", value }) => {
  if (field !== aboutAgent || !["equals", "in", "notEquals", "notIn"].includes(operator)) return true
  return textsOf(value).includes(agentId) === !operator.startsWith("not")
})

const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === "string")

const variablesIn = (text: string): string[] => validatePromptVars(text).variables

/** Why a check refuses something, undefined if it does not. */
function refusalOf(check: () => unknown): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** Audits one intellect. */
export async function auditIntellect(http: Http, parts: AuditParts, id: number, ks: Ks, settings?: CallSettings): Promise<AuditResult> {
  const record = recordOf(await parts.intellects.get(id, ks, settings), "v1/intellect/get")
  const examination = new Examination(parts, ks, { ...settings })
  await examination.readParts()
  examination.intellect(record)
  return examination.result(http, "intellectConfig.audit", `intellect:${id}`)
}

/** Audits one lifecycle rule. */
export async function auditRule(http: Http, parts: AuditParts, id: string, ks: Ks, settings?: CallSettings): Promise<AuditResult> {
  const record = recordOf(await parts.lifecycle.get(id, ks, settings), "lifecycle/get")
  const examination = new Examination(parts, ks, { ...settings })
  await examination.readAgents()
  await examination.readIntellects()
  await examination.readRuleParts()
  examination.rule(record)
  return examination.result(http, "lifecycle.audit", `lifecycle:${id}`)
}

/** Audits an account, or some of its agents. */
export async function doctor(http: Http, parts: AuditParts, ks: Ks, settings?: DoctorSettings): Promise<Diagnosis> {
  const { agentIds, signal } = settingsOf(settings, doctorChecks)
  if (agentIds !== undefined && !(Array.isArray(agentIds) && agentIds.every(isText) && new Set(agentIds).size === agentIds.length)) throw bad("agentIds must be an array of ids, each once")
  const examination = new Examination(parts, ks, { ...settings })
  await examination.readParts()
  let chosen: readonly Agent[]
  if (agentIds?.length) {
    chosen = await Promise.all(agentIds.map(async (id) => recordOf(await parts.agents.get(id, ks, { signal }), "agent/get")))
    examination.checked["agents"] = chosen.length
  } else {
    await examination.readAgents()
    chosen = [...(examination.agents?.values() ?? [])]
  }
  await examination.readIntellects()
  const wanted = agentIds?.length ? new Set(chosen.map(({ intellect }) => resolveIntellectId(intellect))) : undefined
  for (const [id, intellect] of examination.intellects ?? []) if (!wanted || wanted.has(id as number)) examination.intellect(intellect)
  for (const agent of chosen) examination.agent(agent)
  if (!agentIds?.length) {
    await examination.readRuleParts()
    const rules = await examination.read("lifecycle rules", parts.lifecycle.list, ({ id }) => id)
    for (const rule of rules?.values() ?? []) examination.rule(rule)
    if (rules) examination.orphans(rules.values())
  }
  const { checked, skipped } = examination
  return { ...examination.result(http, "doctor", agentIds?.length ? `agents:${agentIds.join(",")}` : "account"), checked, skipped }
}
