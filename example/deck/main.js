// An agent presents a deck: it knows which slide is shown, and turns slides when it is asked to.
import { appInit, AvatarSession } from "/js/dist/index.js"
import { Presenter } from "/js/dist/presenter.js"
import { $, make } from "../shared/dom.js"
import { Stage } from "../shared/stage.js"
import { slides } from "./slides.js"

let presenter
let current = 1

show(1, slides[0])
new Stage({
  agent: "tools", // the demo agent with a tool that turns pages
  async open(service) {
    const init = await appInit({ widgetId: $("agent").value, ...service.addresses })
    const session = new AvatarSession({ ...init, ...service.session, videoEl: $("video"), micStartMode: "deferred" })
    presenter = new Presenter({ session, slides, toolCallName: "go_to_page", deckOutline: true, storage: sessionStorage, onSlideChange: show })
    return session
  },
  async connected() {
    presenter.goTo(current) // where the visitor was before
    await presenter.start()
  },
  ended() {
    presenter?.destroy()
    presenter = undefined
  },
})

/** Draws a slide. */
function show(number, { title, talking_points: points, content: { visual } }) {
  current = number
  $("slide").replaceChildren(
    make("p", { className: "visual", ariaHidden: "true" }, visual),
    make("h2", {}, title),
    make("ul", {}, ...points.map((point) => make("li", {}, point))),
  )
  $("position").textContent = `${number} of ${slides.length}`
  $("previous").disabled = number === 1
  $("next").disabled = number === slides.length
}

/** The visitor turns to a slide, with or without the agent. */
function turn(to) {
  if (presenter) presenter.goTo(to)
  else if (slides[to - 1]) show(to, slides[to - 1])
}

$("previous").addEventListener("click", () => turn(current - 1))
$("next").addEventListener("click", () => turn(current + 1))
