import { ANSWER_LABELS } from "../ui/answers.js"
import { withTexts, type Texts } from "../ui/dom.js"

/** The texts of what can be done with answers, the transcript and the picture, in English. `labels.tools` replaces any of them. */
export const TOOL_LABELS = {
  ...ANSWER_LABELS,
  /** The buttons of the transcript. */
  copy: "Copy the conversation",
  download: "Download the conversation",
  /** The name of the downloaded file, without its ending. */
  file: "Conversation",
  fullScreen: "Full screen",
  pictureInPicture: "Picture in picture",
  shareScreen: "Share your screen",
  shareCamera: "Share your camera",
  seesScreen: "The agent sees your screen.",
  seesCamera: "The agent sees your camera.",
  unshared: "The agent sees your screen and camera no more.",
  notShared: "Nothing is shared, because the browser did not allow it.",
}

/** The texts of the tools. */
export type ToolLabels = typeof TOOL_LABELS

/** The texts, with those of the page or its language in place of the English ones. */
export const toolLabels = (own: Texts<ToolLabels>): ToolLabels => withTexts(TOOL_LABELS, own)
