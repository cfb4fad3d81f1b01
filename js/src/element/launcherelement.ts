import type { AgentError } from "../core/errors.js"
import { composing, icon, make, makeButton, nameButton, withTexts } from "../ui/dom.js"
import type { AgentElement } from "./agentelement.js"
import { attributes, languageOf, properties, upgrade, withProperties, words, type ElementProperties } from "./attributes.js"
import { Base, restyle, style, styles, type ListenerMethod } from "./base.js"
import css from "./launcher.css"
import { LAUNCHER_LABELS, type LauncherLabels } from "./launcherlabels.js"
import { LauncherStore } from "./launcherstore.js"
import type { ClosedPhase } from "./state.js"

const elementModule = () => import("../element.js")

/** Windows that the panel fills; launcher.css has the same. */
const small = "(max-width: 480px), (max-height: 500px)"

/** The attributes that the launcher does not pass on. */
const own = ["open", "position", "greet", "lang"]

/** `open` of state.ts has the others; its import would be one more file, of 225 bytes, before anything is used. */
const closedPhases: Record<ClosedPhase, true> = { idle: true, ended: true, error: true }

/** The errors of a remembered thread that can't be continued. */
const lostThread = ["thread_access_denied", "not_found", "forbidden"]

/** The events of a launcher, by name, with the type of their `detail`. */
export interface AgentLauncherEvents {
  /** The panel was opened or closed. */
  openChange: { open: boolean }
  /** The agent's element was made, at the first opening and for a new conversation: add listeners here. */
  agentCreated: { agent: AgentElement }
}

export interface AgentLauncherElement {
  /** The corner: `end` (default) or `start`, which is the left one in a page from left to right. */
  position: "end" | "start" | null
  /** A sentence beside the button, which is shown once to each visitor. */
  greet: string | null
  addEventListener: ListenerMethod<this, AgentLauncherEvents>
  removeEventListener: ListenerMethod<this, AgentLauncherEvents>
}

/** `<agent-launcher>`: a button in the corner of the window that opens an agent in a panel (docs/elements.md). */
export class AgentLauncherElement extends withProperties(Base, { position: "position", greet: "greet" }) {
  static readonly observedAttributes: readonly string[] = [...Object.values(attributes), ...own]

  /** The texts of the page's language; undefined for English. */
  #translated: LauncherLabels | undefined
  #language = ""
  #agent: AgentElement | undefined
  #making: Promise<void> | undefined
  /** Where the agent's latest conversation is kept: the attributes may name another agent since it began. */
  #begun: LauncherStore | undefined
  /** The session whose thread was refused; it still has its id. */
  #lost: AgentElement["session"]
  /** An answer came while the panel was closed. */
  #unread = false
  #narrow: MediaQueryList | undefined
  #parts: ReturnType<typeof build> | undefined

  // --- Public

  /** The agent's element, undefined before the first opening: its session, events, methods and properties are all there. */
  get agent(): AgentElement | undefined {
    return this.#agent
  }

  /** Opens the panel, and moves the focus into it. */
  show(): void {
    this.open = true
    this.#focus()
  }

  /** Closes the panel. It ends a conversation with a voice, because a microphone that can't be seen would be on; one in text goes on. */
  close(): void {
    this.open = false
  }

  /** Ends the conversation, forgets its thread and shows the agent as before the first message. */
  startNew(): void {
    // In a listener of `agentCreated` it is in no panel yet, and has nothing to end.
    if (this.#agent?.parentNode) {
      this.#agent.remove()
      this.#agent = undefined
    }
    if (this.#begun) this.#begun.kept = undefined
    this.#begun = this.#store.kept = undefined
    this.#unread = false
    this.#resume()
    this.#show()
    if (this.open) void this.#fill().then(() => this.#focus())
  }

  /** Whether the panel is open; the attribute `open`. */
  get open(): boolean {
    return this.hasAttribute("open")
  }

  set open(open: boolean) {
    this.toggleAttribute("open", Boolean(open))
  }

  // --- Callbacks of the document

  connectedCallback(): void {
    upgrade(this, own)
    this.#parts ??= build(this, () => this.#greeted(), () => void this.#fill())
    this.#narrow ??= matchMedia(small)
    this.#narrow.addEventListener("change", this.#fit)
    addEventListener("pagehide", this.#remember)
    this.#show() // also where there is nothing to translate
    void this.#translate()
    if (this.#parts.panel.open && this.#narrow.matches) this.#fit() // a dialog that was moved is not modal any more
    this.#apply()
  }

  disconnectedCallback(): void {
    this.#narrow?.removeEventListener("change", this.#fit)
    removeEventListener("pagehide", this.#remember)
  }

  adoptedCallback(): void {
    restyle(this.shadowRoot)
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (before === value) return
    if (name === "lang") void this.#translate()
    else if (name === "open") this.#apply()
    else if (name === "greet") this.#forward("greeting")
    else if (!own.includes(name)) {
      this.#forward(name)
      this.#resume()
    }
    this.#show()
  }

  // --- Internals

  /** @internal Properties are passed on to the agent; the texts of the launcher are in `labels.launcher`. */
  override onProperty(name: keyof ElementProperties, _before: unknown, value: unknown): void {
    if (this.#agent) this.#agent[name] = value as never
    this.#resume()
    this.#show() // its labels may have changed
  }

  get #labels(): LauncherLabels {
    return withTexts<LauncherLabels>(withTexts(LAUNCHER_LABELS, this.#translated), this.labels.launcher)
  }

  get #store(): LauncherStore {
    return new LauncherStore([this.widgetId, this.region, this.agenticUrl, this.ovpUrl, this.genieUrl])
  }

  /** Shows the texts of the language, as the other elements do. */
  async #translate(): Promise<void> {
    if (!this.isConnected) return
    const language = languageOf(this)
    if (this.#agent) this.#agent.lang = language // it notices a change of its own attribute only
    if (language === this.#language) return
    this.#language = language
    const locale = /^(en(-|$)|$)/i.test(language) ? undefined : await import("./locales.js").then(({ loadLocale }) => loadLocale(language)).catch(() => undefined) // the agent's element tells the console
    if (language !== this.#language) return
    this.#translated = locale?.launcher
    this.#show()
  }

  /** Draws everything that is not the agent's. */
  #show(): void {
    const parts = this.#parts
    if (!parts) return
    const labels = this.#labels
    const { button, dot, bubble, words, dismiss, title, fresh, close, retry } = parts
    nameButton(button, this.#unread ? labels.unread : labels.open)
    button.setAttribute("aria-expanded", String(this.open))
    button.hidden = this.open
    dot.hidden = !this.#unread
    bubble.hidden = this.open || !this.greet || this.#store.greeted
    words.textContent = this.greet
    nameButton(dismiss, labels.close)
    title.textContent = this.agentName ?? labels.title
    nameButton(fresh, labels.fresh)
    fresh.hidden = this.hasAttribute("thread-id") || (this.#begun ?? this.#store).kept === undefined
    nameButton(close, labels.close)
    retry.textContent = labels.retry
  }

  #greeted(): void {
    if (this.greet) this.#store.setGreeted()
    this.#show()
    this.#parts?.button.focus()
  }

  /** Opens or closes the panel, as the attribute says. */
  #apply(): void {
    const panel = this.#parts?.panel
    if (!panel || !this.isConnected || panel.open === this.open) return
    if (this.open) {
      this.#unread = false
      if (this.greet) this.#store.setGreeted()
      this.#fit()
      void this.#fill()
    } else {
      const focused = panel.contains(this.shadowRoot!.activeElement)
      panel.close()
      this.#show()
      // The browser gives the focus back only if it was in the panel when that opened.
      if (focused) this.#parts!.button.focus()
      if (this.#agent?.mode === "face") this.#agent.end()
    }
    this.dispatchEvent(new CustomEvent("openChange", { detail: { open: this.open } }))
  }

  /** Shows the panel beside the page, or over all of it where there is no room. */
  readonly #fit = (): void => {
    const { panel } = this.#parts!
    if (!this.open) return
    const focused = this.shadowRoot!.activeElement as HTMLElement | null
    if (panel.open) panel.close()
    if (this.#narrow?.matches) panel.showModal()
    else panel.show()
    focused?.focus()
  }

  /** Puts the agent into the panel. */
  #fill(): Promise<void> {
    return (this.#making ??= this.#make().finally(() => (this.#making = undefined)))
  }

  async #make(): Promise<void> {
    const { status, retry, body } = this.#parts!
    if (this.#agent) return
    status.textContent = this.#labels.loading
    retry.hidden = true
    try {
      await elementModule()
    } catch (reason) {
      console.error("agentruntime: <agent-launcher>: the agent could not be loaded:", reason)
      status.textContent = this.#labels.failed
      retry.hidden = false
      return
    }
    const agent = (this.#agent = document.createElement("agent-avatar"))
    for (const name of Object.values(attributes)) this.#forward(name)
    agent.lang = this.#language
    for (const name of properties) agent[name] = this[name] as never
    for (const child of this.children) if (child.slot) agent.append(make("slot", { name: child.slot, slot: child.slot }))
    agent.addEventListener("transcriptChange", this.#remember)
    let refusal: unknown
    agent.addEventListener("error", ({ detail }) => (refusal = detail))
    agent.addEventListener("phaseChange", ({ detail: { phase, code } }) => {
      if (agent !== this.#agent) return // it was replaced, and ends
      if (phase === "connecting") this.#begun = this.#store
      // The service refuses the thread of a face in the phase connect. Without a phase it is what the page has set, such as an option.
      const lost = code === "bad_request" ? (refusal as AgentError).phase === "connect" : lostThread.includes(code ?? "")
      if (phase === "error" && lost) {
        this.#lost = agent.session
        this.#begun!.kept = undefined
      } else this.#remember()
      this.#resume()
      this.#show()
    })
    agent.addEventListener("turnEnd", () => {
      if (agent !== this.#agent || this.open) return
      this.#unread = true
      this.#show()
    })
    this.#resume()
    this.dispatchEvent(new CustomEvent("agentCreated", { detail: { agent } }))
    body.prepend(agent)
    // What was said before is shown once the conversation goes on; a voice begins only when the visitor says so.
    if (agent.threadId && words(agent.modes)?.[0] === "text") agent.start().catch(() => {}) // the element shows it
    if (this.shadowRoot!.activeElement === this.#parts!.close) this.#focus()
  }

  /** Keeps the thread and what was said, unless the page names the thread. */
  readonly #remember = (): void => {
    const { session, transcript = [] } = this.#agent ?? {}
    if (!session?.threadId || session === this.#lost || this.hasAttribute("thread-id")) return
    this.#begun!.kept = { thread: session.threadId, said: transcript }
    this.#show()
  }

  /** The next conversation of the agent continues the thread that the page names, or the one that is kept for what the attributes say now. */
  #resume(): void {
    const agent = this.#agent
    if (!agent || !(agent.phase in closedPhases)) return
    const kept = this.threadId === null ? this.#store.kept : { thread: this.threadId, said: undefined }
    agent.threadId = kept?.thread ?? null
    agent.history = kept?.said ?? this.history
  }

  /** Gives the agent an attribute of the launcher. */
  #forward(name: string): void {
    const agent = this.#agent
    if (!agent) return
    let value = this.getAttribute(name)
    if (name === "modes") {
      value ??= "text"
      agent.classList.toggle("face", words(value)?.join() === "face")
    }
    if (name === "greeting") value ??= this.greet
    if (value === null) agent.removeAttribute(name)
    else if (value !== agent.getAttribute(name)) agent.setAttribute(name, value)
  }

  #focus(): void {
    // On a phone, focusing the text field would open the keyboard.
    if (this.#agent?.isConnected && !matchMedia("(pointer: coarse)").matches) this.#agent.focus()
    else this.#parts?.close.focus()
  }
}

/** Makes what is around the agent. */
function build(launcher: AgentLauncherElement, dismissed: () => void, retried: () => void) {
  const shadow = launcher.attachShadow({ mode: "open" })
  style(shadow, [...styles, css])
  const approach = () => void elementModule().catch(() => {}) // the opening reports it
  const button = makeButton({ part: "button launcher", class: "launcher", "aria-haspopup": "dialog" }, () => launcher.show(), icon("chat"))
  const dot = make("span", { part: "unread", class: "dot" })
  button.append(dot)
  for (const event of ["pointerenter", "focus"]) button.addEventListener(event, approach)
  const words = makeButton({ part: "greet", class: "greet", dir: "auto" }, () => launcher.show())
  const dismiss = makeButton({ part: "button dismiss", class: "round" }, dismissed, icon("close"))
  const bubble = make("div", { class: "bubble", role: "status" }, words, dismiss)
  const title = make("h2", { part: "title", id: "title", dir: "auto" })
  const fresh = makeButton({ part: "button fresh", class: "round" }, () => launcher.startNew(), icon("again"))
  const close = makeButton({ part: "button close", class: "round" }, () => launcher.close(), icon("close"))
  const status = make("p", { role: "status" })
  const retry = makeButton({ part: "button retry", class: "retry" }, retried)
  const body = make("div", { class: "body" }, make("div", { class: "wait" }, status, retry))
  const panel = make("dialog", { part: "panel", class: "panel", "aria-labelledby": "title" }, make("header", { part: "header" }, title, fresh, close), body)
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || composing(event)) return // Escape also interrupts the agent, and closes its menus
    event.preventDefault()
    launcher.close()
  })
  // The gesture to go back on a phone.
  panel.addEventListener("cancel", (event) => {
    event.preventDefault()
    launcher.close()
  })
  shadow.append(bubble, button, panel)
  return { button, dot, bubble, words, dismiss, title, fresh, close, status, retry, body, panel }
}
