// An agent in text: the element, and what this page adds to it (shared/conversation.js).
import { converse } from "../shared/conversation.js"

converse("chat", "agent-chat")
