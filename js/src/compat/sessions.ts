// The sessions with the handlers, actions and options of the reference client.
import { plainAgent } from "../session/agentoptions.js"
import { AgentSession, type AgentSessionEvents } from "../session/agentsession.js"
import { AvatarSession } from "../session/avatar.js"
import { plainAvatar, type AvatarSettings } from "../session/avataroptions.js"
import { plainChat, type ChatSettings } from "../session/chatoptions.js"
import { ChatSession } from "../session/chatsession.js"
import type { Emits, SessionEmitter } from "../core/emitter.js"
import { checkFunction } from "../core/part.js"
import type { AvatarEvents, ChatEvents, ToolCall, ToolCallInvalid, ToolCallResult } from "../generated/events.js"
import { fullProgram } from "../session/full.js"
import { effective, givenOf, isInjected, type OwnToken, type PlainOptions, type WithToken } from "../core/options.js"
import { ProgramObject } from "../core/programobject.js"
import type { ArgsSchema, ToolArgs } from "../session/session.js"
import type { AgentSettings, AppInitResult } from "../generated/settings.js"
import { sessionOptions } from "../core/unknown.js"
import { actionOf, callOf, policyOf, refusal, typeOf, type CompatAction, type CompatActionType, type CompatPolicy } from "./actions.js"
import type { CompatToolCall } from "./tools.js"

/** What the reference client calls with an action; false and an exception refuse it. */
export type AgentActionHook = (action: CompatAction & { source: "agent" }) => boolean | void | Promise<boolean | void>

/** The options about actions. */
interface ActionOptions {
  onAgentAction?: AgentActionHook | undefined
  agentActions?: CompatPolicy | undefined
}

/** Options that don't exist here are ignored, with one line of the log. */
interface Others {
  [name: string]: unknown
}

/** Options of `KalturaAvatarSession`. */
export type CompatAvatarOptions = WithToken<Omit<AvatarSettings, keyof ActionOptions> & ActionOptions> & Others

/** Options of `KalturaChatSession`. */
export type CompatChatOptions = WithToken<ChatSettings> & Others

/** Options of `KalturaAgentSession`. */
export type CompatAgentOptions = WithToken<
  Omit<AgentSettings, "avatar" | "chat"> & {
    avatar?: (Omit<AvatarSettings, keyof ActionOptions> & ActionOptions & OwnToken & Others) | undefined
    chat?: (ChatSettings & OwnToken & Others) | undefined
  }
> & Others

/** The events of sessions whose payloads have another form. */
export interface CompatToolEvents {
  toolCall: CompatToolCall
  toolCallResult: Omit<ToolCallResult, "call"> & { call: CompatToolCall }
  toolCallInvalid: Omit<ToolCallInvalid, "call"> & { call: CompatToolCall }
}

/** The event of an action that was refused. */
export interface CompatActionEvents {
  agentActionDenied: { type: CompatActionType; reason: string }
}

/** The methods of sessions whose arguments have another form. */
export interface CompatMethods {
  /**
   * Registers a handler for calls of a client tool and returns the function that removes
   * it. It is called with the arguments and the call. A value that it returns is emitted
   * as `toolCallResult`. Throws `bad_request`, also for a schema with an unknown type.
   */
  onToolCall<const Schema extends ArgsSchema = ArgsSchema>(name: string, handler: (args: ToolArgs<Schema>, call: CompatToolCall) => unknown, argsSchema?: Schema): () => void
}

/** The methods of an emitter, with other events. */
type Emitting<Events extends { error: unknown; ended: unknown }> = Pick<SessionEmitter<Events>, "on" | "once" | "off" | "onAny" | "emit" | "removeAllListeners" | "next" | "stream"> & Emits<Events>

type Replaced<Session, Events extends { error: unknown; ended: unknown }> = Omit<Session, keyof Emitting<Events> | keyof CompatMethods> & Emitting<Events> & CompatMethods

/** Decides about the actions of an agent: the policy first, then the page's function. */
class ActionGate {
  #policy = policyOf(undefined)
  #hook: AgentActionHook | undefined

  constructor({ agentActions, onAgentAction }: ActionOptions = {}) {
    this.set(agentActions)
    this.#hook = onAgentAction
  }

  set(policy: CompatPolicy | null | undefined): void {
    this.#policy = policyOf(policy)
  }

  readonly decide = async (action: Parameters<typeof actionOf>[0]): Promise<boolean | void> => {
    const given = actionOf(action)
    const reason = refusal(this.#policy, given)
    if (reason !== undefined) throw new Error(reason)
    return this.#hook?.(given)
  }
}

/** The options that have an effect, and one line of the log about the others. */
const known = (...from: PlainOptions[]): PlainOptions[] => effective(from, (name) => sessionOptions.includes(name) && !isInjected(name))

/** The gate of a session's options, and those options with the gate in place of what it decides. */
function gated(given: PlainOptions): [gate: ActionGate, options: PlainOptions] {
  const { agentActions, onAgentAction, ...rest } = given
  checkFunction("onAgentAction", onAgentAction)
  const gate = new ActionGate({ agentActions: agentActions as CompatPolicy, onAgentAction: onAgentAction as AgentActionHook })
  return [gate, { ...rest, onAgentAction: gate.decide }]
}

type Handler = (...args: never[]) => unknown

/** A handler of the runtime that calls one of the reference client. */
const handlerOf = (handler: Handler): Handler => ((call: ToolCall) => {
  const given = callOf(call)
  return (handler as (args: unknown, call: CompatToolCall) => unknown)(given.args, given)
}) as Handler

/** The payload of an event in the form of the reference client. */
function payloadOf(event: PropertyKey, payload: unknown): unknown {
  switch (event) {
    case "toolCall":
      return callOf(payload as ToolCall)
    case "toolCallResult":
    case "toolCallInvalid": {
      const { call, ...rest } = payload as { call: ToolCall }
      return { call: callOf(call), ...rest }
    }
    case "agentActionDenied": {
      const { type, reason } = payload as AvatarEvents["agentActionDenied"]
      return { type: typeOf(type), reason }
    }
    default:
      return payload
  }
}

const Avatar = class KalturaAvatarSession extends AvatarSession {
  readonly #gate: ActionGate

  constructor(from: CompatAvatarOptions | ProgramObject, plain?: PlainOptions, gate?: ActionGate) {
    const [made, options] = from instanceof ProgramObject ? [gate!, undefined] : gated(known(givenOf(from))[0]!)
    super(from as ProgramObject, plain ?? plainAvatar(options))
    this.#gate = made
  }

  setActionPolicy(policy: CompatPolicy | null | undefined): void {
    this.#gate.set(policy)
  }
}

const Chat = class KalturaChatSession extends ChatSession {
  constructor(from: CompatChatOptions | ProgramObject, plain?: PlainOptions) {
    super(from as ProgramObject, plain ?? plainChat(known(givenOf(from))[0]))
  }
}

const Agent = class KalturaAgentSession extends AgentSession {
  constructor(options: CompatAgentOptions) {
    const { avatar = {}, chat = {}, ...shared } = givenOf(options)
    const [common, face, text] = known(shared, givenOf(avatar), givenOf(chat)) as [PlainOptions, PlainOptions, PlainOptions]
    const [gate, own] = gated({ ...pick(common, "agentActions", "onAgentAction"), ...face })
    super(plainAgent({ ...omit(common, "agentActions", "onAgentAction"), avatar: own, chat: text }), fullProgram, {
      avatar: (object, plain) => new Avatar(object, plain, gate),
      chat: (object, plain) => new Chat(object, plain),
    })
  }
}

for (const { prototype } of [Avatar, Chat, Agent]) Object.assign(prototype, { handlerOf, payloadOf })

const pick = (given: PlainOptions, ...names: string[]): PlainOptions => Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)))
const omit = (given: PlainOptions, ...names: string[]): PlainOptions => Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)))

type AvatarSessionEvents = Omit<AvatarEvents, keyof CompatToolEvents | keyof CompatActionEvents> & CompatToolEvents & CompatActionEvents
type ChatSessionEvents = Omit<ChatEvents, keyof CompatToolEvents> & CompatToolEvents
type AgentEventsHere = Omit<AgentSessionEvents, keyof CompatToolEvents | keyof CompatActionEvents | "transportChanged"> &
  CompatToolEvents & CompatActionEvents & {
    transportChanged: { mode: "avatar"; transport: KalturaAvatarSession } | { mode: "chat"; transport: KalturaChatSession }
  }

/** An `AvatarSession` with the handlers, actions and options of the reference client. */
export interface KalturaAvatarSession extends Replaced<AvatarSession, AvatarSessionEvents> {
  /** Replaces `agentActions`; null allows everything. Throws `bad_request` for an unknown key or value. */
  setActionPolicy(policy: CompatPolicy | null | undefined): void
}

/** An `AvatarSession` with the handlers, actions and options of the reference client. */
export const KalturaAvatarSession = Avatar as unknown as new (options: CompatAvatarOptions | AppInitResult) => KalturaAvatarSession

/** A `ChatSession` with the handlers and options of the reference client. */
export interface KalturaChatSession extends Replaced<ChatSession, ChatSessionEvents> {}

/** A `ChatSession` with the handlers and options of the reference client. */
export const KalturaChatSession = Chat as unknown as new (options: CompatChatOptions | AppInitResult) => KalturaChatSession

/** An `AgentSession` with the handlers, actions and options of the reference client. */
export interface KalturaAgentSession extends Omit<Replaced<AgentSession, AgentEventsHere>, "transport"> {
  /** The current transport. */
  readonly transport: KalturaAvatarSession | KalturaChatSession
}

/** An `AgentSession` with the handlers, actions and options of the reference client. */
export const KalturaAgentSession = Agent as unknown as new (options: CompatAgentOptions | AppInitResult) => KalturaAgentSession
