/**
 * agentruntime/compat: everything of `agentruntime`, and what pages import from the
 * service's reference client, under the names used there and with the same arguments and
 * results, so that a page written for that client moves over by changing its imports.
 * docs/moving.md has a table of all names.
 */
export * from "./index.js"
export { AgentError as KalturaError } from "./core/errors.js"
export {
  classifyAgentAction, type CompatAction, type CompatActionType, type CompatPolicy,
} from "./compat/actions.js"
export {
  assertCapability, assertCapabilityState, CAPABILITIES, CAPABILITY_DEFAULTS, CAPABILITY_INFO, CAPABILITY_STATE, mergeCapabilityWrite, resolveCapabilities,
  validateCapabilities, type CapabilityInfo, type CapabilityLayers, type ResolvedCapability,
} from "./compat/capabilities.js"
export { apportion, CaptionService, TranscriptTracker, type Caption, type CaptionOptions, type ChunkLike, type Replacements } from "./compat/captions.js"
export {
  DEFAULT_RENDERERS, ExperienceRenderer, GENUI_RUNTIMES, GENUI_WIDGET_NAME, isKnownRuntime, normalizeRuntime, parseContent, parseWidget, RUNTIMES, SegmentAssembler,
  WIDGET_KINDS, type AssemblerOptions, type ExperienceRendererOptions, type Model, type ParsedWidget, type RenderContext, type WidgetRenderer,
} from "./compat/genui.js"
export { EMBED_HOSTS, externalEmbedUrl, playerEmbedUrl, thumbnailUrl } from "./compat/media.js"
export { mountWidget, type Descriptor, type MountOptions, type WidgetActions } from "./compat/mount.js"
export { clampInbound, redact, renderSafeLink, safeText, safeUrl, sanitizeJson, type SafeLink, type SafeUrlOptions } from "./compat/safety.js"
export {
  KalturaAgentSession, KalturaAvatarSession, KalturaChatSession,
  type AgentActionHook, type CompatAgentOptions, type CompatAvatarOptions, type CompatChatOptions, type CompatMethods,
} from "./compat/sessions.js"
export { collectConverse, parseConverseStream, SPIRAL_RECOVERY_PREFIX, type CollectedTurn, type CollectOptions, type ConverseSource, type RawSegment } from "./compat/stream.js"
export {
  canonicalJson, parseOAuthRequired, parseToolCall, parseToolResponseName, segmentKind, validateToolArgs,
  type ArgsCheck, type CompatToolCall, type SegmentKind, type SegmentLike,
} from "./compat/tools.js"
export {
  buildJoin, buildStvNewSession, buildTextEntered, CAPACITY_BACKOFF, DEFAULT_CM_URL, EXPERIENCES, iceConfig, isAudioMode, MODEL_TYPES, modelTypeWire, randId, REGIONS,
  turnServers, uuidv4, whepUrl, whepUrlHasPrivateIp, type JoinValues, type RelayLogin,
} from "./compat/wire.js"
export { Analytics as KavaAnalytics, buildButtonClickedParams, buildPageLoadParams, DEFAULT_ANALYTICS_URL, EVENT_TYPES, HOSTING_APPLICATIONS, PAGE_TYPES } from "./analytics.js"
export { attachChromaKey as attachChromaKeyAvatar } from "./chroma.js"
export { SiteNavigator } from "./navigator.js"
export { createNoiseSuppressor } from "./noise.js"
export { parseSlideNumber, Presenter } from "./presenter.js"
export { ScriptedVideoSession as KalturaScriptedVideoSession } from "./scripted.js"
