// What segments say about tools, in the reference client's form.
import type { Segment } from "../generated/events.js"
import type { ArgsSchema } from "../session/session.js"
import { argTypes } from "../generated/settings.js"
import { isObject, spokenTypes } from "../segments/plain.js"
import { canonicalJson, fits, readCall } from "../segments/tools.js"

export { canonicalJson, parseOAuthRequired } from "../segments/tools.js"

/** A segment as the service sends it or as a session emits it, of which a helper reads some properties. */
export type SegmentLike = Partial<Segment> | Readonly<Record<string, unknown>>

/** A call of a client tool. */
export interface CompatToolCall {
  name: string
  args: Record<string, unknown>
  /** The text of the segment. */
  raw: string
  /** Earlier argument objects of the same segment, which belong to calls of other tools. */
  fusedArgs?: Record<string, unknown>[]
  /** Missing when the call has no id, and then can't be answered. */
  toolMetadata?: { id: string; waitForResponse: boolean; type?: string }
}

/** Reads the call of a segment of type `tool`; null for any other segment. */
export function parseToolCall(segment: SegmentLike | null | undefined): CompatToolCall | null {
  const { type, content, tool_metadata: metadata } = (segment ?? {}) as Record<string, unknown>
  const call = type === "tool" ? readCall(content) : undefined
  return call ? withMetadata({ ...call, args: call.args ?? {} }, isObject(metadata) ? metadata : {}) : null
}

/** Adds the metadata of a call that has an id. */
export function withMetadata(call: CompatToolCall, { id, type, wait_for_response: waits }: Record<string, unknown>): CompatToolCall {
  if (typeof id === "string" && id !== "") {
    call.toolMetadata = { id, waitForResponse: waits === true, ...(typeof type === "string" && type !== "" && { type }) }
  }
  return call
}

/** The name of the tool that a segment of type `tool_response` is about; null for any other segment. */
export function parseToolResponseName(segment: SegmentLike | null | undefined): string | null {
  const { type, content } = (segment ?? {}) as Record<string, unknown>
  if (type !== "tool_response" || typeof content !== "string") return null
  return /^\s*(\S+)\s+responded\b/.exec(content)?.[1] ?? null
}

/** How a page treats a segment. */
export type SegmentKind = "experience" | "error" | "spoken" | "control"

/** How a page treats a segment; `control` for a missing one. */
export function segmentKind(segment: SegmentLike | null | undefined): SegmentKind {
  const type = segment?.type
  if (type === "unisphere-tool") return "experience"
  if (type === "error") return "error"
  return spokenTypes.includes(type) ? "spoken" : "control"
}

/** The outcome of {@link validateToolArgs}. */
export type ArgsCheck = { ok: true } | { ok: false; errors: string[] }

/** Checks the arguments of a call. Without a schema they fit; arguments that the schema does not name are ignored. */
export function validateToolArgs(args: unknown, schema?: ArgsSchema | null): ArgsCheck {
  if (!isObject(schema)) return { ok: true }
  const given = isObject(args) ? args : {}
  const errors: string[] = []
  for (const [name, rule] of Object.entries(schema as ArgsSchema)) {
    const { type, required, enum: allowed } = rule ?? {}
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value == null) {
      if (required) errors.push(`${name} is missing`)
    } else if (type && (argTypes as readonly string[]).includes(type) && !fits(type, value)) errors.push(`${name} must be of type ${type}`)
    else if (Array.isArray(allowed) && !allowed.some((one) => canonicalJson(one) === canonicalJson(value))) errors.push(`${name} is not one of the allowed values`)
  }
  return errors.length > 0 ? { ok: false, errors } : { ok: true }
}
