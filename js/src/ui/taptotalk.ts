/** What {@link attachTapToTalk} uses of a session: an `AvatarSession`, or a fake of a test. */
export interface TapToTalkSession {
  readonly tapToTalkActive: boolean
  readonly micStarted: boolean
  startMic(): Promise<void>
  startTapToTalk(): void
  endTapToTalk(): void
}

// A press that is at least this long, in ms, ends the window when it is released. It is measured by the
// times of the events, because a busy page may handle them much later.
const holdMs = 400

/**
 * Makes a button open and close tap-to-talk windows: a short press, of a pointer or of a key, opens
 * a window that the next one closes; a longer press opens a window until it is released.
 * The microphone is started when it is needed. `session` returns the session at the time of
 * a press; `failed` is called with errors. Returns the function that removes the listeners.
 */
export function attachTapToTalk(button: HTMLButtonElement, session: () => TapToTalkSession | undefined, failed: (reason: unknown) => void): () => void {
  let releases = 0 // how many long presses have ended
  const toggle = async () => {
    const target = session()
    if (!target) return
    const before = releases
    try {
      if (target.tapToTalkActive) return target.endTapToTalk()
      if (!target.micStarted) await target.startMic()
      // The button may have been released while the visitor was asked for the microphone.
      if (before === releases && !target.tapToTalkActive) target.startTapToTalk()
    } catch (reason) {
      if (target === session()) failed(reason)
    }
  }
  const release = () => {
    releases++
    if (session()?.tapToTalkActive) void toggle()
  }
  // Screen readers cause only a click; a pointer or a key is down for some time before it.
  let since = -Infinity // when the press began that opened the window
  let ended = -Infinity // when the release of a pointer ended it
  const released = ({ timeStamp }: PointerEvent) => {
    if (!Number.isFinite(since) || timeStamp - since < holdMs) return
    since = -Infinity
    ended = timeStamp
    release()
  }
  const listeners = {
    pointerdown({ button: pressed, pointerId, timeStamp }: PointerEvent) {
      since = ended = -Infinity
      if (pressed !== 0 || button.disabled || session()?.tapToTalkActive) return
      since = timeStamp
      button.setPointerCapture(pointerId) // it may be released outside the button
      void toggle()
    },
    // A click follows the release of a mouse; after a long touch there may be none.
    pointerup: released,
    pointercancel: released,
    click({ timeStamp }: MouseEvent) {
      const short = timeStamp - since < holdMs || timeStamp - ended < holdMs
      since = -Infinity
      if (!short) void toggle()
    },
    keydown(event: KeyboardEvent) {
      if (event.key !== " " && event.key !== "Enter") return
      event.preventDefault() // the click that would follow
      if (event.repeat || button.disabled) return
      since = session()?.tapToTalkActive ? -Infinity : event.timeStamp
      void toggle()
    },
    keyup(event: KeyboardEvent) {
      if (event.key !== " " && event.key !== "Enter") return
      event.preventDefault()
      const held = Number.isFinite(since) && event.timeStamp - since >= holdMs
      since = -Infinity
      if (held) release()
    },
    contextmenu(event: Event) {
      event.preventDefault() // a long touch would open it
    },
  }
  const names = Object.keys(listeners) as (keyof typeof listeners)[]
  for (const name of names) button.addEventListener(name, listeners[name] as EventListener)
  return () => {
    for (const name of names) button.removeEventListener(name, listeners[name] as EventListener)
  }
}
