// One conversation in text and with a face: the element with both modes, and what this page adds to it (shared/conversation.js).
import { converse } from "../shared/conversation.js"

// It begins in text, and no permission is requested before the visitor presses the microphone's button.
converse("agent", "agent-avatar", { modes: ["text", "face"], microphone: "click" })
