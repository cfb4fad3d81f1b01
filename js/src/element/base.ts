import host from "./host.css"
import ui from "../ui/ui.css"

/** What the elements extend. On a server there are no elements, and their modules do nothing. */
export const Base: typeof HTMLElement = globalThis.HTMLElement ?? (class {} as typeof HTMLElement)

/** `addEventListener` and `removeEventListener` of an element whose own events are `Events`, by name, with the type of their `detail`. */
export interface ListenerMethod<Element, Events> {
  <Name extends keyof Events>(
    type: Name,
    listener: (this: Element, event: CustomEvent<Events[Name]>) => void,
    options?: boolean | AddEventListenerOptions,
  ): void
  <Name extends keyof HTMLElementEventMap>(
    type: Name,
    listener: (this: Element, event: HTMLElementEventMap[Name]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void
  (type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void
}

/** The styles of all elements, before those of each. */
export const styles: readonly string[] = [ui, host]

/** By document and text: a sheet belongs to the document that it was made in. */
const sheets = new WeakMap<Document, Map<string, CSSStyleSheet>>()
const styled = new WeakMap<ShadowRoot, readonly string[]>()

/** The texts of the styles of a shadow tree. */
export const stylesOf = (shadow: ShadowRoot): readonly string[] => styled.get(shadow) ?? []

/**
 * Gives a shadow tree styles before and after those that it has, each text in one sheet for all elements of the document.
 * Unlike a style element they need no exception in a content security policy.
 */
export function style(shadow: ShadowRoot, before: readonly string[], after: readonly string[] = []): void {
  styled.set(shadow, [...before, ...stylesOf(shadow), ...after])
  const { ownerDocument } = shadow
  const view = ownerDocument.defaultView
  if (!view || !("adoptedStyleSheets" in shadow)) return // documents without layout, as in tests
  const known = sheets.get(ownerDocument) ?? new Map<string, CSSStyleSheet>()
  sheets.set(ownerDocument, known)
  const sheet = (text: string) => {
    const made = known.get(text) ?? new view.CSSStyleSheet()
    if (!known.has(text)) made.replaceSync(text)
    known.set(text, made)
    return made
  }
  shadow.adoptedStyleSheets = [...before.map(sheet), ...shadow.adoptedStyleSheets, ...after.map(sheet)]
}

/** Gives a shadow tree the styles that it had in another document, where the browser left them. */
export function restyle(shadow: ShadowRoot | null): void {
  if (!shadow) return
  const texts = stylesOf(shadow)
  styled.delete(shadow)
  style(shadow, texts)
}
