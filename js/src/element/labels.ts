import type { WidgetLabels } from "../ui/labels.js"
import type { LauncherLabels } from "./launcherlabels.js"
import type { ToolLabels } from "./toollabels.js"
import { withTexts, type Texts } from "../ui/dom.js"
import { END_MESSAGES, LOAD_FAILED, PART_LABELS } from "../ui/partlabels.js"

/** The texts of the elements, in English. `labels` replaces any of them. */
export const english = {
  ...PART_LABELS,
  /** While the program is downloaded. */
  loading: "Getting ready…",
  connecting: "Connecting…",
  /** Connected, and no picture yet. */
  awaitingPicture: "The agent is on the way…",
  reconnecting: "The connection was lost. Reconnecting…",
  retry: "Try again",
  dismiss: "Dismiss",
  agree: "Continue",
  captions: "Captions",
  face: "Face",
  /** Before the first message. */
  greeting: "Ask me anything.",
  empty: "The agent gave no answer. Please ask in another way.",
  /** After a switch to or from the face that could not keep the thread. */
  forgotten: "The agent no longer knows what was said before. Please repeat what matters.",
  stopped: "You stopped this answer.",
  consent: "The agent asks for your permission to use {tool}.",
  allow: "Allow it",
  pictureLost: "The picture was lost. Bringing it back…",
  noVoice: "The agent can't hear you at the moment. The microphone is being connected again…",
  /** While nothing of an answer comes. */
  late: "The agent takes longer than usual. Please wait, or ask again.",
  /** Before a conversation in which nothing is said ends. */
  idle: "Are you still there? The conversation ends soon, unless you say or write something.",
  /** Before the service ends a conversation that has become too long. */
  ending: "The time for this conversation is nearly over.",
  disclosure: "You are talking to an AI.",
  /** Words of widgets, in place of those of `WIDGET_LABELS`. */
  widgets: {} as Partial<WidgetLabels>,
  /** Words of `<agent-launcher>` and, in elements that are only text, of the button “New conversation”, in place of those of `LAUNCHER_LABELS`. */
  launcher: {} as Partial<LauncherLabels>,
  /** Words of the buttons of answers, of the transcript and of the picture, in place of those of `TOOL_LABELS`. */
  tools: {} as Partial<ToolLabels>,
  /** By the code of the error (docs/errors.md), in place of those of `ERROR_MESSAGES`, which are downloaded with the conversation. */
  errors: { load_failed: LOAD_FAILED } as Record<string, string>,
  /** For an error of the network while the browser is offline. */
  offline: "You are offline. Please try again when you are connected to the internet.",
  /** For any other error. */
  failed: "Something went wrong. Please try again.",
  /** By the reason of the event `ended`. */
  ended: END_MESSAGES,
  /** For any other reason. */
  over: "The conversation is over. You can start again.",
}

/** The texts of an element; those of `activities`, `ended`, `errors`, `launcher`, `tools` and `widgets` are replaced one by one too. */
export type Labels = typeof english

/** A text of an element, which changes with its labels. */
export type Text = (labels: Labels) => string

/** Returns the English labels with others in their place, the last ones first. */
export const labelsOf = (...others: readonly (Texts<Labels> | undefined)[]): Labels => others.reduce<Labels>(withTexts, english)

/** The codes of errors that are due to the network while the browser is offline. */
const unreachable = ["connect_failed", "load_failed", "network_error", "socket_error", "timeout", "whep_failed", "whep_timeout"]

/** The sentence for an error, which says what to do. */
export function errorText(code: string | undefined): Text {
  const offline = unreachable.includes(code ?? "") && globalThis.navigator?.onLine === false
  return (labels) => (offline ? labels.offline : (labels.errors[code ?? ""] ?? labels.failed))
}

/** The sentence for the end of a conversation. */
export function endText(reason: string | undefined): Text {
  return (labels) => labels.ended[reason ?? ""] ?? labels.over
}
