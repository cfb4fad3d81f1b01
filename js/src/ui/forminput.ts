import type { FormField } from "../generated/events.js"
import { make, type Attributes } from "./dom.js"

/** Attributes of the input elements, by the type of the field. */
const inputs: Record<string, Record<string, string>> = {
  email: { type: "email", autocomplete: "email" },
  phone: { type: "tel", autocomplete: "tel" },
  int: { type: "number", step: "1" },
  float: { type: "number", step: "any" },
  bool: { type: "checkbox" },
}
const long = ["text", "list", "dict"]

/** Makes the element in which the value of a field is entered, with the value that is known. */
export function formInput({ key, type, knownValue, required }: Pick<FormField, "key" | "type" | "knownValue" | "required">, attributes: Attributes): HTMLInputElement | HTMLTextAreaElement {
  const common = { ...attributes, name: key, required: required && type !== "bool" }
  const input = long.includes(type) ? make("textarea", common) : make("input", { type: "text", ...inputs[type], ...common })
  if (type === "bool") (input as HTMLInputElement).checked = knownValue === true
  else if (knownValue != null) input.value = typeof knownValue === "object" ? JSON.stringify(knownValue) : String(knownValue)
  return input
}
