import { AgentError, cancelled, messageOf } from "../core/errors.js"
import { partError } from "../core/part.js"
import { isObject } from "../core/object.js"
import { textUpTo } from "../core/textupto.js"

/** A part of a page that the agent can show. */
export interface SiteSection {
  /** The id of the element. */
  readonly id: string
  readonly title?: string | undefined
  readonly description?: string | undefined
}

/** A page of the site. */
export interface SitePage {
  /** From the root of the site, without the prefix: `/pricing`. */
  readonly path: string
  readonly title: string
  readonly description?: string | undefined
  readonly sections?: readonly SiteSection[] | undefined
}

/** The pages that the agent can show. */
export interface SiteManifest {
  readonly pages: readonly SitePage[]
}

/** The most pages, and the most sections of a page. */
const maxEntries = 2000

/** Checks a manifest and returns a copy with what is known of it. Throws `bad_manifest`. */
export function checkManifest(value: unknown): SiteManifest {
  const pages = Array.isArray(value) ? value : isObject(value) ? value["pages"] : undefined
  const paths = new Set<string>()
  return {
    pages: list("pages", pages).map((page, i) => {
      const { path, title, sections } = page
      // The path of the site itself: neither another host nor a step upwards.
      if (typeof path !== "string" || !/^\/(?![/\\])[^?#\\\s]*$/.test(path) || /(^|\/)\.\.?(\/|$)/.test(path)) throw bad(`the path of page ${i + 1} must begin with a single /, without dots, query and hash`)
      if (paths.has(path)) throw bad(`the path ${path} is there twice`)
      paths.add(path)
      const named = textOf(`the title of ${path}`, title)
      if (named === undefined) throw bad(`${path} needs a title`)
      return {
        path,
        title: named,
        ...described(path, page),
        ...(sections !== undefined && {
          sections: list(`the sections of ${path}`, sections).map((section) => {
            const id = textOf(`the id of a section of ${path}`, section["id"])?.replace(/^#/, "")
            if (!id) throw bad(`a section of ${path} needs an id`)
            const title = textOf(`the title of ${path}#${id}`, section["title"])
            return { id, ...(title !== undefined && { title }), ...described(`${path}#${id}`, section) }
          }),
        }),
      }
    }),
  }
}

function list(what: string, value: unknown): Record<string, unknown>[] {
  if (!Array.isArray(value) || !value.every(isObject)) throw bad(`${what} must be an array of objects`)
  if (value.length > maxEntries) throw bad(`${what} must be at most ${maxEntries}`)
  return value
}

function textOf(what: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined
  if (typeof value !== "string") throw bad(`${what} must be a text`)
  return value.trim()
}

function described(what: string, { description }: Record<string, unknown>): { description?: string } {
  const text = textOf(`the description of ${what}`, description)
  return text === undefined ? {} : { description: text }
}

/** Requests a manifest. Rejects with `http_error`, `network_error`, `timeout`, `too_large`, `bad_manifest`, or `aborted` by signal. */
export async function fetchManifest(url: URL, maxBytes: number, timeoutMs: number, signal: AbortSignal): Promise<SiteManifest> {
  if (signal.aborted) throw cancelled(signal)
  const late = AbortSignal.timeout(timeoutMs)
  try {
    const reply = await fetch(url, { signal: AbortSignal.any([signal, late]), credentials: "same-origin", headers: { Accept: "application/json" } })
    if (!reply.ok) {
      await reply.body?.cancel()
      throw partError("http_error", "HTTP error", `the manifest's server answered ${reply.status}`, { status: reply.status, retryable: reply.status >= 500 })
    }
    const text = await textUpTo(reply, maxBytes, () => partError("too_large", "Too large", `the manifest has more than ${maxBytes} bytes`))
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (cause) {
      throw partError("bad_manifest", "Bad manifest", "the manifest is not JSON", { cause })
    }
    return checkManifest(value)
  } catch (cause) {
    if (signal.aborted) throw cancelled(signal)
    if (late.aborted) throw partError("timeout", "Timed out", `the manifest did not arrive within ${timeoutMs} ms`, { retryable: true })
    if (cause instanceof AgentError) throw cause
    throw partError("network_error", "Network error", `the manifest could not be fetched: ${messageOf(cause)}`, { retryable: true, cause })
  }
}

const bad = (detail: string) => partError("bad_manifest", "Bad manifest", detail)
