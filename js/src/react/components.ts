import { createElement, useEffect, useImperativeHandle, useRef, useState, type HTMLAttributes, type ReactElement, type ReactNode, type Ref } from "react"
import type { AgentAvatarElement, AgentChatElement, AgentElementEvents } from "../element.js"
import { docs, localError, messageOf } from "../core/errors.js"
import type { AgentElement } from "../element/agentelement.js"
import { attributes, properties, textOf, type AttributeValues } from "../element/attributes.js"
import type { TagProperties } from "../element/tags.js"
import { LOAD_FAILED } from "../ui/partlabels.js"
import { useLatest } from "./latest.js"
import type { Token } from "../core/options.js"
import type { Source } from "../session/source.js"

/** The attributes of an element, by their properties' names. */
type Attributes = { [Name in keyof AttributeValues]?: AttributeValues[Name] | undefined }

interface Props<Element extends EventTarget> extends Attributes, Omit<TagProperties, "token">, Omit<HTMLAttributes<Element>, keyof Attributes> {
  /** A token that a server made for this visitor; also as a promise, or a function that is called at every start. */
  token?: Source<Token> | undefined
  /** Listeners for the element's events, by name; each is called with the event's `detail`. */
  on?: { [Name in keyof AgentElementEvents]?: ((detail: AgentElementEvents[Name]) => void) | undefined } | undefined
  /** The children for the element's slots. */
  children?: ReactNode
  ref?: Ref<Element> | undefined
}

/** Properties of `<AgentAvatar>`: the attributes and properties of `<agent-avatar>`. */
export type AgentAvatarProps = Props<AgentAvatarElement>

/** Properties of `<AgentChat>`: the attributes and properties of `<agent-chat>`. */
export type AgentChatProps = Props<AgentChatElement>

/** `<agent-avatar>`: an agent with a face and everything around it. */
export function AgentAvatar(props: AgentAvatarProps): ReactElement {
  return useElement("agent-avatar", props)
}

/** `<agent-chat>`: an agent in text. */
export function AgentChat(props: AgentChatProps): ReactElement {
  return useElement("agent-chat", props)
}

function useElement<Element extends AgentElement>(tag: string, { ref, on = {}, children, ...props }: Props<Element>): ReactElement {
  const element = useRef<Element>(null)
  const listeners = useLatest(on)
  useImperativeHandle(ref, () => element.current as Element)
  const { className, ...rest } = props as Props<Element>
  for (const name of properties) {
    const value = rest[name]
    delete rest[name]
    useEffect(() => {
      // They may be set before the element is defined.
      if (value !== undefined || element.current![name] !== undefined) element.current![name] = value as never
    }, [value])
  }
  const names = Object.keys(on).sort().join(" ")
  useEffect(() => {
    const target = element.current!
    const each = names ? names.split(" ") : []
    const listener = ({ type, detail }: Event & { detail?: unknown }) =>
      (listeners.current as Record<string, ((detail: unknown) => void) | undefined>)[type]?.(detail)
    for (const name of each) target.addEventListener(name, listener)
    return () => {
      for (const name of each) target.removeEventListener(name, listener)
    }
  }, [names])
  // After the properties and listeners. On a server this does not run.
  const [failed, setFailed] = useState(false)
  useEffect(() => {
    import("../element.js").catch((cause: unknown) => {
      const error = localError("load_failed", `agentruntime/element could not be loaded: ${messageOf(cause)}`, { cause, retryable: true })
      console.error(`agentruntime: <${tag}>: ${error.message}. ${docs}${error.code}`)
      element.current?.dispatchEvent(new CustomEvent("error", { detail: error }))
      setFailed(true)
    })
  }, [])
  const drawn: Record<string, unknown> = { ref: element }
  for (const [name, value] of Object.entries(rest)) drawn[Object.hasOwn(attributes, name) ? attributes[name as keyof typeof attributes] : name] = name === "modes" && value ? textOf(value) : value
  if (className !== undefined) drawn["class"] = className
  if (typeof drawn["muted"] === "boolean") drawn["muted"] = drawn["muted"] ? "" : undefined
  return createElement(tag, drawn, failed ? LOAD_FAILED : children)
}
