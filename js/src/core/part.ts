// What the parts of a page around a session have in common (docs/parts.md). It imports no
// table of options, so that a part alone is small.
import { AgentError, docs, localError, messageOf, type AgentErrorFields } from "./errors.js"
import type { ErrorCode } from "../generated/codes.js"
import type { ToolCall } from "../generated/events.js"
import { isObject } from "./object.js"

/** A call of a tool as a part handles it. */
interface PartCall {
  readonly args: Record<string, unknown>
  readonly toolMetadata?: { readonly id?: string; readonly waitForResponse?: boolean } | undefined
}

/**
 * The call with which a handler was called: sessions of `agentruntime` pass the call, those of
 * the reference client the arguments and the call.
 */
function calledWith(first: unknown, second: unknown): PartCall {
  if (isObject(second)) return { args: isObject(first) ? first : {}, toolMetadata: (second as Partial<ToolCall>).toolMetadata }
  if (!isObject(first)) return { args: {} }
  const { name, args, toolMetadata } = first as Partial<ToolCall>
  return typeof name === "string" && isObject(args) ? { args, toolMetadata } : { args: first }
}

/** What a part uses of a session to handle and answer the calls of a tool. */
export interface ToolSession {
  onToolCall(name: string, handler: (...args: any[]) => unknown, argsSchema?: any): unknown
  respondToTool?(id: string | undefined, response: Record<string, unknown>): Promise<unknown>
}

/**
 * Handles the calls of a tool; an agent that waits for the result gets what the handler
 * returns, or that it failed, of which `warn` gets a sentence for the page's author. Returns
 * the function that removes the handler.
 */
export function handleTool(session: ToolSession, name: string, handler: (args: Record<string, unknown>) => object | Promise<object>, warn: (message: string) => void): () => void {
  const remove = session.onToolCall(name, async (first: unknown, second: unknown) => {
    const { args, toolMetadata } = calledWith(first, second)
    const answer = async (result: object) => {
      if (toolMetadata?.waitForResponse) await session.respondToTool?.(toolMetadata.id, { ...result })
    }
    let result: object
    try {
      result = await handler(args)
    } catch (reason) {
      warn(`the tool ${name} failed: ${messageOf(reason)}`)
      await answer({ error: "the page failed to do this" })
      throw reason // for `toolCallResult`
    }
    await answer(result)
    return result
  })
  return typeof remove === "function" ? (remove as () => void) : () => {}
}

/** Makes an error with a code that only parts have. */
export function partError(code: ErrorCode, title: string, detail: string, more: Omit<AgentErrorFields, "code" | "detail" | "title" | "type"> = {}): AgentError {
  return new AgentError({ code, type: docs + code, title, detail, ...more })
}

/** Throws `bad_request` unless a value is a function or undefined. */
export function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") throw localError("bad_request", `${name} must be a function`)
}

/** Returns a number within bounds, or the default for undefined. Throws `bad_request` for anything else. */
export function numberOf(name: string, value: unknown, standard: number, least: number, most = Infinity): number {
  if (value === undefined) return standard
  if (typeof value !== "number" || !(value >= least && value <= most)) {
    throw localError("bad_request", `${name} must be a number ${most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`}`)
  }
  return value
}
