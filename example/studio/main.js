// Builds and edits agents, and shows what was said to them. The page holds no token: its own
// server (main.go) makes the calls of the service, and this page asks that server. The
// fragment of the address says what is shown, so that the browser's Back works:
// #new, #edit/AGENT, #conversations/AGENT, #conversations/AGENT/THREAD, and none for the list.
import { $, make, say } from "/shared/dom.js"

/** Asks the server of this page; a refusal is an error with a message for people, and the `field` of the form that must be changed. */
async function ask(method, path, body) {
  const reply = await fetch(`/api/${path}`, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch(() => { throw new Error("The server of this page can't be reached. Start it again, then reload the page.") })
  const result = await reply.json().catch(() => ({ message: "The server of this page refuses this." }))
  if (!reply.ok) throw Object.assign(new Error(result.message), { field: result.field })
  return result
}

const link = (href, text, className = "") => make("a", { href, className, target: "_blank", rel: "noopener noreferrer" }, text)

/** Runs a step of the page; its error is shown in the status line of that part. */
async function attempt(id, step) {
  say(id, "")
  try {
    await step()
  } catch (error) {
    say(id, error.message, true)
    if (error.field) mark($(error.field), error.message)
  }
}

/** Marks a field of the form as the one to change, with the message below it. */
function mark(field, message) {
  unmark()
  if (field.closest("details")) field.closest("details").open = true
  field.setAttribute("aria-invalid", "true")
  field.after(make("span", { className: "error", ariaHidden: "true" }, message)) // the status line describes the field
  $("form-status").classList.add("hidden")
  field.focus()
  field.addEventListener("input", unmark, { once: true })
}

function unmark() {
  for (const field of $("form").querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid")
  for (const error of $("form").querySelectorAll(".error")) error.remove()
  $("form-status").classList.remove("hidden")
}

// The list of agents.

let agents = []

async function listAgents() {
  agents = (await ask("GET", "agents")).agents
  $("agents").replaceChildren(...agents.map(card))
  say("status", agents.length === 0 ? "There is no agent yet. Create the first one." : "")
}

/** What can be done with an agent; each has the agent's name for screen readers. */
function actions(agent) {
  const controls = [
    link(agent.page, "Talk", "button main"),
    make("a", { href: `#edit/${agent.agentId}`, className: "button" }, "Edit"),
    make("a", { href: `#conversations/${agent.agentId}`, className: "button" }, "Conversations"),
  ]
  for (const control of controls) control.setAttribute("aria-label", `${control.textContent}: ${agent.name}`)
  return controls
}

function card(agent) {
  const item = make("li", {},
    agent.image ? make("img", { src: agent.image, alt: "" }) : make("span", { className: "face", ariaHidden: "true" }, agent.name.slice(0, 1)),
    make("div", {}, make("h3", {}, agent.name), make("p", {}, agent.opening || "The visitor begins.")),
    make("div", { className: "row" }, ...actions(agent)),
  )
  item.dataset.agent = agent.agentId
  return item
}

async function removeAgent(agent) {
  const dialog = $("confirm")
  $("confirm-title").textContent = `Delete ${agent.name}?`
  dialog.returnValue = ""
  dialog.showModal()
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }))
  if (dialog.returnValue !== "delete") return
  await ask("DELETE", `agents/${agent.agentId}`)
  await showList()
  say("status", `${agent.name} is deleted.${agents.length === 0 ? " There is no agent any more. Create one." : ""}`)
  $("new").focus()
}

/** Shows the list again, after a change. */
async function showList() {
  history.pushState(null, "", "#")
  await Promise.all([show(), listAgents()])
}

/** Shows that an agent is new or changed: the message, and its card below. */
function showSuccess(agentId, text) {
  say("status", text)
  const item = $("agents").querySelector(`[data-agent="${CSS.escape(agentId)}"]`)
  item?.classList.add("fresh")
  $("agents").prepend(...(item ? [item] : [])) // below the message, also of a long list
  item?.querySelector("a").focus({ preventScroll: true })
  $("agents-title").scrollIntoView()
}

// The form.

const fields = ["name", "voice", "opening", "directive"]
const maxFile = 4_000_000 // bytes; the server takes little more
const names = { name: "name", voice: "voiceId", opening: "opening", directive: "directive" } // of what the server takes
const chosenFace = () => document.querySelector("[name=face]:checked")?.value ?? ""
let edited // the agent in the form, with what the form had at first; undefined for a new one

async function listCatalog() {
  const { faces, voices } = await ask("GET", "catalog")
  $("faces").replaceChildren(...faces.map((face, i) => make("label", {},
    make("input", { type: "radio", name: "face", value: face.id, defaultChecked: i === 0 }),
    make("img", { src: face.image, alt: "" }),
    make("span", {}, face.name))))
  $("voice").replaceChildren(...voices.map(({ id, name, description }) => new Option(description ? `${name}: ${description}` : name, id)))
}

/** Shows the form, empty or with an agent. */
function fill(agent) {
  edited = agent
  $("form").reset()
  unmark()
  say("form-status", "")
  $("form-title").textContent = agent ? `Edit ${agent.name}` : "New agent"
  $("create").textContent = agent ? "Save" : "Create"
  $("cancel").hidden = !agent
  $("delete").hidden = !agent || agent.protected
  $("tool").open = false
  const notes = []
  if (agent?.others.length > 0) notes.push(`${new Intl.ListFormat("en").format(agent.others)} changes with this agent: it has the same instructions or the same face.`)
  if (agent?.protected) notes.push("This agent is in production: visitors get what you change at once.")
  $("others").hidden = notes.length === 0
  $("others").textContent = notes.join(" ")
  for (const part of document.querySelectorAll(".looks")) part.hidden = agent?.hasFace === false
  $("heard-only").hidden = agent?.hasFace !== false
  const of = $("form").querySelector(".of")
  of.hidden = !agent
  of.replaceChildren(...(agent ? actions(agent).filter((control) => !control.hash.startsWith("#edit/")) : []))
  $("documents").replaceChildren(...(agent?.knowledge ?? []).map(removable))
  $("tools").replaceChildren(...(agent?.tools ?? []).map(removable))
  if (agent) {
    $("name").value = agent.name
    $("opening").value = agent.template
    $("directive").value = agent.directive
    if (agent.voiceId) $("voice").value = agent.voiceId
    for (const face of document.querySelectorAll("[name=face]")) face.checked = face.value === agent.faceId
    agent.before = { face: chosenFace(), ...Object.fromEntries(fields.map((id) => [id, $(id).value])) }
  }
  preview()
}

/** A document or a tool with a box that removes it. */
const removable = ({ id, name, description }) =>
  make("li", {}, make("span", {}, name, ...(description ? [make("small", { className: "soft" }, description)] : [])),
    make("label", {}, make("input", { type: "checkbox", value: id, ariaLabel: `Remove ${name}` }), "Remove"))

const removed = (list) => [...$(list).querySelectorAll(":checked")].map(({ value }) => value)

/** Shows how the opening line is heard, if it has variables. */
async function preview() {
  const template = $("opening").value
  let hint = "What the agent says first. Empty means that the visitor begins."
  if (template.includes("{{")) {
    const { heard } = await ask("POST", "opening", { template }).catch(() => ({}))
    if (template !== $("opening").value) return // it is being changed
    if (heard) hint = `A visitor without a name hears: ${heard}`
  }
  $("opening-hint").textContent = hint
}

/** What the form says: of an agent only what was changed. */
async function contents() {
  const body = {}
  for (const id of fields) if ($(id).value !== edited?.before[id]) body[names[id]] = $(id).value
  if (chosenFace() !== edited?.before.face) body.faceId = chosenFace()
  if (edited?.hasFace === false) delete body.voiceId
  const [file] = $("knowledge").files
  if (file?.size > maxFile) throw Object.assign(new Error("A file may have up to 4 MB."), { field: "knowledge" })
  if (file) body.knowledge = { name: file.name, text: await file.text() }
  if ($("tool-name").value || $("tool-description").value) body.tool = { name: $("tool-name").value, description: $("tool-description").value }
  if (edited) Object.assign(body, { removeKnowledge: removed("documents"), removeTools: removed("tools") })
  return body
}

async function save() {
  unmark()
  const changing = edited
  if (!$("name").value.trim()) throw Object.assign(new Error("The agent needs a name."), { field: "name" })
  say("form-status", changing ? "Saving…" : "Creating…")
  $("create").disabled = true
  try {
    const body = await contents()
    const agent = changing ? await ask("PATCH", `agents/${changing.agentId}`, body) : await ask("POST", "agents", body)
    await showList()
    showSuccess(agent.agentId, changing ? `${agent.name} is saved.` : `${agent.name} is ready.`)
  } finally {
    $("create").disabled = false
  }
}

// What was said.

async function conversations(agent, threadId) {
  $("conversations-title").textContent = `Conversations with ${agent.name}`
  $("conversations").querySelector(".of").replaceChildren(...actions(agent).filter((control) => !control.hash.startsWith("#conversations/")))
  $("all-threads").href = `#conversations/${agent.agentId}`
  const { threads } = await ask("GET", `agents/${agent.agentId}/threads`)
  const read = threads.find(({ id }) => id === threadId)
  const { lines, summary } = read ? await ask("GET", `threads/${threadId}`) : {}
  say("conversations-status", threads.length === 0 ? "No conversation yet. Press Talk to begin one." : threadId && !read ? "This conversation does not exist any more." : "")
  $("threads").replaceChildren(...threads.map((thread) => {
    const item = make("a", { href: `#conversations/${agent.agentId}/${thread.id}`, className: "button" },
      make("span", {}, thread.title || "Untitled"), make("span", { className: "soft" }, new Date(thread.createdAt).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })))
    if (thread === read) item.ariaCurrent = "true"
    return make("li", {}, item)
  }))
  $("thread").hidden = !read
  if (!read) return $("conversations-title").focus()
  $("thread-title").textContent = read.title || "Untitled"
  $("summary").textContent = summary
  $("lines").replaceChildren(...lines.map((line) => {
    const item = make("li", {}, make("span", { className: "by" }, line.by === "Agent" ? agent.name : line.by), make("span", {}, line.text))
    if (line.rating) item.append(make("span", { className: "rating soft" }, line.comment ? `Rated ${line.rating}: ${line.comment}` : `Rated ${line.rating}`))
    return item
  }))
  $("thread").focus({ preventScroll: true })
  $("thread").scrollIntoView({ block: "nearest" })
}

// What is shown.

/** Shows what the fragment of the address says. */
async function show() {
  const [view, id, threadId] = location.hash.slice(1).split("/")
  const reads = view === "conversations"
  document.querySelector("main").dataset.view = ["new", "edit", "conversations"].includes(view) ? view : "list"
  $("form").hidden = reads
  $("conversations").hidden = !reads
  // What was said about the last change is past.
  for (const item of $("agents").children) item.classList.remove("fresh")
  if (agents.length > 0) say("status", "")
  for (const nav of document.querySelectorAll(".of")) nav.replaceChildren()
  if (!reads && view !== "edit") {
    fill()
    if (view === "new") $("name").focus()
    return
  }
  const agent = agents.find(({ agentId }) => agentId === id)
  if (!agent) {
    history.replaceState(null, "", "#")
    await show()
    return say("status", "This agent does not exist any more.", true)
  }
  if (reads) return attempt("conversations-status", () => conversations(agent, threadId))
  fill({ ...agent, hasFace: true, template: "", directive: "", knowledge: [], tools: [], others: [] }) // until the rest is there
  $("form-title").focus()
  $("create").disabled = true
  await attempt("form-status", async () => {
    const all = await ask("GET", `agents/${id}`)
    if (location.hash === `#edit/${id}`) fill(all)
    $("create").disabled = false
  })
}

$("form").onsubmit = (event) => {
  event.preventDefault()
  attempt("form-status", save)
}
$("delete").onclick = () => attempt("form-status", () => removeAgent(edited))
$("opening").oninput = preview
$("new").onclick = () => { if (location.hash === "#new") show() } // there is no hashchange
addEventListener("hashchange", show)
await attempt("status", async () => {
  await Promise.all([listAgents(), listCatalog()])
  await show()
  const { pages } = await ask("GET", "pages")
  $("pages").append(...pages.map(({ name, address }) => link(address, name)))
})
