// Parses the parts of segments that concern tools like runtime/converse/tools.go, for
// agentruntime/compat and the fakes of agentruntime/testing. Both are tested with the same
// test data.
import { localError } from "../core/errors.js"
import type { OAuthRequired, Segment, ToolCall } from "../generated/events.js"
import type { ArgRule } from "../session/session.js"
import { argTypes } from "../generated/settings.js"
import { isObject } from "./plain.js"

/** Reads a tool call from a segment or its text; undefined when it names no tool. */
export function parseToolCall(source: Segment | string): ToolCall | undefined {
  const call = readCall(typeof source === "string" ? source : source.content)
  if (!call) return undefined
  const { id, type, wait_for_response, args } = (typeof source === "string" ? undefined : source.tool_metadata) ?? {}
  const toolMetadata = { ...(id && { id }), waitForResponse: wait_for_response === true, ...(type && { type }) }
  return { ...call, args: call.args ?? (isObject(args) ? args : {}), toolMetadata }
}

/** Reads the text of a call: the name of the tool, and the last of the objects that follow it; `fusedArgs` are the others. */
export function readCall(raw: unknown): (Pick<ToolCall, "name" | "raw" | "fusedArgs"> & { args: Record<string, unknown> | undefined }) | undefined {
  if (typeof raw !== "string") return undefined
  const brace = raw.indexOf("{")
  const name = (brace < 0 ? raw : raw.slice(0, brace)).trim()
  if (name === "") return undefined
  const objects = brace < 0 ? [] : objectsAt(raw, brace)
  return { name, args: objects.at(-1), raw, ...(objects.length > 1 && { fusedArgs: objects.slice(0, -1) }) }
}

/** The consecutive JSON objects in a text from the position `at`, up to the first that can't be parsed. */
function objectsAt(text: string, at: number): Record<string, unknown>[] {
  const objects: Record<string, unknown>[] = []
  for (;;) {
    at += text.slice(at).search(/\S|$/)
    if (text[at] !== "{") return objects
    let depth = 0
    let quoted = false
    let end = at
    for (; end < text.length; end++) {
      const char = text[end]
      if (quoted && char === "\\") end++
      else if (char === '"') quoted = !quoted
      else if (!quoted && char === "{") depth++
      else if (!quoted && char === "}" && --depth === 0) break
    }
    try {
      objects.push(JSON.parse(text.slice(at, end + 1)) as Record<string, unknown>)
    } catch {
      return objects
    }
    at = end + 1
  }
}

/** The authorisation that an `interruption` asks for; undefined for any other segment, and when its address is not http or https. */
export function parseOAuthRequired({ type, content, metadata }: Segment): OAuthRequired | undefined {
  if (type !== "interruption" || metadata?.subtype !== "oauth_required") return undefined
  let address: unknown = content
  try {
    if (typeof content === "string" && content.trim().startsWith("{")) address = JSON.parse(content)
  } catch {
    // It is neither JSON nor an address.
  }
  if (isObject(address)) address = address["auth_url"]
  if (typeof address !== "string" || !URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) return undefined
  const { tool_name, tool_display_name } = metadata
  return { authUrl: address.trim(), ...(tool_name && { toolName: tool_name }), ...(tool_display_name && { toolDisplayName: tool_display_name }) }
}

/** JSON with the keys of every object sorted and without white space: equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  ) ?? "null"
}

/** Returns a sentence for each error in the arguments of a call, none when they fit the schema. Throws `bad_request` for an invalid schema. */
export function validateToolArgs(args: unknown, schema: Readonly<Record<string, ArgRule>>): string[] {
  if (!isObject(schema)) throw localError("bad_request", "the schema of a tool must be an object")
  if (!isObject(args)) return ["the arguments must be an object"]
  const errors: string[] = []
  for (const [argument, { type, required, enum: allowed }] of Object.entries(schema)) {
    if (type && !(argTypes as readonly string[]).includes(type)) throw localError("bad_request", `the type of the argument ${argument} must be one of ${argTypes.join(", ")}`)
    const value = args[argument]
    if (!Object.hasOwn(args, argument)) {
      if (required) errors.push(`${argument} is missing`)
    } else if (type && !fits(type, value)) errors.push(`${argument} must be of type ${type}`)
    else if (allowed && !allowed.some((one) => canonicalJson(one) === canonicalJson(value))) errors.push(`${argument} is not one of the allowed values`)
  }
  return errors.sort()
}

/** Whether a value is of a type of an argument. */
export const fits = (type: (typeof argTypes)[number], value: unknown): boolean => types[type](value)

const types: Record<(typeof argTypes)[number], (value: unknown) => boolean> = {
  str: (value) => typeof value === "string",
  int: Number.isInteger,
  float: Number.isFinite,
  bool: (value) => typeof value === "boolean",
  list: Array.isArray,
  dict: isObject,
}

/** A content as text: a string as it is, another value as its JSON. */
export const textOf = (content: unknown): string => (typeof content === "string" ? content : content == null ? "" : JSON.stringify(content))
