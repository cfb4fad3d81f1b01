// Texts and addresses as the reference client bounds and cleans them.
import { isObject, maxDepth, safeEntries, withoutControls } from "../segments/plain.js"

/** At most `max` UTF-16 units of a text, without half of a character at the end. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, Math.max(max, 0)).replace(/[\ud800-\udbff]$/, "")
}

/** A text without control characters except tabs and line ends, cut to `max` UTF-16 units; any other value as it is. */
export function clampInbound<T>(value: T, max = 8000): T {
  return typeof value === "string" ? (cut(withoutControls(value), max) as T) : value
}

/** Any value as a text without control characters except tabs and line ends, cut to `max` UTF-16 units; `""` for null and undefined. */
export const safeText = (value: unknown, max = 2000): string => clampInbound(value == null ? "" : String(value), max)

/** Options of {@link safeUrl}. */
export interface SafeUrlOptions {
  /** The schemes that are allowed, with or without the colon. Default https, http, mailto and tel. */
  allow?: readonly string[] | undefined
}

const linkSchemes = ["https", "http", "mailto", "tel"]

/**
 * An address that may be a link, or `""`: it must be relative or have an allowed scheme, and
 * must not have a user or a password. An address of another host without a scheme is refused.
 */
export function safeUrl(value: unknown, { allow = linkSchemes }: SafeUrlOptions = {}): string {
  if (typeof value !== "string") return ""
  // Browsers remove these characters before they look for the scheme.
  const text = value.replace(/[\0-\x1f\x7f]/g, "").trim()
  if (text === "" || /^[\\/]{2}/.test(text)) return ""
  const [, scheme] = /^([^/?#:]*):/.exec(text) ?? []
  if (scheme === undefined) return text
  if (!allow.some((each) => each.replace(/:$/, "").toLowerCase() === scheme.toLowerCase())) return ""
  try {
    const { username, password } = new URL(text)
    return username === "" && password === "" ? text : ""
  } catch {
    return ""
  }
}

/** What {@link renderSafeLink} makes a link of. */
export interface SafeLink {
  url?: unknown
  /** The text of the link, at most 200 characters. Default: the address. */
  label?: unknown
  /** `"_self"` opens the address in the same tab. Default `"_blank"`. */
  target?: unknown
}

/** A link element whose page gets no reference to this one; null without a DOM, and for an address that {@link safeUrl} refuses. */
export function renderSafeLink(link: SafeLink | null | undefined, options?: SafeUrlOptions): HTMLAnchorElement | null {
  const { url, label, target } = link ?? {}
  const href = safeUrl(url, options)
  if (href === "" || typeof document === "undefined") return null
  const element = document.createElement("a")
  element.href = href
  element.target = target === "_self" ? "_self" : "_blank"
  element.rel = "noopener noreferrer"
  element.textContent = safeText(label || href, 200)
  return element
}

/** A copy of data without functions, symbols and the keys that could change prototypes. What is nested deeper than 64 levels is not copied. */
export function sanitizeJson(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth >= maxDepth) return value
  if (Array.isArray(value)) return value.filter(isData).map((inner) => sanitizeJson(inner, depth + 1))
  return Object.fromEntries(safeEntries(value).filter(([, inner]) => isData(inner)).map(([name, inner]) => [name, sanitizeJson(inner, depth + 1)]))
}

const isData = (value: unknown): boolean => typeof value !== "function" && typeof value !== "symbol"

const hidden = "<redacted>"
const secretName = /secret|password|passwd|credential|token|authorization|^(?:ks|pwd)$/i
const names = "ks|token|access_?token|secret|admin_?secret|password|passwd|pwd|credential|authorization"

// A token of the service is the base64url of "v2|…", a JSON Web Token that of '{"…'.
const secrets: readonly [RegExp, string | ((found: string) => string)][] = [
  [/djJ8[\w+/=-]+/g, "<KS>"],
  [/[\w.-]+/g, withoutJWT],
  [/\b(KS|Bearer|Basic)(\s+)(?=[^\s"']*[\d_+/=.-])[^\s"',;<>]{6,}/gi, `$1$2${hidden}`],
  [/([a-z]:\/\/)[^\s"'/?#<>]*@/gi, `$1${hidden}@`],
  [new RegExp(`((?<![\\w-])"?(?:${names})"?\\s*[=:]\\s*)("(?:[^"\\\\<]|\\\\.)*"?|[^\\s"&,;{}<>[\\]]+)`, "gi"), `$1${hidden}`],
  [/\b[\da-f]{32,}\b/gi, "<secret>"],
  [/(?<![\d.])(?:10\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])|192\.168|169\.254)\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/g, "<private-ip>"],
]

/** @internal The expressions that are applied to texts. */
export const patterns: readonly RegExp[] = [secretName, ...secrets.map(([pattern]) => pattern)]

/** Removes a JSON Web Token, and what follows it, from a text of its characters. An expression for it would take quadratic time. */
function withoutJWT(text: string): string {
  const parts = text.split(".")
  const header = parts.findIndex((part, i) => part.length - part.indexOf("eyJ") >= 13 && part.includes("eyJ") && parts[i + 1])
  return header < 0 ? text : [...parts.slice(0, header), parts[header]!.slice(0, parts[header]!.indexOf("eyJ")) + hidden].join(".")
}

/**
 * Removes what must not be in a log: tokens, credentials, secrets, private addresses and
 * variables of the prompt. An object is copied, not changed. Unlike the runtime's own
 * redaction, it does not look into escapes and base64.
 */
export function redact<T>(value: T): T {
  return redacted(value, 0) as T
}

function redacted(value: unknown, depth: number): unknown {
  if (typeof value === "string") return secrets.reduce((rest, [pattern, by]) => rest.replace(pattern, by as string), value)
  if (typeof value !== "object" || value === null) return value
  if (depth === maxDepth) return hidden
  if (Array.isArray(value)) return value.map((inner) => redacted(inner, depth + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(safeEntries(value).map(([name, inner]) => [name, marked(name, inner) ?? redacted(inner, depth + 1)]))
}

/** What stands in place of a value because of its name; undefined when the name hides nothing. */
function marked(name: string, value: unknown): string | undefined {
  if (value == null || value === "") return undefined
  if (/^request_?vars$/i.test(name)) return "<request_vars-redacted>"
  return secretName.test(name) ? hidden : undefined
}
