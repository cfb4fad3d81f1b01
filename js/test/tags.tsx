// The tags in the templates of React, Svelte and Vue, against the types of these packages.
// Nothing here is run: `npm run check` fails when a wrong use compiles, or a right one does not.
import { useRef } from "react"
import type { SvelteHTMLElements } from "svelte/elements"
import type { GlobalComponents } from "vue"
import type { AgentAvatarElement, AgentChatElement } from "../src/element.js"
import "../src/jsx.js"
import "../src/svelte.js"
import "../src/vue.js"

export function React({ labels }: { labels: { start: string } }) {
  const element = useRef<AgentAvatarElement>(null)
  const chat = useRef<AgentChatElement>(null)
  return (
    <>
      <agent-avatar
        ref={element}
        key="a"
        class="hero"
        style={{ width: 320 }}
        widget-id="w"
        modes="face text"
        preload="hover"
        microphone="click"
        captions="off"
        muted
        context-id="c"
        labels={labels}
        token={async () => "t"}
        options={{ idleTimeoutMs: 0 }}
        onphaseChange={({ detail }) => detail.phase === "live"}
        ontranscript={({ detail: { text } }) => text.trim()}
        onClick={() => element.current?.start()}
      >
        <img slot="poster" alt="" src="/poster.jpg" />
      </agent-avatar>
      <agent-chat ref={chat} widget-id={undefined} init={{ ks: "t" } as never} />
      <agent-launcher widget-id="w" position="start" greet="Hello" onopenChange={({ detail }) => detail.open} onagentCreated={({ detail: { agent } }) => agent.phase === "idle"} />
      {/* @ts-expect-error a corner that does not exist */}
      <agent-launcher position="left" />
      {/* @ts-expect-error a typo in modes */}
      <agent-avatar modes="fcae" />
      {/* @ts-expect-error an attribute by the name of its property */}
      <agent-avatar widgetId="w" />
      {/* @ts-expect-error an attribute that does not exist */}
      <agent-chat widget="w" />
      {/* @ts-expect-error a value that microphone does not have */}
      <agent-avatar microphone="on" />
      {/* @ts-expect-error a token that would be in the HTML of a server */}
      <agent-avatar token="t" />
      {/* @ts-expect-error an event that does not exist */}
      <agent-avatar onphase={() => {}} />
      {/* @ts-expect-error a phase that does not exist */}
      <agent-avatar onphaseChange={({ detail }) => detail.phase === "open"} />
    </>
  )
}

type Svelte = SvelteHTMLElements["agent-avatar"]
export const svelte: Svelte[] = [
  { "widget-id": "w", modes: "text face", preload: "auto", muted: true, class: "hero", "on:phaseChange": ({ detail }) => detail.phase === "live", onphaseChange: ({ detail }) => detail.phase === "live", onclick: () => {} },
  { init: async () => ({}) as never, labels: { start: "Los" }, options: { threadId: "t" } },
  // @ts-expect-error a typo in modes
  { modes: "fcae" },
  // @ts-expect-error an attribute by another name
  { widgetid: "w" },
  // @ts-expect-error a phase that does not exist
  { onphaseChange: ({ detail }) => detail.phase === "open" },
]
export const svelteChat: SvelteHTMLElements["agent-chat"] = { "agent-name": "Ada" }

type Vue = InstanceType<GlobalComponents["agent-avatar"]>["$props"]
export const vue: Vue[] = [
  { widgetId: "w", modes: "text face", preload: "auto", muted: true, class: "hero", onPhaseChange: ({ detail }) => detail.phase === "live", onClick: () => {} },
  { init: async () => ({}) as never, labels: { start: "Los" }, options: { threadId: "t" } },
  // @ts-expect-error a typo in modes
  { modes: "fcae" },
  // @ts-expect-error an attribute by another name
  { widgetid: "w" },
  // @ts-expect-error a phase that does not exist
  { onPhaseChange: ({ detail }) => detail.phase === "open" },
]
export const vueChat: InstanceType<GlobalComponents["agent-chat"]>["$props"] = { agentName: "Ada" }
