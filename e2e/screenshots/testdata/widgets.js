// Each kind of widget, as sessions emit them.
import { drawWidget, renderMarkdown } from "/js/dist/ui.js"

const picture = "/example/avatar/icon.svg"
const film = "/e2e/screenshots/testdata/film.svg"
// Is not requested before it is played: the pictures are taken without a network.
const embed = "https://www.youtube.com/watch?v=aqz-KE-bpKQ"

export const widgets = {
  flashcards: { flashcards: { title: "Threads", cards: [{ front: "What is a thread?", back: "A conversation with its messages." }, { front: "Who can read it?", back: "The visitor and the account." }] } },
  followups: { followups: { questions: ["How do I install it?", "Does it need an account?", "Which browsers were tested?"] } },
  sources: { sources: { sources: [{ title: "Local service", url: "https://docs.example/local-service", snippet: "The whole remote side in one process." }, { title: "Hosting", url: "https://docs.example/hosting", snippet: "How to serve the files small." }] } },
  summary: { summary: { title: "The local service", summary: "One process has the **whole remote side**, with real sockets and real media.", bullets: ["It needs no account.", "It needs no network.", "It emulates bad networks."] } },
  "video-gallery": { videoGallery: { title: "Courses", videos: [{ entryId: "1_intro", title: "First steps", duration: 95, thumbnailUrl: film }, { entryId: "1_face", title: "A face on your page", duration: 240, thumbnailUrl: film }, { entryId: "1_tools", title: "Tools of a page", duration: 421, thumbnailUrl: film }] } },
  "show-link": { showLink: { url: "https://docs.example/", label: "Documents", description: "What this agent answers from." } },
  "external-video": { externalVideo: { url: embed, title: "Big Buck Bunny", provider: "YouTube", poster: film, description: "A rabbit, three bullies, and a plan." } },
  "user-properties-form": { userPropertiesForm: { title: "About you", fields: [{ key: "name", type: "str", label: "Your name", required: true, knownValue: "Ada" }, { key: "email", type: "email", label: "Your e-mail address", required: false }, { key: "news", type: "bool", label: "Send me news", required: false, description: "About once a month." }] } },
  "content-gallery": { contentGallery: { title: "Example pages", items: [{ title: "Talk to an agent", description: "A face and a voice.", imageUrl: picture, url: "https://site.example/avatar/" }, { title: "Chat with an agent", description: "An agent in text.", imageUrl: picture, url: "https://site.example/chat/" }, { title: "Text and face", description: "One conversation in both.", imageUrl: picture, url: "https://site.example/agent/" }] } },
  markdown: { markdown: { title: "Kinds of conversation", text: "| Kind | Needs | Shows |\n| --- | --- | --- |\n| `ChatSession` | HTTPS | text and widgets |\n| `AvatarSession` | a WebSocket, WebRTC | a **face** with a voice |\n\nBoth have the *same* thread." } },
  "graded-question": { gradedQuestion: { title: "Quiz", question: "What does a page need for a conversation?", options: [{ text: "The admin secret of the account", correct: false, feedback: "The secret stays on servers." }, { text: "A widget id or a token", correct: true }, { text: "A camera", correct: false }], explanation: "With a widget id a page gets its own token." } },
}

const options = { markdown: renderMarkdown, partnerId: 1234 }

/** Shows one kind. Of a question, its state after a wrong answer; of sources, all of them. */
export async function show(kind) {
  const element = drawWidget({ runtime: kind, ...widgets[kind] }, options)
  document.getElementById("widget")?.replaceChildren(element)
  if (kind === "sources") element.toggleAttribute("open", true)
  if (kind === "graded-question") {
    element.querySelector("input")?.click()
    element.querySelector("form")?.requestSubmit()
  }
  await Promise.all([...document.images].map((image) => image.decode()))
}
