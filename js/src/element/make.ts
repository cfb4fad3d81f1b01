import type { Token } from "../core/inputs.js"
import type { AppInitResult } from "../session/appinit.js"
import type { VisitorAccess } from "../session/visitor.js"
import type { Texts } from "../ui/dom.js"
import { WIDGET_LABELS } from "../ui/labels.js"
import { warnUnknown } from "../ui/unknownlabels.js"
import { sessionAttributes, type AttributeProperties } from "./attributes.js"
import { numberNames } from "./checkattributes.js"
import { english, type Labels } from "./labels.js"
import { LAUNCHER_LABELS } from "./launcherlabels.js"
import { chatModule, fullModule, imported, namesModule, type AnySession, type SessionOptions } from "./session.js"
import type { Mode } from "./state.js"
import { TOOL_LABELS } from "./toollabels.js"

/** What a page says of a session: the attributes and the property `options`. */
interface Settings extends AttributeProperties {
  readonly options: SessionOptions
}

/** What is needed to make a session. */
export interface Plan {
  element: Settings & { readonly labels: Texts<Labels> }
  modes: readonly Mode[]
  video: HTMLVideoElement
  /** The reply of `appInit`, and a function that requests another one, when its token is refused. */
  init: AppInitResult
  again: () => Promise<AppInitResult>
  /** The notice that the element shows. */
  disclosure: string
}

/** A session that is not connected yet. */
export interface Made<Session extends AnySession = AnySession> {
  readonly session: Session
  /** What a visitor's own calls need, with the session's present token. */
  access(): VisitorAccess
}

// Widgets that the elements draw; agents send them only when they are switched on.
const capabilities = { show_link: "on", video_gallery: "on", external_video: "on" } as const

/** The options of the attributes, and of the page, which take precedence. */
export function optionsOf(element: Settings): SessionOptions {
  const options: Record<string, string | number> = {}
  for (const name of Object.keys(sessionAttributes) as (keyof typeof sessionAttributes)[]) {
    const value = element[name]
    if (value !== null && !(name in numberNames)) options[name] = value
    else if (value) options[name] = Number(value)
  }
  return { ...options, ...element.options }
}

/** Warns of names that no text has. A service may have codes and reasons of its own, so those of `errors` and `ended` may be any. */
function checkLabels(labels: Texts<Labels>): void {
  warnUnknown(labels, Object.keys(english))
  const groups = { activities: english.activities, launcher: LAUNCHER_LABELS, tools: TOOL_LABELS, widgets: WIDGET_LABELS }
  for (const [name, all] of Object.entries(groups)) warnUnknown(labels[name as keyof typeof groups], Object.keys(all))
}

export async function makeSession({ element, modes, video, init, again, disclosure }: Plan): Promise<Made> {
  checkLabels(element.labels)
  const { knownReply } = await imported(namesModule)
  const { microphone } = element
  const options = optionsOf(element)
  const { region, genieUrl, onTokenNeeded: need = async () => (await again()).ks } = options
  let renewed: Token | undefined
  const onTokenNeeded = async () => {
    const before = renewed
    const token = await need()
    if (renewed === before) renewed = token // else the page has set another one
    return token
  }
  const access = () => ({ ...knownReply({ ...init, ...(renewed && { token: renewed }) }), ...(region && { region }), ...(genieUrl && { genieUrl }) }) as VisitorAccess
  const common = { ...knownReply(init), ...options, onTokenNeeded }
  const chat = { capabilities: { ...capabilities, ...options.capabilities } }
  const avatar = {
    videoEl: video,
    disclosureText: disclosure,
    micStartMode: microphone === "click" || microphone === "none" ? "deferred" : "immediate",
    capabilities: { avatar_show_content: "on", ...chat.capabilities },
  } as const
  const make = async () => {
    if (!modes.includes("face")) return new (await imported(chatModule)).ChatSession({ ...common, ...chat })
    const { AgentSession, AvatarSession } = await imported(fullModule)
    if (modes.length === 1) return new AvatarSession({ ...common, ...avatar })
    return new AgentSession({ ...common, mode: modes[0] === "face" ? "avatar" : "chat", avatar, chat })
  }
  const session = await make()
  // Ratings are requests beside the session, so they need to know the token that a page gives to it.
  const setToken = session.setToken.bind(session)
  session.setToken = (token) => {
    setToken(token)
    renewed = token
  }
  return { session, access }
}
