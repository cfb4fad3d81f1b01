// Renders the widgets of an answer with DOM calls only, so that their texts are never
// parsed as HTML.
import { externalLink, icon, make, webAddress } from "./dom.js"

/** Returns the element of a widget, or undefined for follow-up questions. Actions: submit(values). */
export function draw(widget, actions) {
  if (widget.followups) return undefined // the log shows them at its end
  for (const [kind, render] of Object.entries(renderers)) {
    if (widget[kind]) return render(widget[kind], actions)
  }
  return unknown(widget)
}

const renderers = {
  flashcards: drawFlashcards,
  sources: drawSources,
  summary: drawSummary,
  videoGallery: ({ title, videos }) => gallery(title ?? "Videos", videos.map(videoTile)),
  contentGallery: ({ title, items }) => gallery(title ?? "Gallery", items.map(itemTile)),
  showLink: drawLink,
  externalVideo: drawVideo,
  userPropertiesForm: drawForm,
}

/** A frame with a title. */
function frame(kind, title, ...content) {
  return make("section", { className: `widget ${kind}`, ariaLabel: title }, make("h3", {}, title), ...content)
}

// Shows one card at a time, its question first.
function drawFlashcards({ title, cards }) {
  const side = make("p", { className: "side" })
  const words = make("p", { className: "words" })
  const card = make("div", { className: "card", ariaLive: "polite" }, side, words)
  const place = make("span", { className: "place" })
  const turn = make("button", { type: "button" })
  const previous = make("button", { type: "button" }, "Previous")
  const next = make("button", { type: "button" }, "Next")
  let at = 0
  let back = false
  const show = () => {
    const { front, back: answer, label } = cards[at]
    side.textContent = back ? "Answer" : (label ?? "Question")
    words.textContent = back ? answer : front
    card.dataset.side = back ? "back" : "front"
    turn.textContent = back ? "Show the question" : "Show the answer"
    place.textContent = `${at + 1} of ${cards.length}`
  }
  const go = (step) => {
    at = (at + step + cards.length) % cards.length
    back = false
    show()
  }
  const flip = () => {
    back = !back
    show()
  }
  turn.addEventListener("click", flip)
  card.addEventListener("click", flip)
  previous.addEventListener("click", () => go(-1))
  next.addEventListener("click", () => go(1))
  if (cards.length === 0) return frame("flashcards", title ?? "Flashcards", make("p", {}, "There are none."))
  show()
  return frame("flashcards", title ?? "Flashcards", card, make("div", { className: "row" }, previous, place, next, turn))
}

function drawSources({ sources }) {
  const list = make("ol", {}, ...sources.map(({ title, url, snippet }) =>
    make("li", {}, externalLink(url, {}, title || host(url) || "Untitled"), snippet ? make("p", {}, snippet) : ""),
  ))
  const count = sources.length === 1 ? "1 source" : `${sources.length} sources`
  return make("details", { className: "widget sources" }, make("summary", {}, count), list)
}

function drawSummary({ title, summary, bullets }) {
  const points = bullets.length > 0 ? [make("ul", {}, ...bullets.map((text) => make("li", {}, text)))] : []
  return frame("summary", title ?? "Summary", make("p", {}, summary), ...points)
}

function drawLink({ url, label, description }) {
  return card("link", url, label || host(url) || "A link", description)
}

function drawVideo({ url, title, provider, poster, description }) {
  return card("video", url, title || "A video", description, picture(poster, "", icon("play")), provider && `Watch on ${provider}`)
}

/** Returns a card that is a link as a whole. */
function card(kind, url, title, description, image = "", place = host(url)) {
  return externalLink(url, { className: `widget tile ${kind}` },
    image,
    make("span", { className: "words" },
      make("strong", {}, title),
      description ? make("span", {}, description) : "",
      place ? make("small", {}, place, " ", icon("away")) : "",
    ),
  )
}

/** A row of tiles that scrolls sideways. */
function gallery(title, tiles) {
  const list = make("ul", { className: "tiles", tabIndex: 0, ariaLabel: title }, ...tiles.map((tile) => make("li", {}, tile)))
  return frame("gallery", title, list)
}

function videoTile({ title, thumbnailUrl, url, duration, description, alt }) {
  return card("video", url, title || "A video", description, picture(thumbnailUrl, alt, icon("play")), duration ? time(duration) : host(url))
}

function itemTile({ title, description, imageUrl, url, alt }) {
  return card("item", url, title || "Untitled", description, imageUrl ? picture(imageUrl, alt) : "")
}

/** Returns a picture with an overlay, which is shown alone when the picture cannot be loaded. */
function picture(address, alt, over = "") {
  const box = make("span", { className: "picture" }, over)
  const src = webAddress(address)
  if (src !== undefined) {
    const image = make("img", { alt: alt ?? "", loading: "lazy", referrerPolicy: "no-referrer", src })
    image.addEventListener("error", () => image.remove())
    box.prepend(image)
  }
  return box
}

// Properties of the input elements, by the type of the field.
const inputs = {
  email: { type: "email", autocomplete: "email" },
  phone: { type: "tel", autocomplete: "tel" },
  int: { type: "number", step: "1" },
  float: { type: "number", step: "any" },
  bool: { type: "checkbox" },
}
const long = ["text", "list", "dict"]

let forms = 0

function drawForm({ title, fields }, { submit }) {
  const number = ++forms
  const form = make("form", { className: "fields" })
  const boxes = new Map()
  const rows = fields.map(({ key, type, label, knownValue, required, description }, i) => {
    const input = long.includes(type) ? make("textarea", { rows: 2 }) : make("input", inputs[type] ?? { type: "text" })
    Object.assign(input, { id: `form-${number}-${i}`, name: key, required: required && type !== "bool" })
    if (type === "bool") input.checked = knownValue === true
    else if (knownValue !== undefined && knownValue !== null) input.value = typeof knownValue === "object" ? JSON.stringify(knownValue) : knownValue
    const about = make("small", { id: `${input.id}-about` }, description ?? "")
    if (description) input.setAttribute("aria-describedby", about.id)
    const caption = make("label", { htmlFor: input.id }, label || key, required ? "" : make("span", { className: "soft" }, " (optional)"))
    boxes.set(key, [type, input])
    return make("div", { className: "field" }, caption, input, description ? about : "")
  })
  const button = make("button", { className: "main" }, "Send")
  const outcome = make("p", { role: "status" })
  form.addEventListener("submit", async (event) => {
    event.preventDefault()
    outcome.textContent = await submit(Object.fromEntries([...boxes].map(([key, [type, input]]) => [key, valueOf(type, input)])))
  })
  // The last call of the form's own methods: a field named like one of them, such as
  // "append", hides it from then on.
  form.append(...rows, make("div", { className: "row" }, button, outcome))
  return frame("form", title ?? "Please fill in", form)
}

function valueOf(type, input) {
  if (type === "bool") return input.checked
  if (input.value === "") return null
  return input.type === "number" ? input.valueAsNumber : input.value
}

function unknown({ runtime, raw, body }) {
  const text = raw ?? JSON.stringify(body, null, 2)
  return make("details", { className: "widget" }, make("summary", {}, runtime || "Something this page can't draw"), make("pre", { tabIndex: 0 }, text))
}

function host(address) {
  const href = webAddress(address)
  return href && new URL(href).host
}

function time(seconds) {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`
}
