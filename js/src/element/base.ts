import { styles } from "../ui/styles.js"

/** What the elements extend. On a server there are no elements, and their modules do nothing. */
export const Base: typeof HTMLElement = globalThis.HTMLElement ?? (class {} as typeof HTMLElement)

/** `addEventListener` of an element whose own events are `Events`, by name, with the type of their `detail`. */
export interface AddListener<Element, Events> {
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

/**
 * Returns a function that gives a shadow tree these styles, in one sheet for all elements of the page. Unlike a style
 * element it needs no exception in a content security policy.
 */
export function sharedSheet(css: string): (shadow: ShadowRoot) => void {
  let sheet: CSSStyleSheet | undefined
  return (shadow) => {
    if (!("adoptedStyleSheets" in shadow)) return // documents without layout, as in tests
    if (!sheet) {
      sheet = new CSSStyleSheet()
      sheet.replaceSync(styles + css)
    }
    shadow.adoptedStyleSheets = [sheet]
  }
}
