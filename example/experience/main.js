// An agent with a face that shows widgets and uses a tool of the page.
import { appInit, AvatarSession } from "/js/dist/index.js"
import { renderMarkdown, WidgetList } from "/js/dist/ui.js"
import { $, make } from "../shared/dom.js"
import { Stage } from "../shared/stage.js"

new Stage({
  agent: "tools", // the demo agent with tools
  async open(service) {
    const init = await appInit({ widgetId: $("agent").value, ...service.addresses })
    const session = new AvatarSession({
      ...init, ...service.session, videoEl: $("video"), micStartMode: "deferred",
      // The widgets that this page draws; agents send them only when they are switched on.
      capabilities: { avatar_show_content: "on", show_link: "on", video_gallery: "on", external_video: "on" },
    })
    new WidgetList(session, $("widgets"), { markdown: renderMarkdown })
    addTools(session)
    return session
  },
})

/** What the agent may do on this page. */
function addTools(session) {
  session.onToolCall(
    "save_note",
    async ({ args: { note }, toolMetadata: { id, waitForResponse } }) => {
      $("notes").append(make("li", {}, note))
      const result = { status: "saved", notes: $("notes").children.length }
      if (waitForResponse) await session.respondToTool(id, result)
      return result
    },
    { note: { type: "str", required: true } },
  )
  session.on("toolCall", ({ name, args }) => $("calls").append(make("li", {}, `${name} ${JSON.stringify(args)}`)))
}
