// Runs in the worker of warmup.ts, beside the page: starts a program and has it connect, so that the
// functions for that are compiled. The program is the real one; the service and the
// browser's objects for media, which workers lack, are those of standin.ts. Nothing leaves the
// worker: what could is replaced before the program starts.

import { start, type Program } from "./program.js"
import { host, standIns, StandInVideo } from "./standin.js"
import type { WarmUp } from "./warmup.js"

Object.assign(globalThis, { window: globalThis, XMLHttpRequest: undefined, ...standIns })

/**
 * A conversation begins without the second part of a program; what needs it ends the worker. That
 * delays the page by nothing, so it is not reported.
 */
const noRest = { urls: [new URL(host)], fetch: () => Promise.reject(new Error("not in this worker")) }

/** Connects a session, and ends it. */
async function connect(program: Program): Promise<void> {
  const init = await program.call((go) => go.appInit(undefined, { token: "warmup", genieUrl: host, agenticUrl: host, ovpUrl: host }))
  const options = {
    ...(init as object),
    token: "warmup",
    videoEl: new StandInVideo(),
    micStartMode: "deferred",
    pageLifecycleAware: false, // nothing to announce to other tabs
    networkAware: false,
    logger: () => {},
  }
  const session = program.callSync((go) => go.avatarSession(options, () => {}))
  await program.call(() => session["connect"]?.(undefined) as Promise<void>)
  await program.call(() => session["dispose"]?.(undefined) as Promise<void>)
}

console.error = () => {}
addEventListener("message", async ({ data: { module, file } }: MessageEvent<WarmUp>) => {
  try {
    const program = await start(module, file, () => noRest)
    postMessage("started")
    if (file.requiredExport !== "avatarSession") return
    await connect(program)
    postMessage("connected")
  } catch {
    postMessage("failed") // the page's own thread will report why
  } finally {
    close()
  }
})
