// An agent in text, in plain JavaScript. A page needs no more than appInit, a
// session, and sendText (shared/sessionview.js); the rest is presentation.
import { appInit, ChatSession, visitor } from "/js/dist/chat.js"
import { Conversation } from "../shared/conversation.js"

const conversation = new Conversation({
  page: "chat",
  api: { appInit, visitor },
  // Widgets that this page can show; agents send them only when they are switched on.
  create: (options) => new ChatSession({ ...options, capabilities: { show_link: "on", video_gallery: "on", external_video: "on" } }),
})

conversation.begin()
