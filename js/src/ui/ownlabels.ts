import { withTexts, type Texts } from "./dom.js"
import { PART_LABELS, type PartLabels } from "./partlabels.js"
import { warnUnknown } from "./unknownlabels.js"

/** The names that a translation of the elements has besides; it fits the parts too. */
const ofElements = [
  "agree", "allow", "awaitingPicture", "captions", "connecting", "consent", "disclosure", "dismiss", "empty", "ended", "ending", "errors", "face", "failed", "forgotten",
  "greeting", "idle", "late", "launcher", "loading", "noVoice", "offline", "over", "pictureLost", "reconnecting", "retry", "stopped", "tools", "widgets",
]

/** The English texts of the parts with those of the page in their place. */
export function partLabels(own: Texts<PartLabels> | undefined): PartLabels {
  warnUnknown(own, [...Object.keys(PART_LABELS), ...ofElements])
  warnUnknown(own?.activities, Object.keys(PART_LABELS.activities))
  return withTexts(PART_LABELS, own)
}
