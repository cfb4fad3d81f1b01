// An agent in text, in plain JavaScript. A page needs no more than appInit, a
// session, and sendText (shared/talk.js); the rest is how this one looks.
import { appInit, ChatSession, visitor } from "/js/dist/chat.js"
import { Conversation } from "../shared/conversation.js"

const conversation = new Conversation({
  page: "chat",
  api: { appInit, visitor },
  // What this page can show, and agents leave out unless a page says so.
  create: (options) => new ChatSession({ ...options, capabilities: { show_link: "on", video_gallery: "on", external_video: "on" } }),
  events: [
    "stateChange", "turnStart", "turnEnd", "responsePending", "responseSettled", "brainStalled", "widget", "toolCall",
    "toolCallResult", "toolCallInvalid", "oauthRequired", "sessionCompleted", "warning", "error", "ended",
  ],
})

conversation.begin()
