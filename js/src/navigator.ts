/**
 * agentruntime/navigator: an agent that moves the visitor around a site by a tool
 * (docs/parts.md#site-navigator). It goes only where the site's manifest says.
 */
import { checkManifest, fetchManifest, type SiteManifest, type SitePage, type SiteSection } from "./navigator/manifest.js"
import { checkFunction, handleTool, numberOf, partError, type ToolSession } from "./core/part.js"
import { Scope, type SessionLike } from "./ui/listen.js"

export type { SiteManifest, SitePage, SiteSection } from "./navigator/manifest.js"

/** What a navigator uses of a session: an `AvatarSession`, or a fake of a test. */
export interface NavigatorSession extends SessionLike, ToolSession {}

/** Where the visitor was taken. */
export interface SitePlace {
  readonly page: SitePage
  readonly section: SiteSection | undefined
  /** The path with the prefix, and the section's id as its hash. */
  readonly path: string
}

/** Options of {@link SiteNavigator}. */
export interface SiteNavigatorOptions {
  session: NavigatorSession
  /**
   * Shows a page without loading the document anew, which would end the conversation: the
   * function of the site's router. It gets a path of the manifest with `pathPrefix` before it.
   */
  navigate: (path: string, page: SitePage) => unknown
  /** The pages of the site; either this or `manifestUrl`. */
  manifest?: SiteManifest | undefined
  /** The address of the manifest as JSON, resolved against the page. */
  manifestUrl?: string | URL | undefined
  /** The largest manifest that is read, in bytes. Default 524288. */
  manifestMaxBytes?: number | undefined
  /** How long the manifest may take, in milliseconds. Default 10000. */
  manifestTimeoutMs?: number | undefined
  /** What comes before every path, for a site in a folder, as in `/shop`. Default: nothing. */
  pathPrefix?: string | undefined
  /** Brings a section into view. Default: its `scrollIntoView`, smoothly unless the visitor prefers reduced motion. */
  scrollTo?: ((element: Element, section: SiteSection) => unknown) | undefined
  /** Points at a section, once it is in view. Default: nothing. */
  point?: ((element: Element, section: SiteSection) => unknown) | undefined
  /** Called when the visitor was taken somewhere. Default: nothing. */
  onNavigate?: ((place: SitePlace) => void) | undefined
  /** The path that is shown, with the prefix. Default: that of the window's address. */
  currentPath?: (() => string) | undefined
  /** The client tool of the agent. Default `"go_to"`. */
  toolCallName?: string | undefined
  /** Whether the agent may go to only one place in a turn. Default false. */
  oncePerTurn?: boolean | undefined
  /** Whether the address gets the section's hash, without an entry in the history. Default false. */
  updateHash?: boolean | undefined
  /** How long a section may take to appear after its page was shown, in milliseconds. Default 250. */
  settleMs?: number | undefined
  /** Called with a sentence for the page's author. Default `console.warn`. */
  warn?: ((message: string) => void) | undefined
  /** Default: the global one. */
  window?: Window | undefined
}

/** What the agent is told. */
type Outcome = { status: "done"; path: string; title: string } | { error: string; pages?: string[] }

/**
 * Handles the calls of a tool with the arguments `path` (or `page`: a path or a title of the
 * manifest) and `section` (an id or a title; also as the hash of the path). Anything that is
 * not in the manifest is refused, and the agent is told which pages there are.
 *
 * Throws `bad_arg` for bad options; a bad address of the manifest is one of `ready`'s. `ready` rejects when the manifest can't be used.
 */
export class SiteNavigator {
  readonly #options: SiteNavigatorOptions
  readonly #scope = new Scope()
  readonly #loading = new AbortController()
  readonly #window: Window
  readonly #settleMs: number
  #manifest: SiteManifest | undefined
  #used = false
  /** Counts journeys: an older one ends when a newer one begins. */
  #journey = 0
  /**
   * Resolves when the manifest is there. Rejects with `bad_manifest`, `http_error`, `network_error`,
   * `timeout` or `too_large`, which is also passed to `warn`; and with `aborted` after `destroy()`.
   */
  readonly ready: Promise<SiteManifest>

  constructor(options: SiteNavigatorOptions) {
    const { session, navigate, manifest, manifestUrl, toolCallName = "go_to", pathPrefix = "", settleMs, manifestMaxBytes, manifestTimeoutMs, window = globalThis.window } = options ?? {}
    if (typeof session?.on !== "function" || typeof session.onToolCall !== "function") throw badArg("a site navigator needs a session")
    if (typeof navigate !== "function") throw badArg("navigate must be the function that shows a page of the site")
    if ((manifest === undefined) === (manifestUrl === undefined)) throw badArg("either manifest or manifestUrl must be set")
    if (typeof toolCallName !== "string" || toolCallName.trim() === "") throw badArg("toolCallName must be the name of a tool")
    if (typeof pathPrefix !== "string" || !/^(\/[^?#\\]*)?$/.test(pathPrefix) || pathPrefix.startsWith("//")) throw badArg("pathPrefix must begin with a single /")
    if (!window) throw badArg("a site navigator needs a window")
    try {
      for (const name of ["scrollTo", "point", "onNavigate", "currentPath", "warn"] as const) checkFunction(name, options[name])
      this.#settleMs = numberOf("settleMs", settleMs, 250, 0)
      numberOf("manifestMaxBytes", manifestMaxBytes, 0, 1)
      numberOf("manifestTimeoutMs", manifestTimeoutMs, 0, 1)
    } catch (reason) {
      throw badArg((reason as Error).message)
    }
    this.#options = options
    this.#window = window
    this.ready = this.#load()
    this.ready.catch((reason: Error) => this.#loading.signal.aborted || this.#warn(reason.message))
    this.#scope.listen(session, "turnStart", ({ isNewTurn } = {} as never) => {
      if (isNewTurn !== false) this.#used = false
    })
    this.#scope.onEnd(handleTool(session, toolCallName, (args) => this.#called(args), (message) => this.#warn(message)))
  }

  /** The pages of the site, undefined until `ready`. */
  get manifest(): SiteManifest | undefined {
    return this.#manifest
  }

  /** Removes all listeners and the handler of the tool. The session goes on. */
  destroy(): void {
    this.#journey++
    this.#loading.abort()
    this.#scope.end()
  }

  /** The same as {@link SiteNavigator.destroy}. */
  stop(): void {
    this.destroy()
  }

  async #load(): Promise<SiteManifest> {
    const { manifest, manifestUrl, manifestMaxBytes = 524_288, manifestTimeoutMs = 10_000 } = this.#options
    if (manifestUrl === undefined) return (this.#manifest = checkManifest(manifest))
    const base = this.#window.location.href
    const url = URL.canParse(manifestUrl, base) ? new URL(manifestUrl, base) : undefined
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) throw badArg("manifestUrl must be an http or https address without a login")
    return (this.#manifest = await fetchManifest(url, manifestMaxBytes, manifestTimeoutMs, this.#loading.signal))
  }

  #warn(message: string): void {
    const { warn = (text: string) => console.warn(`agentruntime: site navigator: ${text}`) } = this.#options
    warn(message)
  }

  async #called(args: Record<string, unknown>): Promise<Outcome> {
    let manifest: SiteManifest
    try {
      manifest = await this.ready
    } catch {
      return { error: "the pages of the site are not known" }
    }
    const place = placeOf(manifest, args)
    if (typeof place === "string") {
      this.#warn(place)
      return { error: place, pages: manifest.pages.map(({ path }) => path) }
    }
    if (this.#options.oncePerTurn && this.#used) return { error: "only one place can be shown in a turn" }
    this.#used = true
    return this.#go(place)
  }

  async #go({ page, section }: { page: SitePage; section: SiteSection | undefined }): Promise<Outcome> {
    const { navigate, pathPrefix = "", onNavigate, updateHash, currentPath = () => this.#window.location.pathname } = this.#options
    const journey = ++this.#journey
    const path = pathPrefix.replace(/\/$/, "") + page.path
    // The window's address is percent-encoded; the manifest's path need not be.
    if (![path, new URL(path, "http://site").pathname].includes(currentPath())) {
      try {
        await navigate(path, page)
      } catch (cause) {
        this.#warn(`navigate failed for ${path}: ${String((cause as Error)?.message ?? cause)}`)
        return { error: `the page ${page.path} could not be shown` }
      }
      if (journey !== this.#journey) return { error: "another place was asked for meanwhile" }
    }
    const whole = section ? `${path}#${section.id}` : path
    if (section) {
      const element = await appears(this.#window.document, section.id, this.#settleMs)
      if (journey !== this.#journey) return { error: "another place was asked for meanwhile" }
      if (!element) {
        this.#warn(`${path} has no element with the id ${section.id}`)
        return { error: `the page ${page.path} is shown, but its section ${section.id} is not there` }
      }
      await (this.#options.scrollTo ?? this.#scroll)(element, section)
      if (updateHash) this.#window.history.replaceState(this.#window.history.state, "", `#${section.id}`)
      await this.#options.point?.(element, section)
    }
    onNavigate?.({ page, section, path: whole })
    return { status: "done", path: whole, title: section?.title ?? page.title }
  }

  readonly #scroll = (element: Element): void => {
    const still = this.#window.matchMedia?.("(prefers-reduced-motion: reduce)").matches
    element.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" })
  }
}

/** The place that a call names, or why there is none. */
function placeOf(manifest: SiteManifest, args: Record<string, unknown>): { page: SitePage; section: SiteSection | undefined } | string {
  const named = args["path"] ?? args["page"] ?? args["url"]
  if (typeof named !== "string" || named.trim() === "") return "the tool needs the path of a page"
  const [path = "", hash] = named.trim().split("#", 2)
  const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
  const page = manifest.pages.find((page) => page.path === path || page.path === path.replace(/(?<=.)\/$/, "")) ?? manifest.pages.find(({ title }) => same(title, path))
  if (!page) return "the site has no such page"
  const wanted = args["section"] ?? args["anchor"] ?? hash
  if (wanted === undefined || wanted === null || wanted === "") return { page, section: undefined }
  const section = typeof wanted === "string" ? page.sections?.find(({ id, title }) => id === wanted.replace(/^#/, "") || same(title ?? id, wanted)) : undefined
  return section ? { page, section } : `the page ${page.path} has no such section`
}

/** The element with an id, once it is in the document; undefined after that many milliseconds. */
function appears(document: Document, id: string, ms: number): Promise<Element | undefined> {
  const found = document.getElementById(id)
  if (found) return Promise.resolve(found)
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      observer.disconnect()
      resolve(document.getElementById(id) ?? undefined)
    }
    const observer = new document.defaultView!.MutationObserver(() => document.getElementById(id) && done())
    observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["id"] })
    const timer = setTimeout(done, ms)
  })
}

const badArg = (detail: string) => partError("bad_arg", "Bad argument", detail)
