import { AvatarSession, appInit } from "agentruntime"

/** The page under test: a button, the picture, a caption, a question, and a tool that takes notes. */
export function mount(document, place, options = {}) {
  const [start, video, caption, form, notes, problem] = ["#start", "video", "#caption", "form", "#notes", "#problem"].map((name) => document.querySelector(name))
  let session

  const talk = async () => {
    problem.textContent = ""
    session = new AvatarSession({ ...(await appInit(place)), ...options, videoEl: video, micStartMode: "deferred" })
    session.on("transcript", ({ type, text }) => {
      if (type === "partial") caption.textContent = text
    })
    session.on("reconnecting", () => (problem.textContent = "The connection is lost …"))
    session.on("reconnected", () => (problem.textContent = ""))
    session.onToolCall("save_note", ({ args, toolMetadata }) => {
      const note = document.createElement("li")
      note.textContent = args.note
      notes.append(note)
      void session.respondToTool(toolMetadata.id, { status: "saved" })
    }, { note: { type: "str", required: true } })
    await session.connect()
    session.setDynamicPrompt({ page: document.title })
    start.hidden = true
    form.hidden = false
  }

  start.addEventListener("click", () =>
    talk().catch(({ code }) => (problem.textContent = code === "capacity_unavailable" ? "Everyone is busy. Try again soon." : `It did not work (${code}).`)),
  )
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    const { text } = form.elements
    void session.speak(text.value)
    text.value = ""
  })
}
