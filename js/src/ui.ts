/**
 * agentruntime/ui: the building blocks of a page around a session, without a framework and
 * without the runtime: captions, a transcript as it was spoken, Markdown, the
 * widgets, WebVTT, the button for tap-to-talk, what the agent is doing, voice levels, buttons and a field for messages, and messages for visitors. What the service
 * sends is shown as text, never as markup. `agentruntime/ui.css` has the styles.
 */
export { AgentActivity, type Activity, type ActivityOptions, type ActivitySession } from "./ui/activity.js"
export { AgentState, type AgentStateOptions } from "./ui/agentstate.js"
export { ANSWER_LABELS, AnswerButtons, type AnswerActions, type AnswerLabels } from "./ui/answers.js"
export { Captions, drawCaptions, type Caption, type CaptionOptions, type Cue } from "./ui/captions.js"
export { Composer, type ComposerOptions, type ComposerSession } from "./ui/composer.js"
export { ControlBar, type ControlBarOptions, type ControlName, type ControlSession } from "./ui/controlbar.js"
export { DeviceSelect, type DeviceSelectOptions, type DeviceSession } from "./ui/deviceselect.js"
export { icon, safeLink, safeUrl, type Attributes, type IconName } from "./ui/dom.js"
export { WIDGET_LABELS, type WidgetLabels } from "./ui/labels.js"
export { VoiceLevels, type VoiceSession } from "./ui/levels.js"
export { breakLines, columns, directionOf, splitSentences } from "./ui/lines.js"
export type { SessionLike } from "./ui/listen.js"
export { GrowingMarkdown, plainMarkdown, renderMarkdown } from "./ui/markdown.js"
export { END_MESSAGES, endMessage, ERROR_MESSAGES, errorMessage, PERMANENT_ERRORS } from "./ui/messages.js"
export { PART_LABELS, type PartLabels } from "./ui/partlabels.js"
export { SpokenTranscript, type SpokenTranscriptOptions, type TranscriptChange, type TranscriptEntry } from "./ui/transcript.js"
export { Transcript, type GrowingText, type TranscriptOptions } from "./ui/transcriptview.js"
export { attachTapToTalk, type TapToTalkSession } from "./ui/taptotalk.js"
export { attachTextTrack, type TextTrackOptions } from "./ui/texttrack.js"
export { toWebVTT, type TimedText, type WebVTTOptions } from "./ui/webvtt.js"
export { playerEmbedUrl, thumbnailUrl } from "./ui/media.js"
export { VoiceBars, type Side } from "./ui/voicebars.js"
export {
  drawWidget, EMBED_HOSTS, externalEmbedUrl, WIDGET_RUNTIMES, WidgetList,
  type FormValues, type WidgetAction, type WidgetListOptions, type WidgetOptions,
} from "./ui/widgets.js"
