import { AgentSession } from "../session/agentsession.js"
import type { AgentOptions } from "../session/agentoptions.js"
import { AvatarSession, type Device } from "../session/avatar.js"
import { plainAvatar, type AvatarOptions } from "../session/avataroptions.js"
import { plainChat, type ChatOptions } from "../session/chatoptions.js"
import { ChatSession } from "../session/chatsession.js"
import type { PlainOptions } from "../core/options.js"
import type { Exports } from "../core/program.js"
import { ProgramObject } from "../core/programobject.js"
import { withCallbacks } from "../session/session.js"
import type { CallOptions } from "../core/signals.js"
import { FakeAgent, type FakeAgentOptions } from "./fakeagent.js"

/** Options of a fake session: those of the real one, all of them optional, and its agent. */
export type FakeOptions<Options> = Partial<Options> & {
  /** Default: the installed agent, otherwise one of its own. */
  agent?: FakeAgent | FakeAgentOptions | undefined
}

/** Splits the options of a fake session into its agent and those of the real one. */
function split<Options extends object>({ agent = {}, ...options }: FakeOptions<Options>): { agent: FakeAgent; options: Options } {
  const given = "token" in options || "ks" in options ? options : { token: "fake-token", ...options }
  const own = agent instanceof FakeAgent ? agent : ((Object.keys(agent).length === 0 ? FakeAgent.installed : undefined) ?? new FakeAgent(agent))
  return { agent: own, options: given as unknown as Options }
}

/** The TypeScript side of a session whose other side is agent. */
function objectOf(agent: FakeAgent, kind: "avatarSession" | "chatSession", options: PlainOptions): ProgramObject {
  return new ProgramObject({
    find: async () => agent.program,
    options,
    open: (go: Exports, options, dispatch, object) => go[kind](withCallbacks(options, object), dispatch),
  })
}

/** An `AvatarSession` whose agent is a `FakeAgent`: without network and media, for tests. */
export class FakeAvatarSession extends AvatarSession {
  /** The agent and its service. */
  readonly agent: FakeAgent

  /** Throws for bad options like `AvatarSession`, but needs no token. */
  constructor(options: FakeOptions<AvatarOptions> = {}) {
    const { agent, options: given } = split<AvatarOptions>(options)
    const plain = plainAvatar(given)
    super(objectOf(agent, "avatarSession", plain), plain)
    this.agent = agent
  }

  /** There is nothing to load. */
  override async preload(): Promise<void> {}

  override async listDevices(_?: CallOptions): Promise<{ mics: Device[]; speakers: Device[] }> {
    return this.agent.devices
  }
}

/** A `ChatSession` whose agent is a `FakeAgent`: without network, for tests. */
export class FakeChatSession extends ChatSession {
  /** The agent and its service. */
  readonly agent: FakeAgent

  /** Throws for bad options like `ChatSession`, but needs no token. */
  constructor(options: FakeOptions<ChatOptions> = {}) {
    const { agent, options: given } = split<ChatOptions>(options)
    const plain = plainChat(given)
    super(objectOf(agent, "chatSession", plain), plain)
    this.agent = agent
  }

  /** There is nothing to load. */
  override async preload(): Promise<void> {}
}

/** An `AgentSession` whose agent is a `FakeAgent`: without network and media, for tests. */
export class FakeAgentSession extends AgentSession {
  /** The agent and its service. */
  readonly agent: FakeAgent

  /** Throws for bad options like `AgentSession`, but needs no token. */
  constructor(options: FakeOptions<AgentOptions> = {}) {
    const { agent, options: given } = split<AgentOptions>(options)
    super(given, async () => agent.program)
    this.agent = agent
  }

  /** There is nothing to load. */
  override async preload(): Promise<void> {}
}
