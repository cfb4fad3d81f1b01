// Types of options that are written by hand; settings.ts, which is generated, refers to them.

import type { capabilityNames, TokenKind } from "../generated/names.js"
import type { injected } from "./unknown.js"

/** A token, or an object that has one, such as appInit's reply; its `kind` and `partnerId` are used where the options have none. */
export type Token = string | { ks: string; kind?: TokenKind | undefined; partnerId?: string | number | undefined }

/** The token of a single transport, if it has its own. */
export interface OwnToken {
  token?: Token | undefined
  ks?: Token | undefined
}

/** Prompt variables. In an update, `""` or null clears a variable, and undefined leaves it as it is. Numbers must be finite. */
export type RequestVars = Record<string, string | number | boolean | null | undefined>

/** States of a capability; `disabled` is a veto. */
export type CapabilityState = (typeof capabilityStates)[number]

export const capabilityStates = ["on", "off", "disabled"] as const

/** Names of what an agent can be allowed to do. */
export type CapabilityName = (typeof capabilityNames)[number]

/** Capabilities by name. */
export type Capabilities = Partial<Record<CapabilityName, CapabilityState | undefined>>

/** A W3C trace context: a `traceparent`, alone or with a `tracestate`. */
export type TraceContext = string | { traceparent: string; tracestate?: string | undefined }

/** A trace context for all requests, or a function that is called before each request and returns one, or nothing. */
export type TraceSource = TraceContext | (() => TraceContext | null | undefined)

/**
 * Options with which a page replaces parts of the reference client. They are ignored, with
 * one line of the log: this runtime always uses its own parts.
 */
export type Injected = { [Name in (typeof injected)[number]]?: unknown }
