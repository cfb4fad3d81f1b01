// An agent that a button in the corner opens. This page only sets the attributes that the visitor chooses.
import "/js/dist/launcher.js"
import { $ } from "../shared/dom.js"
import { offerChoices } from "./choices.js"

const launcher = $("launcher")
const markup = () => `<script type="module" src="/js/dist/launcher.js"></script>\n<agent-launcher widget-id="${launcher.widgetId}" modes="${launcher.modes}" greet="${launcher.greet}"></agent-launcher>`

offerChoices(launcher, markup, (show) => {
  show()
  launcher.startNew()
})
