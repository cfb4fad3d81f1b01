// The module that is downloaded when a conversation begins: captions, Markdown, widgets.
import { AgentActivity, type Activity } from "../ui/activity.js"
import { Captions, drawCaptions } from "../ui/captions.js"
import contents from "../ui/content.css"
import type { AvatarSession } from "../avatar.js"
import { make, safeLink } from "../ui/dom.js"
import { fillIn } from "../ui/labels.js"
import { VoiceLevels } from "../ui/levels.js"
import { ERROR_MESSAGES, PERMANENT_ERRORS } from "../ui/messages.js"
import { GrowingMarkdown, plainMarkdown, renderMarkdown } from "../ui/markdown.js"
import { attachTapToTalk } from "../ui/taptotalk.js"
import { SpokenTranscript, type TranscriptEntry } from "../ui/transcript.js"
import { Transcript } from "../ui/transcriptview.js"
import { VoiceBars } from "../ui/voicebars.js"
import { accountOf, drawWidget, type WidgetAction } from "../ui/widgets.js"
import type { Controls } from "./controls.js"
import { Devices } from "./devices.js"
import type { Labels } from "./labels.js"
import live from "./live.css"
import { listen, type AnySession } from "./session.js"
import type { Said } from "./state.js"

export { makeSession } from "./make.js"

/** What there is to say about errors. */
export const failures = {
  /** The labels, in English. */
  labels: { errors: ERROR_MESSAGES as Record<string, string> },
  /** The codes of errors that another attempt can't avoid. */
  permanent: PERMANENT_ERRORS,
}

/** Makes the menus of devices, and the button for tap-to-talk work. */
export function makeDevices({ devices, tap }: Controls, face: () => AvatarSession | undefined, failed: (reason: unknown) => void): Devices {
  attachTapToTalk(tap.root, face, failed)
  return new Devices(devices.root, face, failed)
}

/** Where a conversation is drawn, and what it needs. */
export interface Frame {
  session: AnySession
  /** The present labels. */
  labels: () => Labels
  agentName: string | null
  /** What was said in the thread before, oldest first. */
  history: readonly Said[]
  /** Whether the transcript is drawn; it is announced to screen readers in any case. */
  entries: boolean
  log: HTMLElement
  /** For screen readers. */
  region: HTMLElement
  caption: HTMLElement
  /** Where voice bars are drawn: beside the agent's state, and in place of a picture. */
  bars: readonly HTMLElement[]
  /** Is called when the agent does something else. */
  doing(activity: Activity, busy: boolean): void
  send(text: string): void
  signal: AbortSignal
}

let sheets: [content: CSSStyleSheet, live: CSSStyleSheet] | undefined

/** Adds the styles of texts and widgets, before those of the element, which may replace them, and after them those of what only a conversation has. */
function addStyles(log: HTMLElement): void {
  const root = log.getRootNode() as ShadowRoot
  if (!("adoptedStyleSheets" in root)) return // documents without layout, as in tests
  sheets ??= [contents, live].map((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    return sheet
  }) as typeof sheets & {}
  if (root.adoptedStyleSheets.includes(sheets[0])) return
  root.adoptedStyleSheets = [sheets[0], ...root.adoptedStyleSheets, sheets[1]]
}

/** Draws what is said and shown in one session. What it has drawn stays after the end. */
export class Conversation {
  readonly #frame: Frame
  /** Also without entries, for what is added to the log. */
  readonly #transcript: Transcript
  /** Three dots, while the agent thinks. */
  readonly #dots = make("div", { class: "dots", "aria-hidden": "true" }, make("i"), make("i"), make("i"))
  readonly #activity: AgentActivity
  #questions: HTMLElement | undefined

  constructor(frame: Frame) {
    this.#frame = frame
    const { session, log, region, caption, signal, entries } = frame
    addStyles(log)
    log.replaceChildren()
    region.replaceChildren()
    const spoken = new SpokenTranscript(session, { liveRegion: region, plain: plainMarkdown })
    // Before what follows, which may add to the log at once.
    this.#transcript = new Transcript(session, { labels: frame.labels(), agentName: frame.agentName, markdown: GrowingMarkdown, spoken, root: log, entries })
    this.#keepLast()
    if (entries) this.#showHistory(frame.history)
    const levels = new VoiceLevels(session)
    const activity = (this.#activity = new AgentActivity(session, { levels }))
    const bars = frame.bars.map((place) => {
      const bars = new VoiceBars(levels)
      place.replaceChildren(bars.root)
      return bars
    })
    let was: string | undefined
    const doing = () => {
      const { current, busy } = activity
      const now = `${current} ${busy}`
      if (now === was) return
      was = now
      for (const each of bars) each.side = current === "listening" || current === "hearing" ? "visitor" : "agent"
      if (current === "thinking" && entries) this.#transcript.append(this.#dots)
      else this.#dots.remove()
      frame.doing(current, busy)
    }
    // The stop button depends on more than what is shown.
    for (const event of ["responsePending", "responseSettled", "turnStart", "turnEnd", "avatarStartTalking", "avatarStopTalking"] as const) listen(session, signal, { [event]: doing })
    activity.onChange(doing)
    doing()
    const captions = new Captions(session)
    const undraw = drawCaptions(captions, caption)
    listen(session, signal, {
      widget: (widget) => {
        const drawn = drawWidget(widget, { onAction: (action) => this.#act(action), labels: frame.labels().widgets, markdown: renderMarkdown, partnerId: accountOf(session) })
        if (widget.followups) {
          this.#questions?.remove()
          this.#questions = drawn
          this.#keepLast()
        }
        this.#transcript.append(drawn)
      },
      turnStart: ({ isNewTurn }) => {
        if (!isNewTurn) return
        this.#questions?.remove()
        if (!entries) log.replaceChildren()
      },
      oauthRequired: ({ authUrl, toolDisplayName, toolName }) => {
        const text = fillIn(frame.labels().consent, { tool: toolDisplayName || toolName || "" })
        this.#transcript.append(make("div", { class: "note" }, make("p", {}, text), safeLink(authUrl, { class: "button" }, frame.labels().allow)))
        region.append(make("p", {}, text))
      },
    })
    signal.addEventListener("abort", () => {
      undraw()
      activity.destroy()
      levels.destroy()
      this.#dots.remove()
      for (const each of bars) each.destroy()
      captions.destroy()
      this.#transcript.destroy()
      spoken.destroy()
    })
  }

  /** Reads the state of the microphone and of the sound again. */
  refresh(): void {
    this.#activity.update()
  }

  /** Writes the names in the log again, after a change of the labels. */
  rename(): void {
    this.#transcript.rename(this.#frame.labels())
  }

  /** What is in the log, oldest first. */
  get said(): Said[] {
    return this.#transcript.entries.map(({ who, text }) => ({ who, text }))
  }

  #showHistory(history: readonly Said[]): void {
    history.forEach(({ who, text }, i) => {
      const entry: TranscriptEntry = { id: i - history.length, who, text, speechId: null, open: false, interrupted: false, startMs: 0, endMs: 0 }
      this.#transcript.add(entry)
    })
  }

  #keepLast(): void {
    this.#transcript.keepLast(this.#questions, this.#dots)
  }

  #act(action: WidgetAction): unknown {
    const { session, send } = this.#frame
    if (action.kind === "submit") return session.updateRequestVars(action.values)
    if (action.kind === "followup") send(action.text)
    if (action.kind === "answer" && action.correct === undefined) send(action.answers.join(", "))
    return undefined
  }
}
