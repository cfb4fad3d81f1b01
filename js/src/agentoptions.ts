import type { AgentMode } from "./events.js"
import { plainAvatar, type AvatarSettings } from "./avataroptions.js"
import { plainChat, type ChatSettings } from "./chatoptions.js"
import { givenOf, logUnneeded, oneOf, plainAsked, type PlainOptions, type SessionSettings, type Token, type TokenKind, type WithToken } from "./options.js"

/** Options of `AgentSession`: a token, and whatever should differ from the defaults. */
export type AgentOptions = WithToken<AgentSettings>

/** A token of a transport's own, if it has one. */
interface OwnToken {
  token?: Token | undefined
  ks?: Token | undefined
}

/**
 * What an `AgentSession` can be told (session-api A.3.1). What stands at the top
 * is for both transports, and each takes what it knows: the whole result of
 * `appInit` has its place there. What is in `avatar` and `chat` wins over it.
 */
export interface AgentSettings extends SessionSettings {
  /** The first transport. Default `"avatar"`. */
  mode?: AgentMode | undefined
  /** What the token was minted as, from `appInit`. */
  kind?: TokenKind | undefined

  /** The addresses of the avatar's services, from `appInit`. */
  conversationManagerUrl?: AvatarSettings["conversationManagerUrl"]
  srsBaseUrl?: AvatarSettings["srsBaseUrl"]
  turnServerUrl?: AvatarSettings["turnServerUrl"]
  turnCredentials?: AvatarSettings["turnCredentials"]

  /** For the avatar alone. */
  avatar?: (AvatarSettings & OwnToken) | undefined
  /** For turns in text alone. */
  chat?: (ChatSettings & OwnToken) | undefined
}

/** The options of an `AgentSession` in the form that cmd/wasm takes. */
export interface PlainAgent extends PlainOptions {
  mode: AgentMode
  avatar: PlainOptions
  chat: PlainOptions
}

/** Checks the options of an `AgentSession`, those of both transports, and brings them into one form. */
export function plainAgent(options: unknown): PlainAgent {
  const { mode = "avatar", avatar = {}, chat = {}, ...shared } = givenOf(options)
  oneOf("mode", mode, ["avatar", "chat"])
  const own = { avatar: givenOf(avatar), chat: givenOf(chat) }
  logUnneeded(shared, own.avatar, own.chat)
  // These stand apart: a transport's own are merged over them, name by name.
  const { requestVars, capabilities, ...each } = shared
  return {
    mode: mode as AgentMode,
    ...plainAsked(shared),
    logger: shared["logger"],
    avatar: plainAvatar(over(each, own.avatar)),
    chat: plainChat(over(each, own.chat)),
  }
}

/** The options of a transport: its own over those that are shared. */
function over({ token, ks, ...shared }: PlainOptions, own: PlainOptions): PlainOptions {
  return "token" in own || "ks" in own ? { ...shared, ...own } : { token, ks, ...shared, ...own }
}
