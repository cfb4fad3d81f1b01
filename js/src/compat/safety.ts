import { safeUrl } from "../ui/dom.js"

/** How many characters of a text from the service are kept. */
const inboundChars = 8000

/** Removes control characters except tabs and line ends, and replaces lone surrogates. */
export const printable = (text: string): string => text.replace(/\p{Cs}/gu, "\ufffd").replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, "")

const firstChars = (text: string, count: number): string => (text.length <= count ? text : [...text].slice(0, count).join(""))

/** A text of the service as it may be kept: without control characters, and cut to 8,000 characters. */
export const clampInbound = (text: string): string => firstChars(printable(text), inboundChars)

/** Any value as a text for people: without control characters and secrets, cut to `limit` characters. */
export const safeText = (value: unknown, limit = 2000): string => firstChars(redact(printable(typeof value === "string" ? value : value == null ? "" : String(value))), limit)

/** Whether a value is an object but not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value)

// Keys that could replace the prototype of an object to which they are copied.
const polluting: readonly string[] = ["__proto__", "constructor", "prototype"]
const maxDepth = 64

/** A copy of plain data without the keys that could change prototypes, and without what is nested deeper than 64 levels. */
export function sanitizeJson(value: unknown): unknown {
  return copied(value, 0, (inner) => inner)
}

function copied(value: unknown, depth: number, leaf: (value: unknown, key?: string) => unknown, key?: string): unknown {
  if (typeof value !== "object" || value === null) return leaf(value, key)
  if (depth === maxDepth) return undefined
  if (key !== undefined && isSecret(key) && leaf("x", key) !== "x") return redacted
  if (Array.isArray(value)) return value.map((inner) => copied(inner, depth + 1, leaf))
  return Object.fromEntries(Object.entries(value).filter(([name]) => !polluting.includes(name)).map(([name, inner]) => [name, copied(inner, depth + 1, leaf, name)]))
}

const redacted = "[redacted]"
const names = "ks|token|access_?token|secret|admin_?secret|password|passwd|pwd|credential|authorization|request_?vars"
const secretName = new RegExp(`^(${names})$`, "i")
const isSecret = (name: string): boolean => secretName.test(name)

// A token of the service is the base64url of "v2|…", a JSON Web Token that of '{"…'.
const secrets: readonly [RegExp, string | ((found: string) => string)][] = [
  [/djJ8[\w+/=-]+/g, redacted],
  [/[\w.-]+/g, withoutJWT],
  [/\b(KS|Bearer|Basic)(\s+)(?=[^\s"']*[\d_+/=.-])[^\s"',;]{6,}/gi, `$1$2${redacted}`],
  [/([a-z]:\/\/)[^\s"'/?#]*@/gi, `$1${redacted}@`],
  [new RegExp(`((?<![\\w-])"?(?:${names})"?\\s*[=:]\\s*)("(?:[^"\\\\]|\\\\.)*"?|\\{[^{}]*\\}?|[^\\s"&,;{}[\\]]+)`, "gi"), `$1${redacted}`],
  [/\b[\da-f]{32,}\b/gi, redacted],
  [/(?<![\d.])(?:10\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])|192\.168|169\.254)\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/g, redacted],
]

/** @internal The expressions that are made of the names. */
export const patterns: readonly RegExp[] = [secretName, ...secrets.map(([pattern]) => pattern)]

/** Removes a JSON Web Token, and what follows it, from a text of its characters. An expression for it would take quadratic time. */
function withoutJWT(text: string): string {
  const parts = text.split(".")
  const header = parts.findIndex((part, i) => part.length - part.indexOf("eyJ") >= 13 && part.includes("eyJ") && parts[i + 1])
  return header < 0 ? text : [...parts.slice(0, header), parts[header]!.slice(0, parts[header]!.indexOf("eyJ")) + redacted].join(".")
}

/**
 * Removes what must not be in a log: tokens, credentials, secrets, private addresses and
 * variables of the prompt. An object is copied, not changed. Unlike the runtime's own
 * redaction, it does not look into escapes and base64.
 */
export function redact<T>(value: T): T {
  const text = (text: string) => secrets.reduce((rest, [pattern, by]) => rest.replace(pattern, by as string), text)
  return copied(value, 0, (inner, key) => (key !== undefined && isSecret(key) && inner != null && inner !== "" ? redacted : typeof inner === "string" ? text(inner) : inner)) as T
}

/** A link that opens in a new tab, or a span when its address is not http or https. */
export function renderSafeLink(url: unknown, label?: unknown): HTMLElement {
  const href = safeUrl(url)
  const element = document.createElement(href === undefined ? "span" : "a")
  if (href !== undefined) Object.assign(element, { href, target: "_blank", rel: "noopener noreferrer" })
  element.textContent = safeText(label ?? url)
  return element
}
