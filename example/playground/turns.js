// Each turn as a waterfall, drawn from the event `turnTimings` (docs/tracing.md).
import { $, make } from "../shared/dom.js"

// How many turns are kept.
const maxTurns = 50

// The parts of a turn: the mark that begins it, undefined for the turn's beginning, and the first of those marks that
// the turn has, which ends it.
const parts = [
  ["Words to the service", undefined, "transcript"],
  ["Wait for text", undefined, "firstText", "textEnd"],
  ["Text", "firstText", "textEnd", "interrupted"],
  ["Wait for sound", "firstText", "firstSound"],
  ["Wait for a moving face", "firstText", "firstFrame"],
  ["Speech", "firstSound", "interrupted", "speechEnd"],
]

const outcomes = { answered: "answered", interrupted: "interrupted", empty: "without an answer", failed: "failed", ended: "cut off by the end of the session" }

/** Shows the turns of a session. */
export class Turns {
  #list = $("turns")
  #question = ""

  /** `name` and `payload` are those of an event; events that say nothing about turns change nothing. `more` are further elements of the turn. */
  add(name, payload, ...more) {
    if (name === "transcript" && payload.type === "user") this.#question = payload.text
    if (name !== "turnTimings") return
    for (const open of this.#list.querySelectorAll("[open]")) open.open = false
    this.#list.prepend(drawn(payload, payload.from === "agent" ? "" : this.#question, more))
    if (this.#list.children.length > maxTurns) this.#list.lastElementChild.remove()
  }

  clear() {
    this.#list.replaceChildren()
  }
}

function drawn(turn, question, more) {
  const title = question ? `“${question}”` : turn.from === "agent" ? "The agent began" : turn.from === "spoken" ? "Spoken" : "Typed"
  const spans = spansOf(turn)
  const first = ["firstSound", "firstText"].find((mark) => mark in turn.marks)
  const result = [outcomes[turn.outcome], first && `${first === "firstSound" ? "first sound" : "first text"} after ${time(turn, first)}`].filter(Boolean).join(", ")
  const longest = Math.max(turn.durationMs, ...spans.map(({ to }) => to), 1)
  const head = make("tr", {}, ...["Part", "From", "To", "Bar"].map((text) => make("th", { scope: "col" }, text)))
  const rows = spans.map((span) => {
    const bar = make("span", { className: "bar" })
    bar.style.setProperty("--from", span.from / longest)
    bar.style.setProperty("--size", (span.to - span.from) / longest)
    bar.toggleAttribute("data-estimated", span.estimated)
    const cells = [span.from, span.to].map((ms, i) => make("td", {}, ...figure(ms, span.about[i])))
    return make("tr", {}, make("th", { scope: "row" }, span.name), ...cells, make("td", { ariaHidden: "true" }, bar))
  })
  const table = make("table", { className: "bars" }, make("caption", { className: "hidden" }, `Milliseconds of the turn ${title}`), make("thead", { className: "hidden" }, head), make("tbody", {}, ...rows))
  return make("li", {}, make("details", { open: true }, make("summary", {}, title, " ", make("small", { className: "soft" }, result)), table, ...more))
}

/** The parts of a turn that have happened, in the order in which they began. */
function spansOf(turn) {
  const { marks, estimated, tools } = turn
  const about = (mark) => estimated.includes(mark)
  const spans = parts.flatMap(([name, begin, ...ends]) => {
    const end = ends.find((mark) => mark in marks)
    if (!end || (begin && !(begin in marks))) return []
    const from = begin ? marks[begin] : 0
    return [{ name, from: Math.min(from, marks[end]), to: marks[end], about: [about(begin ?? "userSpeechEnd"), about(end)], estimated: about(begin) || about(end) }]
  })
  for (const { name, called, returned, answered } of tools) {
    const to = answered ?? returned ?? called
    spans.push({ name: `Tool ${name}`, from: called, to, about: [false, false], estimated: false })
  }
  return spans.sort((a, b) => a.from - b.from)
}

const time = ({ marks, estimated }, mark) => `${estimated.includes(mark) ? "about " : ""}${marks[mark]} ms`

/** A figure of the table; an estimate has a sign, which screen readers read as a word. */
const figure = (ms, about) => [...(about ? [make("span", { ariaHidden: "true" }, "~"), make("span", { className: "hidden" }, "about ")] : []), String(ms)]
