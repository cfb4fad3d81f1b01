// Checks of an intellect's texts. They send nothing.
import { reservedVars } from "../generated/settings.js"
import { bad, isObject } from "./fault.js"
import { given, settingsOf, type Checks } from "./given.js"
import { meta, type Meta } from "./small.js"
import type { PromptBlock } from "./types.js"

/** The variables that the service sets on every turn, and `secrets`; a turn must not set them. */
export const RESERVED_VARS = reservedVars
/** The variables that the service sets on every turn. */
export const SYS_VARS: readonly string[] = reservedVars.filter((name) => name !== "secrets")
/** What is in front of the name of a secret. */
export const SYS_NAMESPACES = ["secrets"] as const

/** Something that is wrong, or probably wrong, in a text. */
export interface Finding {
  severity: "error" | "warning"
  code: string
  message: string
  /** Where it is, such as `prompts[0].value`. */
  path: string
}

export interface LintSummary {
  errors: number
  warnings: number
  ok: boolean
}

/** What is known of a text's variables. */
export interface VariableSettings {
  /** False when turns may not set variables. Default true. */
  allowClientVariables?: boolean
  /** The variables that turns set; any if they are missing. */
  knownVars?: readonly string[]
}

const variableChecks: Checks<VariableSettings> = { allowClientVariables: "boolean", knownVars: "array" }

export interface VariableResult {
  ok: boolean
  /** All names in the text, in their order, each once. */
  variables: string[]
  systemVariables: string[]
  clientVariables: string[]
  findings: Finding[]
  _meta: Meta
}

const source = { source: "client" }

export const summaryOf = (findings: readonly Finding[]): LintSummary => {
  const errors = findings.filter(({ severity }) => severity === "error").length
  return { errors, warnings: findings.length - errors, ok: errors === 0 }
}

export const isSystem = (name: string): boolean => SYS_VARS.includes(name) || /^(secrets|sys__user_obj)\.\w+$/.test(name)

/** What `{{ }}` of a text have in them, without filters; an empty text for one without a name. */
function namesIn(text: string): string[] {
  return Array.from(text.matchAll(/\{\{([^{}]*)\}\}/g), ([, inside]) => inside!.split("|")[0]!.trim())
}

/** Checks the variables of a text. */
export function validatePromptVars(text: string, settings?: VariableSettings & { path?: string }): VariableResult {
  const { allowClientVariables = true, knownVars, path = "text" } = settingsOf(settings, { ...variableChecks, path: "string" })
  if (typeof text !== "string") throw bad("the first argument must be a text")
  const findings: Finding[] = []
  const add = (severity: Finding["severity"], code: string, message: string) => findings.push({ severity, code, message, path })
  if (/\{\{|\}\}/.test(text.replaceAll(/\{\{[^{}]*\}\}/g, ""))) add("error", "malformed_variable", "the braces {{ and }} must come in pairs, without braces between them")
  const variables = new Set<string>()
  for (const name of namesIn(text)) {
    if (name === "") add("error", "empty_variable", "{{ }} must have the name of a variable in it")
    else if (!/^[A-Za-z_]\w*(\.\w+)*$/.test(name)) add("error", "malformed_variable", `{{ ${name} }} must have a name of letters, digits and _ in it, or such names joined by dots`)
    else variables.add(name)
  }
  const systemVariables = [...variables].filter((name) => isSystem(name))
  const clientVariables = [...variables].filter((name) => !isSystem(name))
  for (const name of clientVariables) {
    if (name.startsWith("sys__")) add("warning", "unknown_variable", `the service sets no variable ${name}`)
    else if (!allowClientVariables) add("error", "client_variable_not_allowed", `nothing can set the variable ${name}, because allow_client_variables is off`)
    else if (knownVars && !knownVars.includes(name)) add("warning", "unknown_variable", `the variable ${name} is not among those that turns set`)
  }
  return { ok: summaryOf(findings).ok, variables: [...variables], systemVariables, clientVariables, findings, _meta: meta(source) }
}

export interface PromptLint {
  ok: boolean
  summary: LintSummary
  findings: Finding[]
  variables: string[]
  /** The keys of blocks that are left out at run time, because their header or value is blank. */
  skippedKeys: string[]
  _meta: Meta
}

const blank = (value: unknown): boolean => typeof value !== "string" || value.trim() === ""

/** Checks the blocks of an intellect's instructions. */
export function lintPrompts(blocks: readonly unknown[], settings?: VariableSettings): PromptLint {
  settingsOf(settings, variableChecks)
  if (!Array.isArray(blocks)) throw bad("the prompts must be an array of blocks")
  const findings: Finding[] = []
  const variables = new Set<string>()
  const skippedKeys: string[] = []
  const keys = new Set<string>()
  for (const [i, block] of blocks.entries()) {
    const at = `prompts[${i}]`
    const add = (severity: Finding["severity"], code: string, message: string, field = "") => findings.push({ severity, code, message, path: at + field })
    if (!isObject(block)) {
      add("error", "invalid_block", "a block must be an object { key, label, headerTemplate, type, value }")
      continue
    }
    const { key, label, headerTemplate, type, value } = block
    if (typeof key !== "string" || blank(key)) add("error", "missing_key", "a block needs a key", ".key")
    else if (keys.has(key)) add("warning", "duplicate_key", `there is another block with the key ${key}`, ".key")
    else keys.add(key)
    if (type === undefined) add("warning", "missing_type", "a block should have the type custom", ".type")
    else if (typeof type !== "string" || blank(type)) add("error", "bad_type", "the type must be a text, such as custom", ".type")
    if (label != null && typeof label !== "string") add("error", "bad_label", "the label must be a text", ".label")
    if (headerTemplate != null && typeof headerTemplate !== "string") add("error", "bad_header", "the headerTemplate must be a text", ".headerTemplate")
    if (value != null && typeof value !== "string") add("error", "bad_value", "the value must be a text", ".value")
    const texts = [["headerTemplate", headerTemplate], ["value", value]] as const
    if (texts.some(([, text]) => (text == null || typeof text === "string") && blank(text))) {
      add("warning", "renderer_skip", "a block without a header or without a value is left out", blank(value) ? ".value" : ".headerTemplate")
      if (typeof key === "string") skippedKeys.push(key)
    }
    for (const [field, text] of texts) {
      if (typeof text !== "string") continue
      const checked = validatePromptVars(text, { ...settings, path: `${at}.${field}` })
      findings.push(...checked.findings)
      for (const name of checked.variables) variables.add(name)
    }
  }
  const summary = summaryOf(findings)
  return { ok: summary.ok, summary, findings, variables: [...variables], skippedKeys, _meta: meta(source) }
}

/** Checks a glossary, which is a text. */
export function lintGlossary(text: string, settings?: VariableSettings): { ok: boolean; format: "empty" | "text" | "json"; findings: Finding[]; variables: string[]; _meta: Meta } {
  settingsOf(settings, variableChecks)
  if (typeof text !== "string") throw bad("the glossary must be a text")
  const format = text.trim() === "" ? "empty" : /^\s*(?:\[|\{(?!\{))/.test(text) ? "json" : "text"
  const { findings, variables } = validatePromptVars(text, { ...settings, path: "glossary" })
  if (format === "json") findings.push({ severity: "warning", code: "glossary_format", message: "the glossary looks like JSON: the model reads it as text, so write one term per line", path: "glossary" })
  return { ok: summaryOf(findings).ok, format, findings, variables, _meta: meta(source) }
}

/** The texts by which an agent has a name. */
export interface Persona {
  name?: string
  openingPhrase?: string
  baseDirective?: string
  prompts?: readonly Partial<PromptBlock>[]
}

const personaChecks: Checks<Persona> = { name: "string", openingPhrase: "string", baseDirective: "string", prompts: "array" }

// "You are Ada", "My name is Ada": the name has capital letters, and ends before the next word without one.
const naming = /(?:\b[Yy]ou are|\b[Yy]our name is|\b[Mm]y name is|\bI am|\bI['’]m|\b[Tt]his is)\s+(\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*)*)/u

/** Finds texts in which an agent has another name than in the rest. */
export function lintPersonaIdentity(persona: Persona): { ok: boolean; summary: LintSummary; findings: Finding[]; detectedName: string | null; _meta: Meta } {
  const { name, openingPhrase, baseDirective, prompts } = given("the persona", persona, personaChecks)
  const texts: [string, unknown][] = [["baseDirective", baseDirective], ...(prompts ?? []).map((block, i): [string, unknown] => [`prompts[${i}].value`, block?.value]), ["openingPhrase", openingPhrase]]
  const found = texts.flatMap(([path, text]) => {
    const detected = typeof text === "string" ? naming.exec(text)?.[1] : undefined
    return detected === undefined ? [] : [{ path, detected }]
  })
  const detectedName = found[0]?.detected ?? null
  const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase() || a.toLowerCase().startsWith(`${b.toLowerCase()} `) || b.toLowerCase().startsWith(`${a.toLowerCase()} `)
  const findings: Finding[] = []
  for (const { path, detected } of found) {
    if (name && !same(detected, name)) findings.push({ severity: "warning", code: "persona_name_mismatch", message: `the agent is called ${detected} here, and its name is ${name}`, path })
    else if (!name && !same(detected, detectedName!)) findings.push({ severity: "warning", code: "persona_name_drift", message: `the agent is called ${detected} here, and ${detectedName} in ${found[0]!.path}`, path })
  }
  const summary = summaryOf(findings)
  return { ok: summary.ok, summary, findings, detectedName, _meta: meta(source) }
}

export interface AssembleInput {
  prompts?: readonly Partial<PromptBlock>[]
  baseDirective?: string | null
  glossary?: string | null
  /** The values of variables; null stands for an empty text. */
  requestVars?: Readonly<Record<string, unknown>>
  /** False leaves variables as they are written. Default true. */
  interpolate?: boolean
}

const assembleChecks: Checks<AssembleInput> = { prompts: "array", baseDirective: "string", glossary: "string", requestVars: "object", interpolate: "boolean" }

export interface AssembledPrompt {
  text: string
  /** The keys of the blocks that are left out, because their header or value is blank. */
  skippedKeys: string[]
  /** Whether there was no directive, so that the service uses its own, which is not known here. */
  usedDefaultDirective: boolean
  /** The variables without a value, which stay as they are written. */
  unresolvedVariables: string[]
  _meta: Meta
}

/** Puts the texts of an intellect together as the service does. What it adds by itself, such as its own directive, is not in it. */
export function assembleSystemPrompt(input: AssembleInput): AssembledPrompt {
  const { prompts, baseDirective, glossary, requestVars, interpolate = true } = given("the input", input, assembleChecks)
  const values = requestVars ?? {}
  const parts = prompts ?? []
  if (!parts.every(isObject)) throw bad("the prompts must be an array of blocks")
  const unresolved = new Set<string>()
  const render = (text: string) => interpolate ? text.replaceAll(/\{\{([^{}]*)\}\}/g, (written, inside: string) => {
    const name = inside.split("|")[0]!.trim()
    if (Object.hasOwn(values, name)) return String(values[name] ?? "")
    unresolved.add(name)
    return written
  }) : text
  const skippedKeys: string[] = []
  const blocks = (parts as readonly Partial<PromptBlock>[]).flatMap(({ key = "", headerTemplate, value }) => {
    if (!blank(headerTemplate) && !blank(value)) return [`## ${render(headerTemplate!)}\n${render(value!)}`]
    skippedKeys.push(key)
    return []
  })
  const usedDefaultDirective = blank(baseDirective)
  const directive = usedDefaultDirective ? "<<the service's default directive>>" : render(baseDirective!)
  const text = [directive, ...blocks, ...(blank(glossary) ? [] : [render(glossary!)])].join("\n\n")
  return { text, skippedKeys, usedDefaultDirective, unresolvedVariables: [...unresolved], _meta: meta({ ...source, renderer: "client-side-replica" }) }
}
