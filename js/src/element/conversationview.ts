import { AgentActivity } from "../ui/activity.js"
import { AnswerButtons, type AnswerActions } from "../ui/answers.js"
import { Captions, drawCaptions } from "../ui/captions.js"
import contents from "../ui/content.css"
import { codeOf } from "../core/errors.js"
import { make, safeLink } from "../ui/dom.js"
import { fillIn } from "../ui/labels.js"
import { VoiceLevels } from "../ui/levels.js"
import type { SessionLike } from "../ui/listen.js"
import { GrowingMarkdown, plainMarkdown, renderMarkdown } from "../ui/markdown.js"
import { SpokenTranscript, type TranscriptEntry } from "../ui/transcript.js"
import { Transcript } from "../ui/transcriptview.js"
import { eachTransport } from "../ui/transports.js"
import { VoiceBars } from "../ui/voicebars.js"
import { accountOf, act, clearWidgets, drawWidget } from "../ui/widgets.js"
import type { VisitorAccess } from "../session/visitor.js"
import { style, stylesOf } from "./base.js"
import type { Host } from "./host.js"
import { errorText, type Text } from "./labels.js"
import live from "./live.css"
import { chatModule, imported, listen, type AnySession } from "./session.js"
import type { Said } from "./state.js"
import { toolLabels } from "./toollabels.js"

/** The agent is late when nothing of its answer has come for so long, as `brainStallMs` measures it. */
const lateMs = 20_000

/** Adds the styles of texts and widgets, before those of the element, which may replace them, and after them those of what only a conversation has. */
function addStyles(log: HTMLElement): void {
  const root = log.getRootNode() as ShadowRoot
  if (!stylesOf(root).includes(contents)) style(root, [contents], [live])
}

/** Draws what is said and shown in one session. What it has drawn stays after the end. */
export class ConversationView {
  /** What the agent is doing. */
  readonly activity: AgentActivity
  readonly #host: Host
  readonly #access: () => VisitorAccess
  readonly #agentName: string | null
  /** What was said in the thread before, oldest first. */
  readonly #history: readonly Said[]
  /** Also without entries, for what is added to the log. */
  readonly #transcript: Transcript
  /** The buttons of the answers. */
  readonly #buttons = new Map<TranscriptEntry, AnswerButtons>()
  /** The ids of the agent's messages, by those of the utterances; "" has that of the latest message. */
  readonly #messages = new Map<string, string>()
  readonly #actions: AnswerActions
  /** Three dots, while the agent thinks. */
  readonly #dots = make("div", { class: "dots", "aria-hidden": "true" }, make("i"), make("i"), make("i"))
  #questions: HTMLElement | undefined

  /** `access` returns what a visitor's own calls need, for the session's present token. */
  constructor(host: Host, session: AnySession, access: () => VisitorAccess, signal: AbortSignal) {
    this.#host = host
    this.#access = access
    const { element, screen } = host
    const { stage, composer } = screen
    const { root: log, region } = screen.log
    const { agentName, history } = element
    this.#agentName = agentName
    this.#history = history
    const labels = () => host.state.labels
    // Whether the transcript is drawn; it is announced to screen readers in any case.
    const entries = host.state.modes.includes("text")
    const said = () => element.dispatchEvent(new CustomEvent("transcriptChange", { detail: { transcript: element.transcript } }))
    this.#actions = {
      labels: () => toolLabels(labels().tools),
      tell: (text, problem) => this.tell(text, problem),
      rate: (messageId, good) => this.#rate(messageId, good),
    }
    addStyles(log)
    const focused = (log.getRootNode() as ShadowRoot).activeElement
    log.replaceChildren()
    region.replaceChildren()
    if (focused?.checkVisibility && !focused.isConnected) screen.passFocus() // a suggestion that was chosen
    const spoken = new SpokenTranscript(session, { liveRegion: region, plain: plainMarkdown })
    // Before what follows, which may add to the log at once.
    this.#transcript = new Transcript(session, { labels: labels(), agentName, markdown: GrowingMarkdown, spoken, root: log, entries })
    this.#keepLast()
    spoken.onChange(({ entry }) => {
      if (entries) this.#addButtons(entry)
      else if (entry.unconfirmed) {
        composer.restore(entry.text)
        host.update({ message: ({ unconfirmed }) => unconfirmed })
      }
      if (!entry.open) said()
    })
    if (entries) this.#showHistory()
    const levels = new VoiceLevels(session)
    const activity = (this.activity = new AgentActivity(session, { levels }))
    const bars = stage.bars.map((place) => {
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
      host.update({ activity: current, busy, hint: limit })
    }
    activity.onBusyChange(doing)
    doing()
    const captions = new Captions(session)
    const undraw = drawCaptions(captions, stage.caption)
    // An agent session does not pass these events on.
    const unbind = eachTransport<SessionLike>(session, (carrier, scope) => {
      limit = undefined
      scope.listen(carrier, "brainSegment", ({ speechId, messageId }) => {
        if (messageId) this.#messages.set("", messageId).set(speechId ?? "", messageId)
      })
      scope.listen(carrier, "brainStalled", ({ afterMs, count }) => afterMs * count >= lateMs && host.update({ hint: ({ late }) => late }))
      scope.listen(carrier, "idleWarning", () => host.update({ hint: ({ idle }) => idle }))
      scope.listen(carrier, "timeWarning", () => host.update({ hint: (limit = ({ ending }) => ending) }))
    })
    listen(session, signal, {
      widget: (widget) => {
        const drawn = drawWidget(widget, { onAction: (action) => act(session, action, (text) => this.#send(text)), labels: labels().widgets, markdown: renderMarkdown, partnerId: accountOf(session) })
        if (widget.followups) {
          this.#questions?.remove()
          this.#questions = drawn
          this.#keepLast()
        }
        this.#transcript.append(drawn)
      },
      turnEnd: () => said(), // an answer that is only a widget adds no entry, and may be the first with a thread
      turnStart: ({ isNewTurn }) => {
        if (!isNewTurn) return
        this.#questions?.remove()
        if (!entries) clearWidgets(log)
      },
      oauthRequired: ({ authUrl, toolDisplayName, toolName }) => {
        const text = fillIn(labels().consent, { tool: toolDisplayName || toolName || "" })
        this.#transcript.append(make("div", { class: "note" }, make("p", {}, text), safeLink(authUrl, { class: "button" }, labels().allow)))
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

  /** Writes the names in the log again, after a change of the labels. */
  rename(): void {
    this.#transcript.rename(this.#host.state.labels)
    for (const buttons of this.#buttons.values()) buttons.rename()
  }

  /** What was said, oldest first, with the history; also without a log. */
  get said(): Said[] {
    return [...this.#history, ...this.#transcript.spoken.entries].map(({ who, text }) => ({ who, text }))
  }

  /** The same as a text, with a paragraph for each turn. */
  get text(): string {
    const { you, agent } = this.#host.state.labels
    return this.said.map(({ who, text }) => `${who === "user" ? you : (this.#agentName ?? agent)}: ${text.trim()}`).join("\n\n")
  }

  /** Tells the visitor of a result; a problem is also seen, and not only heard. */
  tell(text: string, problem: boolean): void {
    if (problem) this.#host.update({ message: () => text })
    else this.#host.screen.log.region.append(make("p", {}, text))
  }

  async #rate(messageId: string, good: boolean): Promise<void> {
    try {
      const { visitor } = await imported(chatModule)
      await visitor(this.#access()).feedback.add(messageId, good)
    } catch (reason) {
      throw errorText(codeOf(reason))(this.#host.state.labels)
    }
  }

  #showHistory(): void {
    const history = this.#history
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

  #send(text: string): void {
    const { field, submit } = this.#host.screen.composer
    field.focus()
    submit(text)
  }
}
