import type { Segment } from "../generated/events.js"

/** A turn as the agent received it. */
export interface ReceivedTurn {
  text: string
  /** `typed`, or `spoken` for a text of `hear`; `kickoff` for the first turn that a session sends by itself. */
  from: "typed" | "spoken" | "kickoff"
  /** The variables that came with it, without the page context. */
  variables: Record<string, unknown>
  /** What `setDynamicPrompt` was given last, null if nothing. */
  pageContext: unknown
  threadId: string
  /** The options of `sendText`. */
  options: Record<string, unknown>
}

/** Which turns a rule answers. A text must be contained in the turn's text, without regard to case. */
export type When =
  | string
  | RegExp
  | ((turn: ReceivedTurn) => boolean)
  | { exact?: string | readonly string[]; contains?: string | readonly string[]; any?: boolean }

/** One answer and its condition. The first rule that matches is played. */
export interface Rule {
  when: When
  steps: readonly Step[] | ((turn: ReceivedTurn) => readonly Step[])
}

/** A call of a tool of the page. */
export interface ScriptedCall {
  name: string
  args?: Record<string, unknown>
  /** Whether the answer continues only after `respondToTool`. Default false. */
  wait?: boolean
  /** Seconds until the answer continues without `respondToTool`. Default 30. */
  timeout?: number
}

/** A widget with its body, as in a script of the local service: an object or its JSON text. */
export interface ScriptedWidget {
  /** `followups-tool`, `flashcards-tool`, `sources-tool`, …; `-tool` may be left out. */
  runtime: string
  body: unknown
}

/**
 * One step of an answer, as in a script of the local service (docs/local-service.md).
 * Texts may contain `{{ name }}`, a variable of the turn, and `{{ tool.name }}`, a field of
 * the last tool's answer; `{{ name | default('text') }}` gives a text for a missing one.
 */
export type Step =
  | { say: string }
  | { filler: string }
  | { think: string }
  /** Ends the turn with an error segment. */
  | { error: string }
  /** Milliseconds, on the page's timers. */
  | { pause: number }
  | { tool: ScriptedCall }
  | { widget: ScriptedWidget }
  | { consent: { tool: string; name?: string; ask?: string; url?: string } }
  /** Any segment, with the field names of the wire. */
  | { segment: Partial<Segment> & { type: string } }

/** Returns the steps of the first rule that matches turn. */
export function stepsFor(turn: ReceivedTurn, rules: readonly Rule[]): readonly Step[] | undefined {
  const rule = rules.find(({ when }) => matches(turn, when))
  return typeof rule?.steps === "function" ? rule.steps(turn) : rule?.steps
}

function matches(turn: ReceivedTurn, when: When): boolean {
  if (typeof when === "function") return when(turn)
  if (when instanceof RegExp) return turn.text.search(when) >= 0
  const { exact = [], contains = [], any = false } = typeof when === "string" ? { contains: when } : when
  const text = normal(turn.text)
  return any || [exact].flat().some((want) => text === normal(want)) || [contains].flat().some((want) => text.includes(normal(want)))
}

/** How the local service compares texts: in lower case, with single spaces, without punctuation at the end. */
function normal(text: string): string {
  const words = text.trim().toLowerCase().replace(/\s+/g, " ")
  let end = words.length
  while (end > 0 && " .,!?".includes(words[end - 1]!)) end--
  return words.slice(0, end)
}

/** Replaces `{{ name }}` and `{{ name | default('text') }}` by variables. */
export function render(template: string, vars: Readonly<Record<string, unknown>>): string {
  let text = ""
  for (let at = 0; ; ) {
    const open = template.indexOf("{{", at)
    const close = open < 0 ? -1 : template.indexOf("}}", open + 2)
    if (close < 0) return text + template.slice(at)
    text += template.slice(at, open) + valueIn(template.slice(open + 2, close), vars)
    at = close + 2
  }
}

function valueIn(inside: string, vars: Readonly<Record<string, unknown>>): string {
  const [name = "", ...filter] = inside.split("|") // a default may have a | in it
  const key = name.trim()
  const value = (Object.hasOwn(vars, key) ? vars[key] : undefined) ?? ""
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text || (/^default\((.*?)\)?$/s.exec(filter.join("|").trim())?.[1] ?? "").trim().replace(/^['"]+/, "").replace(/(?<!['"])['"]+$/, "")
}

/** Returns value with the texts inside it rendered. */
export function rendered(value: unknown, vars: Readonly<Record<string, unknown>>): unknown {
  if (typeof value === "string") return render(value, vars)
  if (Array.isArray(value)) return value.map((inner) => rendered(inner, vars))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rendered(inner, vars)]))
}

/** Splits a text into pieces of some words, as a brain streams it. */
export function pieces(text: string, words = 2): string[] {
  const list = text.match(/\S+\s*/g) ?? []
  return Array.from({ length: Math.ceil(list.length / words) }, (_, i) => list.slice(i * words, (i + 1) * words).join(""))
}

/** Throws unless every rule has a condition and steps of known kinds. */
export function checkRules(rules: readonly Rule[]): void {
  for (const [i, rule] of rules.entries()) {
    const { when, steps } = rule ?? {}
    const conditions = typeof when === "object" && !(when instanceof RegExp) && when !== null ? when.exact ?? when.contains ?? when.any : when
    if (conditions === undefined) throw new TypeError(`rule ${i} needs when: a text, a RegExp, a function, or { exact, contains or any: true }`)
    if (typeof steps === "function") continue
    if (!Array.isArray(steps) || steps.length === 0) throw new TypeError(`rule ${i} needs steps`)
    for (const step of steps as Step[]) checkStep(step, i)
  }
}

/** Throws unless step is exactly one of the known kinds. */
function checkStep(step: Step, rule: number): void {
  const names = Object.keys(step ?? {})
  if (names.length !== 1 || !kinds.includes(names[0]!)) throw new TypeError(`a step of rule ${rule} must be exactly one of ${kinds.join(", ")}, got ${names.join(", ") || "none"}`)
}

const kinds = ["say", "filler", "think", "error", "pause", "tool", "widget", "consent", "segment"]
