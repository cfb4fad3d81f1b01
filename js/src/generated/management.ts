// Generated from management and runtime/appinit by "go generate ./runtime/event"; don't edit.
import type { Region } from "./settings.js"

/** The addresses of each region; null for a service that it does not have. */
export const bases: Readonly<Record<Region, Readonly<Record<"agenticUrl" | "genieUrl" | "ovpUrl" | "messagingUrl", string | null>>>> = {
  nvp1: {
    agenticUrl: "https://api.avatar.us.kaltura.ai/v1",
    genieUrl: "https://genie.nvp1.ovp.kaltura.com",
    ovpUrl: "https://www.kaltura.com/api_v3",
    messagingUrl: "https://messaging.nvp1.ovp.kaltura.com/api/v1",
  },
  frp2: {
    agenticUrl: "https://api.avatar.eu.kaltura.ai/v1",
    genieUrl: "https://genie.frp2.ovp.kaltura.com",
    ovpUrl: "https://api.frp2.ovp.kaltura.com/api_v3",
    messagingUrl: null,
  },
}

/** The ways to embed an agent. */
export const EMBED_TYPES = ["contained", "page", "floater"] as const

/** Modes of a skill. */
export const SKILL_MODES = ["adhoc", "adhoc-save", "preloaded"] as const

/** When a form is shown. */
export const CALL_STAGES = ["start", "middle", "end"] as const

/** The kinds of tools. */
export const TOOL_TYPES = ["api", "csv", "code", "client"] as const

/** What documents are indexed by. */
export const MODALITIES = ["document", "caption", "ocr"] as const

/** The types of the value of an insight. */
export const insightTypes = ["string", "number", "boolean", "string[]", "number[]", "boolean[]"] as const

/** The states of an insight setting and of a rule. */
export const ruleStates = ["active", "disabled"] as const

/** What the rules of an account may do. */
export const actionTypes = ["triggerInsightSettingsKai", "sendEmail"] as const

/** The names of languages, by the first part of their tags. */
export const languages: Readonly<Record<string, string>> = {
  "ar": "Arabic",
  "bg": "Bulgarian",
  "cs": "Czech",
  "da": "Danish",
  "de": "German",
  "el": "Greek",
  "en": "English",
  "es": "Spanish",
  "fi": "Finnish",
  "fr": "French",
  "he": "Hebrew",
  "hi": "Hindi",
  "hu": "Hungarian",
  "id": "Indonesian",
  "it": "Italian",
  "ja": "Japanese",
  "ko": "Korean",
  "nl": "Dutch",
  "no": "Norwegian",
  "pl": "Polish",
  "pt": "Portuguese",
  "ro": "Romanian",
  "ru": "Russian",
  "sv": "Swedish",
  "tr": "Turkish",
  "uk": "Ukrainian",
  "vi": "Vietnamese",
  "zh": "Chinese"
}
