// Intellects. The service replaces maps as a whole, so every change of one reads the record first.
import { resolveCapability, type ResolvedCapability } from "../compat/capabilities.js"
import { plainCapabilities } from "../core/options.js"
import { CALL_STAGES, SKILL_MODES } from "../generated/management.js"
import { capabilityNames } from "../generated/settings.js"
import { call, confirm, confirmChecks, fields, isRecordId, list, methods, number, recordOf, type Confirmation, type Json } from "./calls.js"
import { bad, fault, isObject, isText } from "./fault.js"
import { callChecks, given, settingsOf, type CallSettings, type Checks } from "./given.js"
import type { Http } from "./http.js"
import { assembleSystemPrompt, lintPrompts, type AssembledPrompt, type PromptLint } from "./lint.js"
import type { Meta } from "./small.js"
import { clientToolReadiness } from "./toolconfig.js"
import type { Ks } from "./token.js"
import type { Capabilities, CapabilityState, Intellect, IntellectFields, ModelConfiguration, PromptBlock, SkillReference, SummaryConfig } from "./types.js"

const genie = "genieUrl"

/** The properties of an intellect that `intellectConfig.patch` changes. */
const editable: readonly string[] = [
  "prompts", "base_directive", "glossary", "capabilities", "tool_ids", "secrets", "user_properties_forms", "mcp_servers", "allow_client_variables", "knowledge_ids", "skill_ids",
  "name", "description", "tags", "status", "opening_phrase", "thread_start_tools", "model_configuration", "avatar_summary_config", "language", "metadata",
]

/** What snapshots have. */
const snapshotFields = ["prompts", "base_directive", "glossary", "capabilities", "status"] as const
type SnapshotField = (typeof snapshotFields)[number]

export interface Snapshot {
  configId: number
  label: string | null
  type: string
  fields: { [Field in SnapshotField]?: IntellectFields[Field] }
  _meta: Meta
}

/** Settings of a change that may be forced. */
export interface ForceSettings extends CallSettings {
  /** Also switches a capability on that is `disabled`. */
  force?: boolean
}

const forceChecks: Checks<ForceSettings> = { ...callChecks, force: "boolean" }

/** Settings of a change of prompts. */
export interface PromptSettings extends CallSettings {
  baseDirective?: string | null
  glossary?: string | null
  status?: number
  knownVars?: readonly string[]
  /** False checks nothing; `strict` refuses warnings too. Default: errors are refused. */
  lint?: boolean | "strict"
}

const promptChecks: Checks<PromptSettings> = { ...callChecks, baseDirective: "string", glossary: "string", status: "integer", knownVars: "array", lint: "any" }

/** Limits and models of an intellect's brain, by names of this client; docs/management.md has those that are sent. */
export interface BrainConfig {
  agentLlm?: string
  agentFastLlm?: string
  agentAvatarLlm?: string
  rateLimits?: { perMinute?: number; perHour?: number }
  /** 0 blocks visitors without a user id. */
  anonymousRateLimits?: { perMinute?: number; perHour?: number }
  runQuotaCheck?: boolean
  webSearch?: { includeDomains?: string[]; includeAnswer?: false | "basic" | "advanced"; searchDepth?: "basic" | "advanced" | "ultra-fast"; maxResults?: number }
}

/** The outcome of a change that an account may not be allowed. */
export type Applied<More> = ({ applied: true; _meta: Meta } & More) | { applied: false; code: string; reason: string; _meta: Meta }

const readOnly: Readonly<Record<string, string>> = {
  id: "set by the service", partner_id: "set by the service", user_id: "the owner", created_at: "set by the service", updated_at: "set by the service", type: "chosen when it is made",
}

const brainNames: readonly (readonly [keyof BrainConfig, string])[] = [["agentLlm", "agent_llm"], ["agentFastLlm", "agent_fast_llm"], ["agentAvatarLlm", "agent_avatar_llm"]]

/** Checks a brain configuration, and returns it as it is sent, with the names of what is in it. Throws `bad_request`. */
export function buildBrainConfigPatch(config: BrainConfig): { config: Json; applied: string[] } {
  if (!isObject(config)) throw bad("the brain configuration must be an object")
  const { rateLimits, anonymousRateLimits, runQuotaCheck, webSearch } = config as BrainConfig
  const wire: Json = {}
  for (const [name, key] of brainNames) {
    const model = (config as BrainConfig)[name]
    if (model === undefined) continue
    if (!isText(model)) throw bad(`${name} must be the name of a model`)
    wire[key] = model
  }
  for (const [name, limits, prefix] of [["rateLimits", rateLimits, ""], ["anonymousRateLimits", anonymousRateLimits, "anonymous_"]] as const) {
    if (limits === undefined) continue
    const given = ([["perMinute", "minute"], ["perHour", "hour"]] as const).filter(([field]) => isObject(limits) && limits[field] !== undefined)
    if (given.length === 0) throw bad(`${name} must have perMinute or perHour`)
    for (const [field, unit] of given) {
      if (!isRecordId(limits[field])) throw bad(`${name}.${field} must be an integer that is not negative`)
      wire[`${prefix}rate_limit_per_${unit}`] = limits[field]
    }
  }
  if (runQuotaCheck !== undefined) {
    if (typeof runQuotaCheck !== "boolean") throw bad("runQuotaCheck must be true or false")
    wire["run_quota_check"] = runQuotaCheck
  }
  if (webSearch !== undefined) wire["web_search_config"] = webSearchOf(webSearch)
  if (Object.keys(wire).length === 0) throw bad("the brain configuration must have at least one property")
  return { config: wire, applied: Object.keys(wire) }
}

function webSearchOf(search: unknown): Json {
  if (!isObject(search)) throw bad("webSearch must be an object")
  const { includeDomains, includeAnswer, searchDepth = "ultra-fast", maxResults = 5 } = search
  if (includeDomains !== undefined && !(Array.isArray(includeDomains) && includeDomains.every(isText))) throw bad("webSearch.includeDomains must be an array of host names")
  if (includeAnswer !== undefined && ![false, "basic", "advanced"].includes(includeAnswer as string)) throw bad("webSearch.includeAnswer must be false, basic or advanced")
  if (!["basic", "advanced", "ultra-fast"].includes(searchDepth as string)) throw bad("webSearch.searchDepth must be basic, advanced or ultra-fast")
  if (!(isRecordId(maxResults) && maxResults > 0)) throw bad("webSearch.maxResults must be a positive integer")
  return { ...(includeDomains !== undefined && { include_domains: includeDomains }), ...(includeAnswer !== undefined && { include_answer: includeAnswer }), search_depth: searchDepth, max_results: maxResults }
}

/** A form that asks the visitor for properties. */
export interface PropertiesForm {
  callStage?: (typeof CALL_STAGES)[number]
  call_stage?: (typeof CALL_STAGES)[number]
  properties: readonly { key: string; type?: string; [more: string]: unknown }[]
}

/** Checks forms and returns them as they are sent. Throws `bad_request`. */
export function buildUserPropertiesForms(input: PropertiesForm | readonly PropertiesForm[]): Json[] {
  const forms = Array.isArray(input) ? (input as readonly PropertiesForm[]) : [input as PropertiesForm]
  if (forms.length === 0) throw bad("at least one form is required; clearUserPropertiesForms removes all")
  return forms.map((form, i) => {
    if (!isObject(form)) throw bad(`form ${i} must be an object { callStage, properties }`)
    const { callStage, call_stage = callStage, properties } = form as unknown as PropertiesForm
    if (!CALL_STAGES.includes(call_stage!)) throw bad(`callStage of form ${i} must be one of ${CALL_STAGES.join(", ")}`)
    if (!Array.isArray(properties) || properties.length === 0) throw bad(`form ${i} must have at least one property`)
    return {
      call_stage,
      properties: properties.map((property: Json) => {
        if (!isObject(property) || !isText(property["key"])) throw bad(`each property of form ${i} needs a key`)
        return { ...property, type: property["type"] ?? "str" }
      }),
    }
  })
}

/** A reference to a secret in a text. */
export interface SecretReference {
  name: string
  where: string
  /** Whether it is written as a secret must be. */
  prefixed: boolean
}

export interface SecretCheck {
  ok: boolean
  /** References to secrets that are not stored. */
  unresolved: { ref: string; where: string }[]
  /** References that the service never resolves. */
  badPrefix: { ref: string; where: string; note: string }[]
  /** Secrets that nothing refers to. */
  unused: string[]
  references: SecretReference[]
}

/** Checks the references to secrets in tools and prompts. Sends nothing, and never throws. */
export function validateSecretRefs(input: { secretNames?: readonly string[]; tools?: readonly unknown[]; prompts?: readonly unknown[] }): SecretCheck
export function validateSecretRefs(toolConfig: unknown, secretNames: readonly string[]): SecretCheck
export function validateSecretRefs(input: unknown, names?: readonly string[]): SecretCheck {
  const given = (names ? { secretNames: names, tools: [input] } : isObject(input) ? input : {}) as { secretNames?: readonly string[]; tools?: readonly unknown[]; prompts?: readonly unknown[] }
  const known = Array.isArray(given.secretNames) ? given.secretNames : []
  const references: SecretReference[] = []
  const badPrefix: SecretCheck["badPrefix"] = []
  for (const [where, values] of [["tools", given.tools], ["prompts", given.prompts]] as const) {
    for (const text of textsOf(values)) {
      for (const [, inside] of text.matchAll(/\{\{([^{}]*)\}\}/g)) {
        const parts = inside!.trim().split(/[\s|]/, 1)[0]!.split(".")
        const at = parts.indexOf("secrets")
        const name = at < 0 ? undefined : parts[at + 1]
        if (!name) continue
        references.push({ name, where, prefixed: at === 0 })
        if (at > 0) badPrefix.push({ ref: parts.slice(0, at + 2).join("."), where, note: `write {{secrets.${name}}}` })
      }
      const bare = /^secrets\.([\w-]+)$/.exec(text)
      if (bare) references.push({ name: bare[1]!, where, prefixed: true })
    }
  }
  const unresolved = references.filter(({ name, prefixed }) => prefixed && !known.includes(name)).map(({ name, where }) => ({ ref: `secrets.${name}`, where }))
  return { ok: unresolved.length === 0 && badPrefix.length === 0, unresolved, badPrefix, unused: known.filter((name) => !references.some((reference) => reference.name === name)), references }
}

/** All texts in a value. */
function textsOf(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value]
  if (typeof value !== "object" || value === null || depth > 32) return []
  return Object.values(value).flatMap((inner) => textsOf(inner, depth + 1))
}

const mask = "***"

/** What differs between two snapshots. Sends nothing. */
function diffSnapshots(a: Snapshot, b: Snapshot) {
  for (const snapshot of [a, b]) if (!isObject(snapshot?.fields)) throw bad("both arguments must be snapshots")
  const byKey = ({ fields: { prompts } }: Snapshot) => new Map((prompts ?? []).map((block) => [block.key, JSON.stringify(block)]))
  const [before, after] = [byKey(a), byKey(b)]
  const common = (keys: Iterable<string>, other: Map<string, string>) => [...keys].filter((key) => other.has(key)).join("\n")
  const differs = (field: SnapshotField) => JSON.stringify(sorted(a.fields[field])) !== JSON.stringify(sorted(b.fields[field]))
  return {
    prompts: {
      added: [...after.keys()].filter((key) => !before.has(key)),
      removed: [...before.keys()].filter((key) => !after.has(key)),
      modified: [...after.keys()].filter((key) => before.has(key) && before.get(key) !== after.get(key)),
      reordered: common(before.keys(), after) !== common(after.keys(), before),
    },
    scalarChanged: (["base_directive", "glossary", "status"] as const).filter(differs),
    capabilitiesChanged: differs("capabilities"),
  }
}

const sorted = (value: unknown): unknown => (isObject(value) ? Object.fromEntries(Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1))) : (value ?? null))

/** The secrets of a record, with the mask in place of the values. */
export const secretsOf = (record: Intellect): Record<string, string> => {
  const { config, secrets } = record
  const found = (isObject(config) && config["secrets"]) || secrets
  // A list has the names alone.
  return Array.isArray(found) ? Object.fromEntries(found.map((name) => [String(name), mask])) : isObject(found) ? Object.fromEntries(Object.keys(found).map((name) => [name, mask])) : {}
}

export function intellects(http: Http) {
  const calls = methods(http, {
    /** Lists intellects. A list may be a little older than what was written, and its rows may lack `tool_ids`. */
    list: list<Intellect>(genie, "v1/intellect/list"),
    get: call<(id: number, ks: Ks, settings?: CallSettings) => Promise<Intellect>>(genie, "v1/intellect/get", [number("id")]),
    /** Adds an intellect as it is given; the service's default status is 1, pending. */
    add: call<(intellect: IntellectFields & { type?: string }, ks: Ks, settings?: CallSettings) => Promise<Intellect>>(genie, "v1/intellect/add", [fields()], { key: "random" }),
    /** Writes an intellect as it is given; maps are replaced as a whole. */
    update: call<(intellect: IntellectFields & { id: number; type: string }, ks: Ks, settings?: CallSettings) => Promise<Intellect>>(genie, "v1/intellect/update", [fields([], ({ id, type }) => {
      if (!isRecordId(id)) throw bad("id must be an integer that is not negative")
      if (!isText(type)) throw fault("missing_discriminator", "the type of the intellect is required, such as internal; it can't be changed")
    })]),
    delete: call<(id: number, ks: Ks, settings: Confirmation) => Promise<unknown>>(genie, "v1/intellect/delete", [number("id")], { removes: "an intellect", key: "random" }),
  })
  const read = async (id: number, ks: Ks, settings?: CallSettings) => recordOf(await calls.get(id, ks, settings), "v1/intellect/get")
  const writeMeta = (id: number) => http.meta("v1/intellect/update", { scope: `intellect:${id}` })

  /** Reads an intellect and writes it back with a change. */
  const merge = async (id: number, change: (current: Intellect) => IntellectFields, ks: Ks, settings?: CallSettings, whole = true): Promise<{ result: Intellect; sent: IntellectFields }> => {
    const current = await read(id, ks, settings)
    if (current.type === "external") throw bad("an external intellect can't be changed here")
    const sent = change(current)
    const body = { ...(whole && { ...kept(current), status: current.status ?? 2 }), ...sent, id, type: current.type ?? "internal" }
    return { result: await calls.update(body, ks, settings), sent }
  }

  const setCapabilities = async (id: number, map: Capabilities, ks: Ks, settings?: ForceSettings) => {
    const { force = false, ...rest } = settingsOf(settings, forceChecks)
    const changes = plainCapabilities(map) as Capabilities
    if (Object.keys(changes).length === 0) throw bad("at least one capability is required")
    const { result, sent } = await merge(id, ({ capabilities = {} }) => {
      const vetoed = Object.entries(changes).find(([name, state]) => capabilities[name] === "disabled" && state === "on")
      if (vetoed && !force) throw fault("capability_vetoed", `the capability ${vetoed[0]} is disabled: pass force to switch it on nevertheless`)
      return { capabilities: { ...capabilities, ...changes } }
    }, ks, rest)
    return { capabilities: sent.capabilities!, result, _meta: writeMeta(id) }
  }

  const setPrompts = async (id: number, prompts: PromptBlock[], ks: Ks, settings?: PromptSettings) => {
    const { baseDirective, glossary, status, knownVars, lint = true, ...rest } = settingsOf(settings, promptChecks)
    if (!Array.isArray(prompts)) throw bad("the prompts must be an array of blocks")
    let found: PromptLint | null = null
    const { result } = await merge(id, (current) => {
      if (lint !== false) found = linted(prompts, current, knownVars, lint === "strict")
      return { prompts, ...(baseDirective !== undefined && { base_directive: baseDirective }), ...(glossary !== undefined && { glossary }), ...(status !== undefined && { status }) }
    }, ks, rest)
    return { result, lint: found as PromptLint | null, _meta: writeMeta(id) }
  }

  const partnerConfig = <T>(action: string, body: { id: number } & Json, ks: Ks, settings?: CallSettings) => {
    const { signal } = settingsOf(settings, callChecks)
    if (!isRecordId(body.id)) throw bad("id must be an integer that is not negative")
    return http.request<T>({ at: genie, path: `partner-config/${action}`, body, ks, signal })
  }

  const brainConfigAvailable = async (ks: Ks, settings?: CallSettings): Promise<{ available: boolean; reason: string; code?: string }> => {
    try {
      await partnerConfig("get", { id: 0 }, ks, settings)
      return { available: true, reason: "the account may configure the brain" }
    } catch (error) {
      if ((error as { status?: number }).status === undefined) throw error // of the input
      return { available: false, ...refused(error) }
    }
  }

  /** Changes the configuration of a brain; a refusal because of the account is a result, not an error. */
  const applyConfig = async (body: { id: number } & Json, ks: Ks, settings?: CallSettings): Promise<Applied<{ result: unknown }>> => {
    const _meta = http.meta("partner-config/update", { scope: `intellect:${body.id}` })
    try {
      return { applied: true, result: await partnerConfig("update", body, ks, settings), _meta }
    } catch (error) {
      if (![403, 404].includes((error as { status?: number }).status ?? 0)) throw error
      return { applied: false, ...refused(error), _meta }
    }
  }

  const setBrainConfig = async (id: number, config: BrainConfig, ks: Ks, settings?: CallSettings): Promise<Applied<{ sentKeys: string[]; result: unknown }>> => {
    if (!isRecordId(id)) throw bad("id must be an integer that is not negative")
    const built = buildBrainConfigPatch(config)
    const { available, code = "error", reason } = await brainConfigAvailable(ks, settings)
    if (!available && ["forbidden", "not_deployed"].includes(code)) return { applied: false, code, reason, _meta: http.meta("partner-config/get", { scope: `intellect:${id}` }) }
    const outcome = await applyConfig({ id, config: built.config }, ks, settings)
    return outcome.applied ? { ...outcome, sentKeys: built.applied } : outcome
  }

  const namesOf = (record: Intellect) => Object.keys(secretsOf(record)).sort()
  const writeSecrets = async (id: number, change: (stored: Record<string, string>) => Record<string, string>, ks: Ks, settings?: CallSettings) => {
    const { sent } = await merge(id, (current) => ({ secrets: change(secretsOf(current)) }), ks, settings, false)
    return Object.keys(sent.secrets!).sort()
  }
  const checkSecrets = (values: unknown): Record<string, string> => {
    if (!isObject(values)) throw bad("secrets must be an object of names and values")
    for (const [name, value] of Object.entries(values)) {
      if (name.trim() === "") throw bad("the name of a secret must not be empty")
      if (!isText(value) || value === mask) throw bad(`the value of the secret ${name} must be a text that is not empty and not ***`)
    }
    return values as Record<string, string>
  }

  /** The named secrets of an intellect; values can be written and never read. */
  const secrets = {
    async listNames(id: number, ks: Ks, settings?: CallSettings) {
      return { names: namesOf(await read(id, ks, settings)), _meta: http.meta("v1/intellect/get", { scope: `intellect:${id}` }) }
    },
    async has(id: number, name: string, ks: Ks, settings?: CallSettings): Promise<boolean> {
      return namesOf(await read(id, ks, settings)).includes(name)
    },
    /** Adds secrets, or replaces their values. */
    async set(id: number, values: Record<string, string>, ks: Ks, settings?: CallSettings) {
      const given = checkSecrets(values)
      if (Object.keys(given).length === 0) throw bad("at least one secret is required")
      const names = await writeSecrets(id, (stored) => ({ ...stored, ...given }), ks, settings)
      return { names, set: Object.keys(given).sort(), _meta: writeMeta(id) }
    },
    async delete(id: number, name: string, ks: Ks, settings: Confirmation) {
      confirm("a secret", settings)
      const { signal } = settingsOf(settings, confirmChecks)
      if (!isText(name)) throw bad("the name of a secret must be a text that is not empty")
      const names = await writeSecrets(id, (stored) => {
        if (!Object.hasOwn(stored, name)) throw fault("not_found", `the intellect has no secret ${name}`)
        return Object.fromEntries(Object.entries(stored).filter(([each]) => each !== name))
      }, ks, { signal })
      return { names, removed: name, _meta: writeMeta(id) }
    },
    /** Replaces all secrets; an empty object removes them. */
    async replaceAll(id: number, values: Record<string, string>, ks: Ks, settings: Confirmation) {
      confirm("the other secrets", settings)
      const { signal } = settingsOf(settings, confirmChecks)
      const given = checkSecrets(values)
      return { names: await writeSecrets(id, () => given, ks, { signal }), _meta: writeMeta(id) }
    },
    /** Checks the references to secrets in the intellect's prompts and tools. */
    async validate(id: number, ks: Ks, settings?: CallSettings) {
      const record = await read(id, ks, settings)
      const ids = [...(record.tool_ids ?? []), ...(record.thread_start_tools ?? [])]
      const tools = await Promise.all([...new Set(ids)].map((tool) => http.request({ at: genie, path: "v1/tool/get", body: { id: tool }, ks, signal: settings?.signal }).catch(() => undefined)))
      const prompts = [record.base_directive, record.glossary, record.opening_phrase, record.prompts]
      return { ...validateSecretRefs({ secretNames: namesOf(record), tools, prompts }), _meta: http.meta("v1/intellect/get", { scope: `intellect:${id}` }) }
    },
  }

  /** Changes properties of an intellect and keeps the others. */
  const patch = async (id: number, changes: IntellectFields | ((current: Intellect) => IntellectFields), ks: Ks, settings?: CallSettings) => {
    const given = typeof changes === "function" ? undefined : editableOf(changes)
    const changed = await merge(id, (current) => {
      const { type, ...rest } = given ?? editableOf((changes as (current: Intellect) => IntellectFields)(current))
      if (type !== undefined && type !== (current.type ?? "internal")) throw bad("the type of an intellect can't be changed")
      return rest
    }, ks, settings)
    return { ...changed, _meta: writeMeta(id) }
  }
  const applied = async (id: number, changes: IntellectFields, ks: Ks, settings?: CallSettings) => ({ applied: true as const, ...(await patch(id, changes, ks, settings)) })
  const ids = (name: string, value: unknown): string[] => {
    if (!Array.isArray(value) || !value.every(isText)) throw bad(`${name} must be an array of ids`)
    if (new Set(value).size < value.length) throw bad(`${name} must not have an id twice`)
    return value
  }

  const forcedCapabilities = async (id: number, map: Capabilities, ks: Ks, settings?: CallSettings) => {
    const changed = await setCapabilities(id, map, ks, { ...settingsOf(settings, callChecks), force: true })
    return { applied: true as const, ...changed, sent: { capabilities: changed.capabilities } }
  }

  const config = {
    patch,
    setCapabilities: forcedCapabilities,
    async setCapability(id: number, name: string, state: CapabilityState, ks: Ks, settings?: CallSettings) {
      return forcedCapabilities(id, { [name]: state }, ks, settings)
    },
    async setToolIds(id: number, toolIds: string[], ks: Ks, settings?: CallSettings) {
      return applied(id, { tool_ids: ids("the tool ids", toolIds) }, ks, settings)
    },
    async setSkillIds(id: number, skills: SkillReference[], ks: Ks, settings?: CallSettings) {
      if (!Array.isArray(skills)) throw bad("the skills must be an array of { id, mode }")
      for (const skill of skills) {
        if (!isText(skill?.id) || !SKILL_MODES.includes(skill.mode)) throw bad(`a skill needs an id and a mode: ${SKILL_MODES.join(", ")}`)
        if (skill.condition !== undefined && (!isText(skill.condition) || skill.condition.includes("{{"))) throw bad("the condition of a skill must be an expression without braces, such as sys__avatar_enabled")
      }
      ids("the skills", skills.map((skill) => skill.id))
      return applied(id, { skill_ids: skills }, ks, settings)
    },
    async setKnowledgeIds(id: number, knowledgeIds: number[], ks: Ks, settings?: CallSettings) {
      if (!Array.isArray(knowledgeIds) || knowledgeIds.length > 1 || !knowledgeIds.every(isRecordId)) throw bad("the knowledge ids must be an array of at most one integer that is not negative")
      return applied(id, { knowledge_ids: knowledgeIds }, ks, settings)
    },
    /** Sets the tools that run when a thread begins; an empty array removes them. */
    async setThreadStartTools(id: number, toolIds: string[], ks: Ks, settings?: CallSettings) {
      return applied(id, { thread_start_tools: ids("the tool ids", toolIds) }, ks, settings)
    },
    /** Sets the servers by their names; an empty object removes them. */
    async setMcpServers(id: number, servers: Record<string, { url: string } & Json>, ks: Ks, settings?: CallSettings) {
      if (!isObject(servers)) throw bad("the servers must be an object of names and { url }")
      for (const [name, server] of Object.entries(servers)) {
        const url = isObject(server) ? server["url"] : undefined
        if (typeof url !== "string" || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw fault("invalid_url", `the url of the server ${name} must be an http or https address`)
      }
      return applied(id, { mcp_servers: servers }, ks, settings)
    },
    async setMetadata(id: number, metadata: Pick<IntellectFields, "name" | "description" | "tags">, ks: Ks, settings?: CallSettings) {
      const { name, description, tags } = given("the metadata", metadata, { name: "any", description: "any", tags: "any" })
      if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === "string"))) throw bad("tags must be an array of texts")
      const changes = Object.fromEntries(Object.entries({ name, description, tags }).filter(([, value]) => value !== undefined))
      if (Object.keys(changes).length === 0) throw bad("at least one of name, description and tags is required")
      return applied(id, changes, ks, settings)
    },
    async setUserPropertiesForms(id: number, forms: PropertiesForm | readonly PropertiesForm[], ks: Ks, settings?: CallSettings) {
      return applied(id, { user_properties_forms: buildUserPropertiesForms(forms) }, ks, settings)
    },
    async clearUserPropertiesForms(id: number, ks: Ks, settings?: CallSettings) {
      return applied(id, { user_properties_forms: null }, ks, settings)
    },
    async setAllowClientVariables(id: number, allowed: boolean, ks: Ks, settings?: CallSettings) {
      if (typeof allowed !== "boolean") throw bad("allowed must be true or false")
      return applied(id, { allow_client_variables: allowed }, ks, settings)
    },
    /** Sets the line with which the agent begins; `<blank>` is silent, and null removes it. */
    async setOpeningPhrase(id: number, phrase: string | null, ks: Ks, settings?: CallSettings) {
      if (phrase !== null && !isText(phrase)) throw bad("the opening phrase must be a text that is not empty, or null")
      return applied(id, { opening_phrase: phrase }, ks, settings)
    },
    /** Sets the model; null removes the configuration. */
    async setModelConfiguration(id: number, model: ModelConfiguration | null, ks: Ks, settings?: CallSettings) {
      if (model !== null && !isObject(model)) throw bad("the model configuration must be an object or null")
      const { temperature, max_output_tokens } = model ?? {}
      if (temperature !== undefined && !(typeof temperature === "number" && temperature >= 0 && temperature <= 1)) throw bad("temperature must be a number from 0 to 1")
      if (max_output_tokens !== undefined && !(isRecordId(max_output_tokens) && max_output_tokens > 0)) throw bad("max_output_tokens must be a positive integer")
      return applied(id, { model_configuration: model }, ks, settings)
    },
    /** Sets how conversations are summed up; null restores the default. */
    async setAvatarSummaryConfig(id: number, summary: SummaryConfig | null, ks: Ks, settings?: CallSettings) {
      if (summary !== null && !isObject(summary)) throw bad("the summary configuration must be an object or null")
      const keys = summary?.analysis ? Object.keys(summary.analysis) : ["summary"]
      for (const [, name] of (summary?.template ?? "").matchAll(/\{\{\s*([^{}\s]+)\s*\}\}/g)) if (!keys.includes(name!)) throw bad(`the template has {{ ${name} }}, which is not a key of the analysis: ${keys.join(", ")}`)
      return applied(id, { avatar_summary_config: summary }, ks, settings)
    },
    setSecrets: secrets.set,
    listSecretNames: secrets.listNames,
    setBrainConfig,
    /** What an intellect has, and what of it can be changed. */
    async describe(id: number, ks: Ks, settings?: CallSettings) {
      const record = await read(id, ks, settings)
      return {
        type: record.type ?? "internal",
        editable: { ...Object.fromEntries(editable.map((name) => [name, record[name] ?? null])), secrets: { names: namesOf(record) } } as Json & { secrets: { names: string[] } },
        readOnly: Object.fromEntries(Object.entries(readOnly).filter(([name]) => name in record).map(([name, note]) => [name, { value: record[name], note }])) as Record<string, { value: unknown; note: string }>,
        capabilityNames: [...capabilityNames] as string[],
        _meta: http.meta("v1/intellect/get", { scope: `intellect:${id}` }),
      }
    },
  }

  return {
    /** Setters of single properties. */
    config,
    applyConfig,
    merge,
    resource: {
      ...calls,
      secrets,
      /** Adds an intellect that answers at once: type `internal`, and status 2 unless another is given. `warnings` say why its tools may not reach a page. */
      async create(intellect: IntellectFields, ks: Ks, settings?: CallSettings) {
        if (!isObject(intellect)) throw bad("the intellect must be an object")
        if ("url" in intellect || "protocol" in intellect) throw bad("url and protocol are for external intellects: use add")
        const raw = await calls.add({ status: 2, ...intellect, type: "internal" }, ks, settings)
        const { id, type = "internal", status = 2 } = raw
        const { warnings } = clientToolReadiness(intellect)
        return { configId: id, type, status, raw, ...(warnings.length > 0 && { warnings }), _meta: http.meta("v1/intellect/add", { scope: `intellect:${id}` }) }
      },
      async getCapabilities(id: number, ks: Ks, settings?: CallSettings) {
        const { capabilities = {} } = await read(id, ks, settings)
        return { capabilities, _meta: http.meta("v1/intellect/get", { scope: `intellect:${id}` }) }
      },
      /** Sets one capability. Rejects with `capability_vetoed` for one that is `disabled`, unless forced. */
      async setCapability(id: number, name: string, state: CapabilityState, ks: Ks, settings?: ForceSettings) {
        if (typeof name !== "string") throw bad("the name of a capability must be a text")
        return setCapabilities(id, { [name]: state }, ks, settings)
      },
      /** Sets several capabilities, all of them or none. */
      setCapabilities,
      /** Whether turns may set variables. */
      async setClientVariablesEnabled(id: number, enabled: boolean, ks: Ks, settings?: CallSettings): Promise<Intellect> {
        if (typeof enabled !== "boolean") throw bad("enabled must be true or false")
        return (await merge(id, () => ({ allow_client_variables: enabled }), ks, settings)).result
      },
      /** Replaces the prompts. Rejects with `prompt_lint_failed`, whose `body.findings` say why. */
      setPrompts,
      /** The instructions as the service puts them together; drafts replace what is stored. */
      async previewPrompt(id: number, ks: Ks, settings?: { requestVars?: Json; draftPrompts?: PromptBlock[]; draftBaseDirective?: string; draftGlossary?: string } & CallSettings): Promise<AssembledPrompt> {
        const { requestVars, draftPrompts, draftBaseDirective, draftGlossary, signal } = settingsOf(settings, { ...callChecks, requestVars: "object", draftPrompts: "array", draftBaseDirective: "string", draftGlossary: "string" })
        const complete = draftPrompts !== undefined && draftBaseDirective !== undefined && draftGlossary !== undefined
        const stored: Partial<Intellect> = complete ? {} : await read(id, ks, { signal })
        return assembleSystemPrompt({
          prompts: draftPrompts ?? stored.prompts ?? [], baseDirective: draftBaseDirective ?? stored.base_directive ?? null, glossary: draftGlossary ?? stored.glossary ?? null,
          ...(requestVars && { requestVars }),
        })
      },
      /** Copies what `restore` writes back; it is kept by the caller, not by the service. */
      async snapshot(id: number, ks: Ks, settings?: { label?: string } & CallSettings): Promise<Snapshot> {
        const { label, signal } = settingsOf(settings, { ...callChecks, label: "string" })
        const record = await read(id, ks, { signal })
        const values = Object.fromEntries(snapshotFields.filter((name) => record[name] !== undefined).map((name) => [name, structuredClone(record[name])]))
        return { configId: id, label: label ?? null, type: record.type ?? "internal", fields: values, _meta: http.meta("v1/intellect/get", { scope: `intellect:${id}`, storage: "client-side" }) }
      },
      /** Writes a snapshot back, or some of its fields. */
      async restore(snapshot: Snapshot, ks: Ks, settings?: { fields?: readonly SnapshotField[]; lint?: boolean | "strict" } & CallSettings) {
        const { fields: names = snapshotFields, lint = true, signal } = settingsOf(settings, { ...callChecks, fields: "array", lint: "any" })
        if (!isObject(snapshot) || !isRecordId(snapshot.configId) || !isObject(snapshot.fields)) throw bad("the first argument must be a snapshot")
        const unknown = names.find((name) => !snapshotFields.includes(name))
        if (unknown !== undefined) throw bad(`snapshots have no field ${unknown}; they have ${snapshotFields.join(", ")}`)
        const written = names.filter((name) => snapshot.fields[name] !== undefined)
        if (written.length === 0) throw bad("the snapshot has none of the fields to restore")
        let found: PromptLint | undefined
        const { result } = await merge(snapshot.configId, (current) => {
          if (written.includes("prompts") && lint !== false) found = linted(snapshot.fields.prompts!, current, undefined, lint === "strict")
          return Object.fromEntries(written.map((name) => [name, snapshot.fields[name]]))
        }, ks, { signal })
        return { result, written, skipped: snapshotFields.filter((name) => !written.includes(name)), ...(found && { lint: found }), _meta: writeMeta(snapshot.configId) }
      },
      diffSnapshots: (a: Snapshot, b: Snapshot) => ({ ...diffSnapshots(a, b), _meta: http.meta("client", { scope: `intellect:${a?.configId}` }) }),
      setBrainConfig,
      async getBrainConfig(id: number, ks: Ks, settings?: CallSettings) {
        const reply = await partnerConfig<Json | null>("get", { id }, ks, settings)
        const config = reply?.["config"]
        return { brainConfig: isObject(config) ? config : (reply ?? {}), unsetUseDefault: true, _meta: http.meta("partner-config/get", { scope: `intellect:${id}` }) }
      },
      /** Whether the account may configure the brain. */
      brainConfigAvailable,
      /** How each capability of an intellect comes out, and why. `request` is what a turn would send. */
      async resolveCapabilities(id: number, ks: Ks, settings?: { request?: Capabilities } & CallSettings) {
        const { request = {}, signal } = settingsOf(settings, { ...callChecks, request: "object" })
        const asked = plainCapabilities(request) as Capabilities
        const { capabilities: stored = {} } = await read(id, ks, { signal })
        const resolved = Object.fromEntries(capabilityNames.map((name) => [name, resolveCapability(name, { partnerConfig: stored, request: asked })]))
        return { capabilities: resolved as Record<string, ResolvedCapability>, _meta: http.meta("v1/intellect/get", { scope: `intellect:${id}` }) }
      },
    },
  }
}

/** Changes of an intellect, which must be of what can be changed. */
function editableOf(changes: IntellectFields): IntellectFields & { type?: string } {
  if (!isObject(changes) || Object.keys(changes).length === 0) throw bad("the changes must have at least one property")
  const unknown = Object.keys(changes).find((name) => name !== "type" && !editable.includes(name))
  if (unknown !== undefined) throw bad(`${unknown} can't be changed here; what can is ${editable.join(", ")}`)
  return changes
}

/** What a merge writes back: everything but what the service sets. */
const kept = ({ id: _id, partner_id: _partner, user_id: _user, created_at: _created, updated_at: _updated, _meta, ...rest }: Intellect): Json => ({ ...rest, ...("secrets" in rest && { secrets: maskedSecrets(rest.secrets) }) })

/** The stored secrets as a write keeps them: a list of names would not be a map. */
const maskedSecrets = (secrets: unknown): unknown => (Array.isArray(secrets) ? Object.fromEntries(secrets.map((name) => [String(name), mask])) : secrets)

/** The findings in prompts. Throws `prompt_lint_failed`. */
function linted(prompts: PromptBlock[], current: Intellect, knownVars: readonly string[] | undefined, strict: boolean): PromptLint {
  const found = lintPrompts(prompts, { allowClientVariables: current.allow_client_variables !== false, ...(knownVars && { knownVars }) })
  const first = strict ? found.findings[0] : found.findings.find(({ severity }) => severity === "error")
  if (first) throw fault("prompt_lint_failed", `${first.path}: ${first.message}`, { body: { findings: found.findings } })
  return found
}

function refused(error: unknown): { code: string; reason: string } {
  const { status, code = "error", message } = error as { status?: number; code?: string; message: string }
  return { code: status === 403 ? "forbidden" : status === 404 ? "not_deployed" : code, reason: message }
}
