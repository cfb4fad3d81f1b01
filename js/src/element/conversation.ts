// The module that is downloaded when a conversation begins: captions, Markdown, widgets.
import { AgentActivity, type Activity } from "../ui/activity.js"
import { AnswerButtons, type AnswerActions } from "../ui/answers.js"
import { Captions, drawCaptions } from "../ui/captions.js"
import contents from "../ui/content.css"
import type { AvatarSession } from "../session/avatar.js"
import { make, safeLink } from "../ui/dom.js"
import { fillIn } from "../ui/labels.js"
import { VoiceLevels } from "../ui/levels.js"
import type { SessionLike } from "../ui/listen.js"
import { ERROR_MESSAGES, PERMANENT_ERRORS } from "../ui/messages.js"
import { GrowingMarkdown, plainMarkdown, renderMarkdown } from "../ui/markdown.js"
import { attachTapToTalk } from "../ui/taptotalk.js"
import { SpokenTranscript, type TranscriptEntry } from "../ui/transcript.js"
import { Transcript } from "../ui/transcriptview.js"
import { eachTransport } from "../ui/transports.js"
import { VoiceBars } from "../ui/voicebars.js"
import { accountOf, clearWidgets, drawWidget, type WidgetAction } from "../ui/widgets.js"
import type { AppInitResult } from "../session/appinit.js"
import type { VisitorAccess } from "../session/visitor.js"
import { style, stylesOf } from "./base.js"
import type { Controls } from "./controls.js"
import { Devices } from "./devices.js"
import { errorText, type Labels, type Text } from "./labels.js"
import live from "./live.css"
import { Sharing } from "./sharing.js"
import { chatModule, imported, listen, namesModule, type AnySession, type SessionOptions } from "./session.js"
import type { Part, Said } from "./state.js"
import { toolLabels } from "./toollabels.js"
import { NewConversation, TranscriptTools } from "./tools.js"
import { View } from "./view.js"

export { makeSession } from "./make.js"

/** What there is to say about errors. */
export const failures = {
  /** The labels, in English. */
  labels: { errors: ERROR_MESSAGES as Record<string, string> },
  /** The codes of errors that another attempt can't avoid. */
  permanent: PERMANENT_ERRORS,
}

/** What the parts of a running conversation need. */
export interface Around {
  frame: HTMLElement
  stage: HTMLElement
  video: HTMLVideoElement
  controls: Controls
  /** The field for messages. */
  composer: HTMLElement
  face: () => AvatarSession | undefined
  failed: (reason: unknown) => void
  conversation: () => Conversation | undefined
  startNew: () => void
  /** The page has named the thread. */
  continues: () => boolean
}

/** Adds the parts that only a conversation has: the menus of devices, the buttons over the picture, those of the transcript and of what the visitor shows; and makes the button for tap-to-talk work. */
export function addParts({ frame, stage, video, controls, composer, face, failed, conversation, startNew, continues }: Around): Part[] {
  const { devices, tap } = controls
  attachTapToTalk(tap.root, face, failed)
  const menus = new Devices(devices.root, face, failed)
  const view = new View(frame, video)
  const tell = (text: string, problem: boolean) => conversation()?.tell(text, problem)
  const text = () => conversation()?.text ?? ""
  const tools = new TranscriptTools(text, tell)
  const fresh = new NewConversation(startNew, () => text() !== "" && !continues())
  const sharing = new Sharing(face, tell)
  controls.root.after(menus.root)
  stage.append(view.root, sharing.preview)
  composer.prepend(sharing.root)
  frame.append(fresh.root, tools.root)
  return [menus, view, fresh, tools, sharing]
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
  /** The reply of `appInit` with the session's present token, and the options of the session: the visitor rates an answer with the same token. */
  access(): AppInitResult
  options: SessionOptions
  /** Shows a sentence about the conversation. */
  say(text: string): void
  /** Without a log: the service may not have received a text. */
  unconfirmed(text: string): void
  /** Is called when the agent does something else; a hint that was shown gives way to this one, if there is one. */
  doing(activity: Activity, busy: boolean, hint: Text | undefined): void
  /** Shows what the visitor should know while the conversation goes on. */
  hint(text: Text): void
  /** An entry of the transcript is complete, or a turn has ended. */
  said(): void
  send(text: string): void
  signal: AbortSignal
}

/** The agent is late when nothing of its answer has come for so long, as `brainStallMs` measures it. */
const lateMs = 20_000

/** Adds the styles of texts and widgets, before those of the element, which may replace them, and after them those of what only a conversation has. */
function addStyles(log: HTMLElement): void {
  const root = log.getRootNode() as ShadowRoot
  if (!stylesOf(root).includes(contents)) style(root, [contents], [live])
}

/** Draws what is said and shown in one session. What it has drawn stays after the end. */
export class Conversation {
  readonly #frame: Frame
  /** Also without entries, for what is added to the log. */
  readonly #transcript: Transcript
  /** The buttons of the answers. */
  readonly #buttons = new Map<TranscriptEntry, AnswerButtons>()
  /** The ids of the agent's messages, by those of the utterances; "" has that of the latest message. */
  readonly #messages = new Map<string, string>()
  readonly #actions: AnswerActions
  /** Three dots, while the agent thinks. */
  readonly #dots = make("div", { class: "dots", "aria-hidden": "true" }, make("i"), make("i"), make("i"))
  readonly #activity: AgentActivity
  #questions: HTMLElement | undefined

  constructor(frame: Frame) {
    this.#frame = frame
    const { session, log, region, caption, signal, entries } = frame
    this.#actions = {
      labels: () => toolLabels(frame.labels().tools),
      tell: (text, problem) => this.tell(text, problem),
      rate: (messageId, good) => this.#rate(messageId, good),
    }
    addStyles(log)
    log.replaceChildren()
    region.replaceChildren()
    const spoken = new SpokenTranscript(session, { liveRegion: region, plain: plainMarkdown })
    // Before what follows, which may add to the log at once.
    this.#transcript = new Transcript(session, { labels: frame.labels(), agentName: frame.agentName, markdown: GrowingMarkdown, spoken, root: log, entries })
    this.#keepLast()
    spoken.onChange(({ entry }) => {
      if (entries) this.#addButtons(entry)
      else if (entry.unconfirmed) frame.unconfirmed(entry.text)
      if (!entry.open) frame.said()
    })
    if (entries) this.#showHistory(frame.history)
    const levels = new VoiceLevels(session)
    const activity = (this.#activity = new AgentActivity(session, { levels }))
    const bars = frame.bars.map((place) => {
      const bars = new VoiceBars(levels)
      place.replaceChildren(bars.root)
      return bars
    })
    let limit: Text | undefined // the service ends the conversation soon, whatever the visitor does
    const doing = () => {
      const { current, busy } = activity
      for (const each of bars) each.side = current === "listening" || current === "hearing" ? "visitor" : "agent"
      if (current === "thinking" && entries) this.#transcript.append(this.#dots)
      else this.#dots.remove()
      frame.doing(current, busy, limit)
    }
    activity.onBusyChange(doing)
    doing()
    const captions = new Captions(session)
    const undraw = drawCaptions(captions, caption)
    // An agent session does not pass these events on.
    const unbind = eachTransport<SessionLike>(session, (carrier, scope) => {
      limit = undefined
      scope.listen(carrier, "brainSegment", ({ speechId, messageId }) => {
        if (messageId) this.#messages.set("", messageId).set(speechId ?? "", messageId)
      })
      scope.listen(carrier, "brainStalled", ({ afterMs, count }) => afterMs * count >= lateMs && frame.hint((labels) => labels.late))
      scope.listen(carrier, "idleWarning", () => frame.hint((labels) => labels.idle))
      scope.listen(carrier, "timeWarning", () => frame.hint((limit = (labels) => labels.ending)))
    })
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
      turnEnd: () => frame.said(), // an answer that is only a widget adds no entry, and may be the first with a thread
      turnStart: ({ isNewTurn }) => {
        if (!isNewTurn) return
        this.#questions?.remove()
        if (!entries) clearWidgets(log)
      },
      oauthRequired: ({ authUrl, toolDisplayName, toolName }) => {
        const text = fillIn(frame.labels().consent, { tool: toolDisplayName || toolName || "" })
        this.#transcript.append(make("div", { class: "note" }, make("p", {}, text), safeLink(authUrl, { class: "button" }, frame.labels().allow)))
        region.append(make("p", {}, text))
      },
    })
    signal.addEventListener("abort", () => {
      undraw()
      unbind()
      activity.destroy()
      levels.destroy()
      this.#dots.remove()
      for (const each of bars) each.destroy()
      captions.destroy()
      spoken.destroy()
    })
  }

  /** Stops following the log, before another conversation draws in it. Until then its end stays in view, also when the sentence about the end of the conversation makes it smaller. */
  leaveLog(): void {
    this.#transcript.destroy()
  }

  /** The visitor does not wait for the answer any more. */
  stopWaiting(): void {
    this.#activity.stopWaiting()
  }

  /** Reads the state of the microphone and of the sound again. */
  refresh(): void {
    this.#activity.update()
  }

  /** Writes the names in the log again, after a change of the labels. */
  rename(): void {
    this.#transcript.rename(this.#frame.labels())
    for (const buttons of this.#buttons.values()) buttons.rename()
  }

  /** What was said, oldest first, with the history; also without a log. */
  get said(): Said[] {
    return [...this.#frame.history, ...this.#transcript.spoken.entries].map(({ who, text }) => ({ who, text }))
  }

  /** The same as a text, with a paragraph for each turn. */
  get text(): string {
    const { labels, agentName } = this.#frame
    const { you, agent } = labels()
    return this.said.map(({ who, text }) => `${who === "user" ? you : (agentName ?? agent)}: ${text.trim()}`).join("\n\n")
  }

  /** Tells the visitor of a result; a problem is also seen, and not only heard. */
  tell(text: string, problem: boolean): void {
    if (problem) this.#frame.say(text)
    else this.#frame.region.append(make("p", {}, text))
  }

  async #rate(messageId: string, good: boolean): Promise<void> {
    const { access: current, options, labels } = this.#frame
    const { region, genieUrl } = options
    try {
      const [{ visitor }, { knownReply }] = await Promise.all([imported(chatModule), imported(namesModule)])
      const access = { ...knownReply(current()), ...(region && { region }), ...(genieUrl && { genieUrl }) } as VisitorAccess
      await visitor(access).feedback.add(messageId, good)
    } catch (reason) {
      throw errorText((reason as { code?: string }).code)(labels())
    }
  }

  #showHistory(history: readonly Said[]): void {
    history.forEach(({ who, text }, i) => {
      const entry: TranscriptEntry = { id: i - history.length, who, text, speechId: null, open: false, interrupted: false, startMs: 0, endMs: 0 }
      this.#transcript.add(entry)
      this.#addButtons(entry)
    })
  }

  /** Adds the buttons of an answer that is complete. */
  #addButtons(entry: TranscriptEntry): void {
    const drawn = this.#transcript.elementOf(entry)
    if (!drawn || entry.who === "user" || entry.open) return
    let buttons = this.#buttons.get(entry)
    if (!buttons) {
      buttons = new AnswerButtons(() => entry.text, this.#actions)
      this.#buttons.set(entry, buttons)
      drawn.append(buttons.root)
      this.#transcript.keepEndInView()
    }
    const id = entry.id > 0 ? this.#messages.get(entry.speechId ?? "") : undefined // one of the history has no id
    if (id !== undefined) buttons.rateable(id)
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
