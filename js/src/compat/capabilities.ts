// What an agent may do, in the reference client's form.
import { localError } from "../core/errors.js"
import { isObject, safeEntries } from "../segments/plain.js"
import type { CapabilityName as AnyCapability, CapabilityState } from "../core/options.js"
import { capabilityNames } from "../generated/settings.js"

/** A capability of the reference client; sessions also take `think_process`. */
type CapabilityName = Exclude<AnyCapability, "think_process">

/** The names of the capabilities. */
export const CAPABILITIES: readonly CapabilityName[] = Object.freeze(capabilityNames.filter((name): name is CapabilityName => name !== "think_process"))

/** The states of a capability; `disabled` is a veto. */
export const CAPABILITY_STATE = { ON: "on", OFF: "off", DISABLED: "disabled" } as const

/** What a capability is. */
export interface CapabilityInfo {
  /** What it adds: a tool of the agent, segments of an answer, a mode of the answers, or a part of the prompt. */
  kind: "tool" | "segment" | "mode" | "prompt"
  /** The runtime of the segments. */
  runtime?: string
  defaultState: "on" | "off"
  summary: string
}

const { ON, OFF, DISABLED } = CAPABILITY_STATE

/** What each capability is. */
export const CAPABILITY_INFO: Readonly<Record<CapabilityName, CapabilityInfo>> = {
  use_knowledge_base: { kind: "tool", defaultState: ON, summary: "Searches the knowledge of the agent." },
  use_content_search: { kind: "tool", defaultState: ON, summary: "Searches the account's media." },
  use_get_entry_content: { kind: "tool", defaultState: ON, summary: "Reads the content of one media entry." },
  generate_followup_questions: { kind: "segment", runtime: "followups", defaultState: ON, summary: "Proposes questions to ask next." },
  include_sources: { kind: "segment", runtime: "sources", defaultState: ON, summary: "Names the sources of an answer." },
  use_related_files: { kind: "tool", defaultState: ON, summary: "Reads files that belong to an entry." },
  video_gallery: { kind: "segment", runtime: "video-gallery", defaultState: OFF, summary: "Shows a gallery of videos." },
  external_video: { kind: "segment", runtime: "external-video", defaultState: OFF, summary: "Shows a video of another site." },
  show_link: { kind: "segment", runtime: "show-link", defaultState: OFF, summary: "Shows a link." },
  avatar: { kind: "mode", defaultState: OFF, summary: "Answers with a face and a voice." },
  avatar_filler: { kind: "prompt", defaultState: OFF, summary: "Says a short phrase while the answer is prepared." },
  avatar_show_content: { kind: "prompt", defaultState: OFF, summary: "Refers to content that is shown beside the face." },
  kaltura_genie_experiences: { kind: "mode", defaultState: ON, summary: "Answers with widgets." },
  use_web_search: { kind: "tool", defaultState: OFF, summary: "Searches the web." },
  screen_share_analysis: { kind: "prompt", defaultState: OFF, summary: "Considers what the visitor shares of the screen." },
}

/** The state of each capability where nothing sets it. */
export const CAPABILITY_DEFAULTS = Object.fromEntries(CAPABILITIES.map((name) => [name, CAPABILITY_INFO[name].defaultState])) as Readonly<Record<CapabilityName, "on" | "off">>

/** Returns the name of a capability. Throws `unknown_capability` for another value. */
export function assertCapability<Name>(name: Name): Name {
  if (!(CAPABILITIES as readonly unknown[]).includes(name)) throw localError("unknown_capability", `there is no capability ${String(name)}; use one of ${CAPABILITIES.join(", ")}`)
  return name
}

/** Returns the state of a capability. Throws `bad_request` for another value. */
export function assertCapabilityState<State>(state: State): State {
  if (![ON, OFF, DISABLED].includes(state as CapabilityState)) throw localError("bad_request", `the state of a capability must be one of ${ON}, ${OFF}, ${DISABLED}`)
  return state
}

/** Returns a map of capabilities to their states. Throws `unknown_capability` or `bad_request` for another value. */
export function validateCapabilities<Map>(capabilities: Map): Map {
  if (!isObject(capabilities)) throw localError("bad_request", "the capabilities must be an object of names and states")
  for (const [name, state] of Object.entries(capabilities)) {
    assertCapability(name)
    assertCapabilityState(state)
  }
  return capabilities
}

/** A new map to store: the stored one, also with names that are not known here, and the changes. Throws like {@link validateCapabilities} for the changes. */
export function mergeCapabilityWrite(current: Readonly<Record<string, unknown>> | null | undefined, patch: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(safeEntries({ ...(isObject(current) ? current : {}), ...validateCapabilities(patch) }))
}

/** Where the state of a capability is set, the strongest last, except that `disabled` wins in every layer. */
export interface CapabilityLayers {
  env?: Readonly<Record<string, unknown>> | null | undefined
  partnerConfig?: Readonly<Record<string, unknown>> | null | undefined
  request?: Readonly<Record<string, unknown>> | null | undefined
  partnerId?: string | number | null | undefined
  /** Whether the account has a configuration for web search, without which it is off. Default: not known. */
  webSearchConfigPresent?: boolean | null | undefined
}

/** The state of one capability and where it comes from. */
export interface ResolvedCapability {
  state: "on" | "off"
  resolvedFrom: "request" | "partner_config" | "env" | "default" | "disabled_veto" | "web_search_config"
  vetoed: boolean
  /** The state is a guess, because whether web search is configured is not visible here. */
  inferred?: true
  layers: { env: string | null; partnerConfig: string | null; request: string | null; default: string }
}

/** The state of one capability, from the layers in which it is set. */
export function resolveCapability(name: AnyCapability, { env, partnerConfig, request, webSearchConfigPresent }: CapabilityLayers): ResolvedCapability {
  const at = (layer: CapabilityLayers["env"]) => {
    const state = isObject(layer) && Object.hasOwn(layer, name) ? layer[name] : undefined
    return [ON, OFF, DISABLED].includes(state as CapabilityState) ? (state as CapabilityState) : null
  }
  const layers = { env: at(env), partnerConfig: at(partnerConfig), request: at(request), default: name === "think_process" ? OFF : CAPABILITY_DEFAULTS[name] }
  const vetoed = [layers.env, layers.partnerConfig, layers.request].includes(DISABLED)
  if (vetoed) return { state: OFF, resolvedFrom: "disabled_veto", vetoed, layers }
  const [state, resolvedFrom] =
    layers.request ? ([layers.request, "request"] as const)
    : layers.partnerConfig ? ([layers.partnerConfig, "partner_config"] as const)
    : layers.env ? ([layers.env, "env"] as const)
    : ([layers.default, "default"] as const)
  if (name !== "use_web_search") return { state: state as "on" | "off", resolvedFrom, vetoed, layers }
  // Without a configuration the service has no search to run; with one it is on unless something switches it off.
  const configured = webSearchConfigPresent === false || (webSearchConfigPresent === true && resolvedFrom === "default")
  if (configured) return { state: webSearchConfigPresent ? ON : OFF, resolvedFrom: "web_search_config", vetoed, inferred: true, layers }
  return { state: state as "on" | "off", resolvedFrom, vetoed, inferred: true, layers }
}

/** The state of every capability, from the layers in which it is set. */
export function resolveCapabilities(layers: CapabilityLayers = {}): {
  capabilities: Record<CapabilityName, ResolvedCapability>
  _meta: { generatedAt: string; partnerId: string | null; source: string }
} {
  const { partnerId } = layers
  return {
    capabilities: Object.fromEntries(CAPABILITIES.map((name) => [name, resolveCapability(name, layers)])) as Record<CapabilityName, ResolvedCapability>,
    _meta: { generatedAt: new Date().toISOString().replace(/\.\d+Z$/, "Z"), partnerId: partnerId == null ? null : String(partnerId), source: "client-side" },
  }
}
