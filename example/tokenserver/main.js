// A page whose visitor has conversations of their own. All its information about the
// service comes from the site's /conversation, which package tokenserver serves; the page
// contains no secret and no shared token.
import "/js/dist/element.js"
import { AgentError, visitor } from "/js/dist/chat.js"
import { errorMessage, icon } from "/js/dist/ui.js"
import { $, make, status } from "../shared/dom.js"

let agent // its name
let access // the latest reply of /conversation, with the time until which its token is valid
let chat // the element of the open conversation

/** Sends a request to the site. */
async function request(path, init) {
  try {
    return await fetch(path, init)
  } catch {
    throw new AgentError({ code: "network_error", message: "the site could not be reached" })
  }
}

/** Asks the site for a conversation, or for the next token of one. */
async function ask() {
  const reply = await request("/conversation", { method: "POST" })
  const answer = await reply.json()
  if (!reply.ok) throw new AgentError(answer)
  access = { ...answer, until: Date.now() + answer.tokenLifeMs }
  return access
}

/** The visitor's threads, messages and ratings. */
async function records() {
  const { until, ...options } = access?.until > Date.now() ? access : await ask()
  return visitor(options)
}

/** Opens a thread of the visitor's, or a new one. */
async function open(threadId = null) {
  leave()
  status("")
  const here = (chat = make("agent-chat", { agentName: agent, threadId, greeting: "No message yet. Write the first one below.", init: ask }))
  here.addEventListener("turnEnd", listThreads)
  $("talk").prepend(here)
  try {
    if (threadId) here.history = await said(threadId)
    if (here !== chat) return // another one was opened meanwhile
    await (threadId ? here.start() : here.load())
  } catch (error) {
    if (here === chat && here.phase === "idle") status(errorMessage(error), true) // the element shows the error of a start
  }
  if (here !== chat) return
  here.focus()
  await listThreads()
}

/** What was said in a thread. */
async function said(threadId) {
  const { turns } = await (await records()).threads.transcript(threadId)
  return turns.map(({ role, text }) => ({ who: role === "human" ? "user" : "agent", text }))
}

/** Shows the visitor's threads. An unchanged list is not rebuilt, so that it keeps the focus and a click that has begun. */
async function listThreads() {
  try {
    const { objects } = await (await records()).threads.list({ filter: { orderBy: "-updatedAt" } })
    const list = $("threads")
    const shown = new Map([...list.children].map((item) => [item.dataset.id, item]))
    const items = objects.map(({ id, title, updated_at: updatedAt }) => {
      const item = shown.get(id) ?? threadItem(id)
      const [button, remove] = item.children
      const name = title || "Untitled"
      const [label, when] = button.children
      label.textContent = name
      const date = new Date(updatedAt)
      when.dateTime = date.toISOString()
      when.textContent = date.toLocaleString(undefined, date.toDateString() === new Date().toDateString() ? { timeStyle: "short" } : { dateStyle: "medium" })
      button.ariaCurrent = id === chat?.session?.threadId ? "true" : null
      remove.ariaLabel = `Delete ${name}`
      return item
    })
    if (items.length === 0) items.push(make("li", { className: "none" }, "None yet."))
    const same = items.length === list.children.length && items.every((item, i) => item === list.children[i])
    if (!same) list.replaceChildren(...items)
  } catch (error) {
    status(errorMessage(error), true)
  }
}

function threadItem(id) {
  const button = make("button", { type: "button", className: "open" }, make("span"), make("time"))
  button.addEventListener("click", () => {
    showThreads(false)
    open(id)
  })
  const remove = make("button", { type: "button", className: "delete" }, icon("close"))
  remove.addEventListener("click", () => removeThread(id))
  const item = make("li", {}, button, remove)
  item.dataset.id = id
  return item
}

async function removeThread(id) {
  try {
    await (await records()).threads.delete(id)
  } catch (error) {
    return status(errorMessage(error), true)
  }
  if (id === chat?.session?.threadId) await open()
  else await listThreads()
  $("new").focus() // the button is gone
}

function leave() {
  chat?.session?.disconnect({ final: false })
  chat?.remove()
  chat = undefined
}

/** Runs a step of signing in or out; its error is shown in the part of the page that is there. */
async function attempt(step) {
  try {
    await step()
  } catch (error) {
    const inside = !$("talk").hidden
    $("welcome").hidden = inside
    if (inside) status(errorMessage(error), true)
    else $("sign-in-status").textContent = errorMessage(error)
  }
}

/** On a phone, shows the list of threads, or the open one. */
function showThreads(shown) {
  $("list").setAttribute("aria-expanded", String(shown))
}

/** Shows the form, or the conversations of who is signed in. */
async function show() {
  const me = await (await request("/me")).json()
  const { name } = me
  const inside = name !== ""
  agent = me.agent
  for (const place of document.querySelectorAll(".agent")) place.textContent = agent
  document.querySelector("main").dataset.inside = String(inside)
  for (const id of ["who", "list", "new", "sign-out", "talk", "beside"]) $(id).hidden = !inside
  $("welcome").hidden = inside
  showThreads(false)
  $("who").textContent = name
  if (inside) await open()
  else $("name").focus()
}

$("sign-in").addEventListener("submit", (event) => {
  event.preventDefault()
  attempt(async () => {
    const reply = await request("/sign-in", { method: "POST", body: JSON.stringify({ name: $("name").value }) })
    $("sign-in-status").textContent = reply.ok ? "" : await reply.text()
    if (reply.ok) await show()
  })
})

$("sign-out").addEventListener("click", () => attempt(async () => {
  await request("/sign-out", { method: "POST" })
  leave()
  access = undefined // it belongs to the visitor who has signed out
  $("threads").replaceChildren()
  await show()
}))

$("list").addEventListener("click", () => showThreads($("list").getAttribute("aria-expanded") === "false"))

$("new").addEventListener("click", () => {
  showThreads(false)
  open()
})

await attempt(show)
