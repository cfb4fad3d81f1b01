import { setMaxListeners } from "node:events"
import type { TestContext } from "node:test"
import { JSDOM } from "jsdom"
import { Emitter } from "../src/core/emitter.js"
import type { AvatarEvents, ChatEvents } from "../src/generated/events.js"

/** A document for tests of what is drawn. */
export function makePage(): JSDOM {
  const page = new JSDOM("<!doctype html><body></body>", { url: "https://page.example/talk/", pretendToBeVisual: true })
  Object.assign(globalThis, { document: page.window.document, location: page.window.location })
  return page
}

/** A document for tests of elements, whose media do nothing. */
export function makeElementPage(): JSDOM["window"] {
  const { window } = new JSDOM("<!doctype html><main></main>", { url: "https://page.example/", pretendToBeVisual: true })
  for (const name of ["document", "location", "HTMLElement", "HTMLMediaElement", "customElements", "CustomEvent", "Option", "requestAnimationFrame", "cancelAnimationFrame"] as const) {
    Object.assign(globalThis, { [name]: window[name] })
  }
  const media = window.HTMLMediaElement.prototype
  Object.defineProperty(media, "srcObject", { value: null, writable: true }) // which jsdom lacks
  for (const method of ["play", "pause"]) Object.assign(media, { [method]: async () => {} })
  setMaxListeners(0) // Node warns of signals with many
  return window
}

/** The storage of a tab, as far as it is used. */
export class TabStorage {
  readonly items = new Map<string, string>()
  getItem = (key: string) => this.items.get(key) ?? null
  setItem = (key: string, value: string) => void this.items.set(key, value)
  removeItem = (key: string) => void this.items.delete(key)
}

/** Dispatches an event of the pointer or of a key that happened at a time, in ms. */
export function dispatchAt(target: Element, type: string, at: number, properties: object = {}): void {
  const event = new target.ownerDocument.defaultView!.Event(type, { bubbles: true, cancelable: true })
  Object.defineProperty(Object.assign(event, properties), "timeStamp", { value: at })
  target.dispatchEvent(event)
}

/** Gives a test a navigator of its own. */
export function replaceNavigator(t: TestContext, navigator: object): void {
  const set = (value: unknown) => Object.defineProperty(globalThis, "navigator", { configurable: true, value })
  const before = globalThis.navigator
  set(navigator)
  t.after(() => set(before))
}

/** Waits until what a page shows is so, up to a minute on a busy machine; `pass` lets some time pass. */
export async function until(what: string, fits: () => boolean, pass: () => Promise<unknown> = () => new Promise((resolve) => setTimeout(resolve, 5))): Promise<void> {
  const end = performance.now() + 60_000
  while (!fits()) {
    if (performance.now() > end) throw new Error(`in vain: ${what}`)
    await pass()
  }
}

/** Lets so many milliseconds of a mocked clock pass. In one step, timers would all see the time at its end. */
export function pass(t: TestContext, ms: number): void {
  for (let left = ms; left > 0; left -= 100) t.mock.timers.tick(Math.min(left, 100))
}

/** The events of a session, without one. */
export class Events extends Emitter<AvatarEvents & ChatEvents> {
  /** The sentence of an utterance. */
  say(speechId: string | null, text: string): void {
    this.emit("transcript", { type: "final", text, speechId })
  }

  /** A chunk of speech as the session reports it. */
  chunk(speechId: string, text: string, durationMs: number): void {
    this.emit("speechChunk", { text, durationMs, speechId })
    this.emit("transcript", { type: "partial", text, speechId, words: [] })
  }

  user(text: string): void {
    this.emit("transcript", { type: "user", text, speechId: null })
  }

  start(): void {
    this.emit("avatarStartTalking", undefined as never)
  }

  stop(text: string): void {
    this.emit("avatarStopTalking", { text, speechId: "" })
  }

  interrupt(): void {
    this.emit("interrupted", undefined as never)
  }
}

/** The same with tools. */
export class ToolEvents extends Events {
  readonly tools = new Map<string, (...args: unknown[]) => unknown>()

  onToolCall(name: string, handler: (...args: any[]) => unknown): () => void {
    this.tools.set(name, handler)
    return () => void this.tools.delete(name)
  }

  /** The agent calls a tool, as in sessions of agentruntime; with an id it waits for the result. */
  async callTool(name: string, args: Record<string, unknown>, id?: string): Promise<any> {
    return this.tools.get(name)!({ name, args, raw: "", toolMetadata: { id, waitForResponse: id !== undefined } })
  }
}
