// A conversation with the selected agent in an element, which goes on after a reload, with the panels beside it.
import "/js/dist/element.js"
import { appInit, visitor } from "/js/dist/chat.js"
import { errorMessage } from "/js/dist/ui.js"
import { $, make, status } from "./dom.js"
import { Events } from "./events.js"
import { agentName, readService, showUnread } from "./service.js"
import { SavedConversation } from "./storage.js"
import { ToolPanel } from "./toolpanel.js"

/** Fills the page of that name: an agent in the element with that tag and these attributes, and the panels. */
export async function converse(page, tag, attributes = {}) {
  let element = make("div")
  const saved = () => new SavedConversation(page, $("agent").value)
  $("talk").append(element, make("p", { id: "status", role: "status" }))
  const tools = new ToolPanel($("talk"), $("beside"))
  const events = new Events($("beside"))
  const service = await readService().catch(showUnread)
  if (!service) return
  $("agent").addEventListener("change", open)
  $("new").disabled = false
  $("new").addEventListener("click", async () => {
    element.end()
    saved().remove()
    await open()
    element.focus()
  })
  await open()

  /** Shows the agent, with what was said before in this tab; the conversation with another agent can go on later. */
  async function open() {
    status("")
    element.session?.disconnect({ final: false })
    const kept = saved()
    const before = kept.read()
    const access = { widgetId: $("agent").value, ...service.addresses }
    let reply
    const last = element
    element = make(tag, {
      ...attributes,
      ...access,
      agentName: agentName(),
      threadId: before?.threadId ?? null,
      history: before?.said,
      options: service.session,
      init: () => (reply = appInit(access)),
    })
    const here = element
    here.addEventListener("transcriptChange", ({ detail: { transcript } }) => {
      const { threadId } = here.session
      if (threadId) kept.write({ threadId, said: transcript })
    })
    here.addEventListener("sessionCreated", ({ detail: { session } }) => {
      events.listen(session)
      tools.register(session, here)
    })
    here.addEventListener("phaseChange", ({ detail: { phase } }) => {
      if (phase === "connecting") status("")
      // The next conversation goes on with the thread of the one that has ended.
      if (phase !== "ended" && phase !== "error") return
      const { threadId, said } = kept.read() ?? {}
      Object.assign(here, { threadId: threadId ?? null, history: said })
    })
    last.replaceWith(here)
    if (document.activeElement === document.body) here.focus()
    try {
      if (before) return await here.start()
      await here.load()
      here.suggestions = await questions(await reply)
    } catch (error) {
      if (here === element && !before) status(errorMessage(error), true) // the element shows the error of a start
    }
  }

  /** What the visitor may ask first, of the agent's own or of its knowledge. They are optional. */
  async function questions(init) {
    const suggested = await visitor({ ...init, ...service.session }).followups.suggested().catch(() => [])
    return suggested.map((question) => (typeof question === "string" ? question : question.question))
  }
}
