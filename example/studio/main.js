// Builds agents and shows what was said to them. The page holds no token: its own server
// (main.go) makes the calls of the service, and this page asks that server.
import { $, make } from "/shared/dom.js"

/** Asks the server of this page; a refusal is an error with a message for people. */
async function ask(method, path, body) {
  const reply = await fetch(`/api/${path}`, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch(() => { throw new Error("The server of this page can't be reached.") })
  if (reply.status === 204) return undefined
  const result = await reply.json()
  if (!reply.ok) throw new Error(result.message)
  return result
}

const link = (href, text, className = "") => make("a", { href, className, target: "_blank", rel: "noopener noreferrer" }, text)

function say(id, text, bad = false) {
  $(id).textContent = text
  $(id).toggleAttribute("data-bad", bad)
}

/** Runs a step of the page; its error is shown in the status line of that part. */
async function attempt(id, step) {
  say(id, "")
  try {
    await step()
  } catch (error) {
    say(id, error.message, true)
  }
}

function show(part) {
  for (const id of ["form", "conversations"]) $(id).hidden = id !== part
}

// The list of agents.

async function listAgents() {
  const { agents } = await ask("GET", "agents")
  $("agents").replaceChildren(...agents.map(card))
  say("status", agents.length === 0 ? "There is no agent yet. Create the first one." : "")
}

/** A line of the agent as a visitor hears it whose variables the page does not know: with the template's own defaults. */
const asHeard = (template) => template.replace(/\{\{[^{}]*?(?:default\(\s*(?:'([^']*)'|"([^"]*)")\s*\)[^{}]*?)?\}\}/g, (_, single, double) => single ?? double ?? "…")

function card(agent) {
  const row = make("div", { className: "row" },
    link(agent.page, "Talk", "button main"),
    make("button", { type: "button", onclick: () => attempt("conversations-status", () => conversations(agent)) }, "Conversations"),
  )
  if (!agent.protected) row.append(make("button", { type: "button", className: "bad", onclick: () => attempt("status", () => remove(agent)) }, "Delete"))
  for (const control of row.children) control.setAttribute("aria-label", `${control.textContent}: ${agent.name}`)
  return make("li", {},
    agent.image ? make("img", { src: agent.image, alt: "" }) : make("span", { className: "face" }),
    make("div", {}, make("h3", {}, agent.name), make("p", {}, agent.opening ? asHeard(agent.opening) : "The visitor begins.")),
    row,
  )
}

async function remove(agent) {
  const dialog = $("confirm")
  $("confirm-title").textContent = `Delete ${agent.name}?`
  dialog.returnValue = ""
  dialog.showModal()
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }))
  if (dialog.returnValue !== "delete") return
  await ask("DELETE", `agents/${agent.agentId}`)
  show("form")
  await listAgents()
  say("status", `${agent.name} is deleted.`)
  $("new").focus()
}

// The form.

async function listCatalog() {
  const { faces, voices } = await ask("GET", "catalog")
  $("faces").replaceChildren(...faces.map((face, i) => make("label", {},
    make("input", { type: "radio", name: "face", value: face.id, checked: i === 0 }),
    make("img", { src: face.image, alt: "" }),
    make("span", {}, face.name))))
  $("voice").replaceChildren(...voices.map(({ id, name, description }) => new Option(description ? `${name}: ${description}` : name, id)))
}

async function create() {
  const [file] = $("knowledge").files
  say("form-status", "Creating…")
  $("create").disabled = true
  try {
    const agent = await ask("POST", "agents", {
      name: $("name").value,
      faceId: document.querySelector("[name=face]:checked")?.value ?? "",
      voiceId: $("voice").value,
      opening: $("opening").value,
      directive: $("directive").value,
      knowledge: file && { name: file.name, text: await file.text() },
      tool: $("tool-name").value ? { name: $("tool-name").value, description: $("tool-description").value } : undefined,
    })
    $("form").reset()
    await listAgents()
    say("form-status", `${agent.name} is ready.`)
    const talk = document.querySelector(`[aria-label="Talk: ${CSS.escape(agent.name)}"]`)
    talk?.focus({ preventScroll: true })
    // On a phone the form is a screen below the new agent.
    talk?.closest("li").scrollIntoView({ block: "center" })
    talk?.closest("li").classList.add("fresh")
  } finally {
    $("create").disabled = false
  }
}

// What was said.

async function conversations(agent) {
  show("conversations")
  $("conversations-title").textContent = `Conversations with ${agent.name}`
  $("threads").replaceChildren()
  $("thread").hidden = true
  $("conversations").focus()
  const { threads } = await ask("GET", `agents/${agent.agentId}/threads`)
  if (threads.length === 0) say("conversations-status", "No conversation yet.")
  $("threads").replaceChildren(...threads.map((thread) => {
    const button = make("button", { type: "button" }, make("span", {}, thread.title || "Untitled"), make("span", { className: "soft" }, new Date(thread.createdAt).toLocaleString()))
    button.setAttribute("aria-expanded", "false")
    button.onclick = () => attempt("conversations-status", () => read(thread, button))
    return make("li", {}, button)
  }))
}

async function read(thread, button) {
  const { lines, summary } = await ask("GET", `threads/${thread.id}`)
  for (const other of $("threads").querySelectorAll("button")) other.setAttribute("aria-expanded", String(other === button))
  $("thread-title").textContent = thread.title || "Untitled"
  $("summary").textContent = summary
  $("lines").replaceChildren(...lines.map((line) => {
    const item = make("li", {}, make("span", { className: "by" }, line.by), make("span", {}, line.text))
    if (line.rating) item.append(make("span", { className: "rating soft" }, line.comment ? `Rated ${line.rating}: ${line.comment}` : `Rated ${line.rating}`))
    return item
  }))
  $("thread").hidden = false
  $("thread").focus()
}

$("new").onclick = () => { show("form"); $("name").focus() }
$("form").onsubmit = (event) => {
  event.preventDefault()
  attempt("form-status", create)
}
await attempt("status", async () => {
  await Promise.all([listAgents(), listCatalog()])
  const { pages } = await ask("GET", "pages")
  $("pages").append(...pages.map(({ name, address }) => link(address, name)))
})
