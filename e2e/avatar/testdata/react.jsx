import { StrictMode, useRef } from "react"
import { createRoot } from "react-dom/client"
import { load } from "agentruntime"
import { useAvatarSession } from "agentruntime/react"

function Agent(options) {
  const video = useRef(null)
  const agent = useAvatarSession({ ...options, videoEl: video, autoConnect: true, micStartMode: "deferred" })
  globalThis.agent = agent
  return <video id="face" ref={video} playsInline data-state={agent.state} />
}

/** Shows an agent, and returns the function that removes it. */
export function show(options) {
  void load({ wasmUrl: "/js/dist/agentruntime.wasm" }) // there is no program beside a bundle of one file
  const root = createRoot(document.body.appendChild(document.createElement("main")))
  root.render(<StrictMode><Agent {...options} /></StrictMode>)
  return () => root.unmount()
}
