// An agent in one tag. This page only sets the attributes that the visitor chooses, and
// shows the events of the element.
import "/js/dist/element.js"
import { $ } from "../shared/dom.js"
import { Events } from "../shared/events.js"
import { offerChoices } from "./choices.js"

const element = $("tag")
const events = new Events($("beside"))
const markup = () => `<script type="module" src="/js/dist/element.js"></script>\n<agent-avatar widget-id="${element.widgetId}" modes="${element.modes}" preload="hover"></agent-avatar>`

for (const event of ["phaseChange", "transcript", "widget", "modeChanged", "warning", "ended"]) {
  element.addEventListener(event, ({ detail }) => events.add(event, detail))
}

offerChoices(element, markup, (show) => {
  element.end()
  show()
})
