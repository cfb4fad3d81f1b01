// A form with every option of a kind of session.
import { $, make } from "../shared/dom.js"
import { groups, options } from "./declared.js"

/** Functions and elements that the page offers, by the name of the option; ticking one sets it. */
let offered = {}

/** Draws the options of a kind; `values` are those that a tick sets. */
export function drawOptions(kind, values) {
  offered = values
  const draw = (group) => make("fieldset", {}, make("legend", {}, group), ...options[group].map((option) => field(group, option)))
  $("options").replaceChildren(...groups[kind].map(draw))
  find()
}

function field(group, option) {
  const { name, type, preset = "", about = "" } = option
  const id = `option-${group}-${name}`
  const input = inputOf(option)
  Object.assign(input, { id, name })
  Object.assign(input.dataset, { group, type: input.dataset.type ?? "text" })
  input.setAttribute("aria-describedby", `${id}-about`)
  const json = input.matches("textarea") && `JSON: ${type}.`
  const more = [about, preset && `Default: ${preset}.`, json].filter(Boolean).join(" ").replaceAll("`", "")
  return make("div", { className: "option" }, make("label", { htmlFor: id }, name), input, make("small", { id: `${id}-about` }, more))
}

function inputOf({ name, type, check, values }) {
  const typed = (kind, element) => {
    element.dataset.type = kind
    return element
  }
  if (name in offered) return typed("offered", make("input", { type: "checkbox" }))
  if (values) return typed("text", make("select", {}, new Option("default", ""), ...values.map((value) => new Option(value))))
  if (check === "boolean") return typed("json", make("select", {}, new Option("default", ""), new Option("true"), new Option("false")))
  if (["number", "count", "integer"].includes(check) || type === "number") return typed("json", make("input", { inputMode: "numeric" }))
  if (["string", "id", "address", "socket", "address,empty"].includes(check)) return typed("text", make("input"))
  return typed("json", make("textarea", { rows: 1 }))
}

/** The options that are set. Throws for a value that is not JSON; the message names the option. */
export function chosenOptions() {
  const chosen = {}
  for (const input of $("options").elements) {
    const { type, group } = input.dataset
    if (!type || (type === "offered" ? !input.checked : input.value === "")) continue
    const target = group === "Timeouts" ? (chosen.timeouts ??= {}) : chosen
    target[input.name] = type === "offered" ? offered[input.name] : type === "json" ? parse(input) : input.value
  }
  return chosen
}

function parse({ name, value }) {
  try {
    return JSON.parse(value)
  } catch {
    throw new Error(`${name} must be JSON, as in "text", 5 or {"a": 1}`)
  }
}

function find() {
  const wanted = $("find").value.toLowerCase()
  for (const row of $("options").querySelectorAll(".option")) row.hidden = !row.textContent.toLowerCase().includes(wanted)
}

$("find").addEventListener("input", find)
