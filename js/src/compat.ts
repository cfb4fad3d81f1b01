/**
 * agentruntime/compat: everything of `agentruntime`, and what pages import from the
 * service's reference client, under the names used there, so that a page written for that
 * client moves over by changing its imports. docs/moving.md has a table of all names.
 */
export * from "./index.js"
export { AgentSession as KalturaAgentSession } from "./agentsession.js"
export { AvatarSession as KalturaAvatarSession } from "./avatar.js"
export { ChatSession as KalturaChatSession } from "./chatsession.js"
export { AgentError as KalturaError } from "./errors.js"
export { apportion, TranscriptTracker } from "./compat/captions.js"
export { clampInbound, redact, renderSafeLink, safeText, sanitizeJson } from "./compat/safety.js"
export { collectConverse, parseConverseStream, segmentKind, type CollectedTurn, type CollectOptions, type ConverseSource, type SegmentKind } from "./compat/stream.js"
export { canonicalJson, parseOAuthRequired, parseToolCall, parseToolResponseName, validateToolArgs } from "./compat/tools.js"
export {
  DEFAULT_RENDERERS, ExperienceRenderer, isKnownRuntime, mountWidget, normalizeRuntime, parseContent, parseWidget, RUNTIMES, SegmentAssembler, WIDGET_KINDS,
  type Content, type ExperienceRendererOptions, type MountOptions, type WidgetRenderer,
} from "./compat/widgets.js"
export {
  buildJoin, buildStvNewSession, buildTextEntered, CAPABILITIES, CAPACITY_BACKOFF, classifyAgentAction, DEFAULT_CM_URL, EXPERIENCES, iceConfig, isAudioMode,
  MODEL_TYPES, modelTypeWire, REGIONS, turnServers, whepUrl, whepUrlHasPrivateIp,
} from "./compat/wire.js"
export { Captions as CaptionService, type Caption, type CaptionOptions } from "./ui/captions.js"
export { safeUrl } from "./ui/dom.js"
export { EMBED_HOSTS, externalEmbedUrl, type WidgetAction, type WidgetOptions } from "./ui/widgets.js"
export { Analytics as KavaAnalytics, buildButtonClickedParams, buildPageLoadParams, DEFAULT_ANALYTICS_URL, EVENT_TYPES, HOSTING_APPLICATIONS, PAGE_TYPES } from "./analytics.js"
export { attachChromaKey as attachChromaKeyAvatar } from "./chroma.js"
export { SiteNavigator } from "./navigator.js"
export { createNoiseSuppressor } from "./noise.js"
export { parseSlideNumber, Presenter } from "./presenter.js"
export { ScriptedVideoSession as KalturaScriptedVideoSession } from "./scripted.js"
