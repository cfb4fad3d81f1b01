/** The attributes of an element, by the name of the property that reflects each. */
export const attributes = {
  widgetId: "widget-id",
  modes: "modes",
  preload: "preload",
  poster: "poster",
  microphone: "microphone",
  captions: "captions",
  muted: "muted",
  disclosure: "disclosure",
  agentName: "agent-name",
  kickoff: "kickoff",
  threadId: "thread-id",
  contextId: "context-id",
  contextType: "context-type",
  region: "region",
  agenticUrl: "agentic-url",
  genieUrl: "genie-url",
  ovpUrl: "ovp-url",
} as const

/** The properties that reflect attributes: their text, or null. Setting null removes the attribute. */
export type AttributeProperties = { [Name in Exclude<keyof typeof attributes, "muted">]: string | null } & {
  muted: boolean
}

/** Adds the properties of the attributes to a class. */
export function reflect(prototype: HTMLElement): void {
  for (const [name, attribute] of Object.entries(attributes)) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      get(this: HTMLElement) {
        return name === "muted" ? this.hasAttribute(attribute) : this.getAttribute(attribute)
      },
      set(this: HTMLElement, value: unknown) {
        if (name === "muted") this.toggleAttribute(attribute, Boolean(value))
        else if (value == null) this.removeAttribute(attribute)
        else this.setAttribute(attribute, String(value))
      },
    })
  }
}

/** Sets again the properties that a page set before the element was defined, when they became plain fields. */
export function upgrade(element: HTMLElement, names: readonly string[]): void {
  const fields = element as unknown as Record<string, unknown>
  for (const name of names) {
    if (!Object.hasOwn(fields, name)) continue
    const value = fields[name]
    delete fields[name]
    fields[name] = value
  }
}
