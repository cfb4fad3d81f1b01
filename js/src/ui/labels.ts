/** The words that widgets show, in English. */
export const WIDGET_LABELS = {
  agreed: "Yes",
  allRight: "Right.",
  answer: "Answer",
  askNext: "Ask next",
  /** Of a part of an answer that can't be read. */
  broken: "This part of the answer could not be read.",
  check: "Check",
  choose: "Please choose an answer.",
  details: "Details",
  flashcards: "Flashcards",
  form: "Please fill in",
  gallery: "Gallery",
  gradedQuestion: "Test yourself",
  link: "A link",
  markdown: "Text",
  next: "Next",
  noCards: "There are none.",
  notRight: "Not quite.",
  optional: "(optional)",
  /** `{at}` is the number of the card, `{count}` how many there are. */
  place: "{at} of {count}",
  play: "Play",
  previous: "Previous",
  question: "Question",
  right: "right",
  send: "Send",
  sent: "Thank you.",
  notSent: "That could not be sent. Please try again.",
  showAnswer: "Show the answer",
  showQuestion: "Show the question",
  source: "1 source",
  /** `{count}` is how many there are. */
  sources: "{count} sources",
  summary: "Summary",
  tryAgain: "Try again",
  unknown: "Something this page can't draw",
  untitled: "Untitled",
  video: "A video",
  videos: "Videos",
  wrong: "wrong",
  /** `{provider}` is the name of the video's host. */
  watchOn: "Watch on {provider}",
}

/** The words that widgets show. */
export type WidgetLabels = typeof WIDGET_LABELS

/** A number as it is written in the language of the page. */
function numberText(value: number): string {
  try {
    return value.toLocaleString(globalThis.document?.documentElement.lang || "en")
  } catch {
    return String(value) // the page's `lang` is no language tag
  }
}

/** Puts values into a label. */
export const fillIn = (label: string, values: Record<string, string | number>): string =>
  label.replace(/\{(\w+)\}/gu, (whole, name: string) => (Object.hasOwn(values, name) ? (typeof values[name] === "number" ? numberText(values[name]) : values[name]!) : whole))
