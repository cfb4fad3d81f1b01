import { StrictMode, useEffect, useRef } from "react"
import { createRoot } from "react-dom/client"
import { useAvatarSession } from "agentruntime/react"

const { widgetId, addresses, session } = JSON.parse(new URLSearchParams(location.search).get("service")!)

function Agent() {
  const videoEl = useRef<HTMLVideoElement>(null)
  const { state, error } = useAvatarSession({ widgetId, ...addresses, ...session, micStartMode: "deferred", videoEl, autoConnect: true })
  useEffect(() => void mounts++, [])
  return <><video ref={videoEl} playsInline /><output data-state={state}>{error?.message}</output></>
}

declare global { var mounts: number }
globalThis.mounts = 0
const root = createRoot(document.getElementById("root")!)
root.render(<StrictMode><Agent /></StrictMode>)
Object.assign(window, { leave: () => root.unmount() })
