import type { AppInitResult } from "../session/appinit.js"
import { chatModule, fullModule, imported, namesModule, type AnySession, type SessionOptions } from "./session.js"
import type { Mode } from "./state.js"

/** What is needed to make a session. */
export interface Plan {
  modes: readonly Mode[]
  video: HTMLVideoElement
  microphone: "start" | "click" | "none"
  /** The reply of `appInit`, and a function that requests another one, when its token is refused. */
  init: AppInitResult
  again: () => Promise<AppInitResult>
  /** Is called with each token that the session gets after the first one. */
  renewed(token: string): void
  options: SessionOptions
  /** The notice that the element shows. */
  disclosure: string
}

// Widgets that the elements draw; agents send them only when they are switched on.
const capabilities = { show_link: "on", video_gallery: "on", external_video: "on" } as const

/** Makes the session, which is not connected yet. */
export async function makeSession({ modes, video, microphone, init, again, renewed, options, disclosure }: Plan): Promise<AnySession> {
  const { knownReply } = await imported(namesModule)
  const need = options.onTokenNeeded ?? (async () => (await again()).ks)
  const onTokenNeeded = async () => {
    const token = await need()
    renewed(token)
    return token
  }
  const common = { ...knownReply(init), ...options, onTokenNeeded }
  const chat = { capabilities: { ...capabilities, ...options.capabilities } }
  const avatar = {
    videoEl: video,
    disclosureText: disclosure,
    micStartMode: microphone === "start" ? "immediate" : "deferred",
    capabilities: { avatar_show_content: "on", ...chat.capabilities },
  } as const
  if (!modes.includes("face")) return new (await imported(chatModule)).ChatSession({ ...common, ...chat })
  const { AgentSession, AvatarSession } = await imported(fullModule)
  if (modes.length === 1) return new AvatarSession({ ...common, ...avatar })
  return new AgentSession({ ...common, mode: modes[0] === "face" ? "avatar" : "chat", avatar, chat })
}
