import type { ErrorCode, ErrorPhase } from "../generated/codes.js"
import { AgentError, docs } from "../core/errors.js"

/** Makes an error like those of the Go program. */
export function fault(code: ErrorCode, detail: string, more: { status?: number; phase?: ErrorPhase; retryable?: boolean; body?: unknown; cause?: unknown } = {}): AgentError {
  return new AgentError({ code, title: code.replaceAll("_", " "), detail, type: docs + code, ...more })
}

/** Resolves after some milliseconds of the page's timers, which a test may have replaced. */
export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The error of a call that needs a connected session. */
export const notConnected = (state: string): AgentError => fault("invalid_state", `the session is ${state}, not connected`)
