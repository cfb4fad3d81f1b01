import type { AgentSession } from "../session/agentsession.js"
import type { AppInitOptions, AppInitResult } from "../session/appinit.js"
import type { AvatarSession } from "../session/avatar.js"
import type { AvatarSettings } from "../session/avataroptions.js"
import type { ChatSettings } from "../session/chatoptions.js"
import type { ChatSession } from "../session/chatsession.js"
import type { ListenOptions } from "../core/emitter.js"
import { localError, messageOf } from "../core/errors.js"
import type { ChatTurn } from "../generated/events.js"
import type { AnyEvents } from "../ui/listen.js"
import type { Mode, Phase, Said } from "./state.js"

/** The session of an element, whose kind depends on `modes`. */
export type AnySession = AvatarSession | ChatSession | AgentSession

/** Options that an element passes to its session, without those that it sets itself. */
export type SessionOptions = Omit<AvatarSettings & ChatSettings, "videoEl" | "audioEl" | "micStartMode">

/** Downloads the modules that the modes need, and nothing else. */
export const chatModule = () => import("../chat.js")
export const fullModule = () => import("../index.js")
export const namesModule = () => import("../core/unknown.js") // a part of both

/** Downloads the module and the program for these modes. */
export async function loadFor(modes: readonly Mode[]): Promise<void> {
  if (modes.includes("face")) await (await imported(fullModule)).load()
  else await (await imported(chatModule)).load()
}

/** Requests what the session needs. Rejects with `bad_request` for an unknown name in the session's own options. */
export async function requestInit(modes: readonly Mode[], options: AppInitOptions, own: SessionOptions): Promise<AppInitResult> {
  const module = imported<typeof import("../chat.js")>(modes.includes("face") ? fullModule : chatModule)
  const [{ appInit }, { checkNames, sessionOptions }] = await Promise.all([module, imported(namesModule)])
  checkNames(own, sessionOptions)
  return appInit(options)
}

/** Throws `bad_request` for a property that is not of its form, as a template may set it without a binding. */
export function checkProperties(element: { readonly options: object; readonly labels: object; readonly suggestions: readonly string[]; readonly history: readonly Said[] }): void {
  for (const name of ["options", "labels"] as const) if (typeof element[name] !== "object") throw localError("bad_request", `the property ${name} must be an object`)
  for (const name of ["suggestions", "history"] as const) if (!Array.isArray(element[name])) throw localError("bad_request", `the property ${name} must be an array`)
  if (element.history.every((said) => typeof said?.text === "string" && /^(user|agent)$/.test(said.who))) return
  throw localError("bad_request", 'each entry of the property history must be { who: "user" or "agent", text }')
}

/** Imports a module of the package; rejects with `load_failed`. */
export async function imported<Module>(module: () => Promise<Module>): Promise<Module> {
  try {
    return await module()
  } catch (cause) {
    throw localError("load_failed", `a module of agentruntime/element could not be loaded: ${messageOf(cause)}`, { cause, retryable: true })
  }
}

/** The events of an element, by name, with the type of their `detail`. */
export interface AgentElementEvents extends AnyEvents {
  /** The phase of the element has changed. `code` is that of the error, in the phase `error`. */
  phaseChange: { phase: Phase; code?: string }
  /** A session was made and is not connected yet: add tools and listeners here. */
  sessionCreated: { session: AnySession }
  /** An entry of the transcript is complete (what the visitor sent, or an answer that was spoken or received until its end, or was interrupted), or a turn has ended. */
  transcriptChange: { transcript: readonly Said[] }
}

/** Adds listeners to a session of any kind; those for events that it does not have are never called. */
export function listen(session: AnySession, signal: AbortSignal, listeners: { [K in keyof AnyEvents]?: (payload: AnyEvents[K]) => void }): void {
  const on = session.on.bind(session) as (event: string, listener: (payload: never, at: number) => void, options: ListenOptions) => unknown
  for (const [event, listener] of Object.entries(listeners)) on(event, listener, { signal, lasting: true })
}

/** Sends a typed text. */
export async function say(session: AnySession, text: string, signal: AbortSignal): Promise<ChatTurn | boolean> {
  return "speak" in session ? session.speak(text, { signal }) : session.sendText(text, { signal })
}

/** The avatar session that carries the conversation, if there is one now. */
export function faceOf(session: AnySession | undefined): AvatarSession | undefined {
  const transport = session && "transport" in session ? session.transport : session
  return transport && "speak" in transport ? transport : undefined
}
