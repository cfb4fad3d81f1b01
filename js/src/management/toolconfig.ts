import { validateToolArgs } from "../compat/tools.js"
import { TOOL_TYPES } from "../generated/management.js"
import { argTypes } from "../generated/settings.js"
import { bad, fault, isObject, isText } from "./fault.js"
import type { Json } from "./calls.js"
import { given, type Checks } from "./given.js"

/** The methods of requests of `api` tools. */
export const HTTP_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const
/** The types of arguments. */
export const ARG_TYPES = argTypes

export type ToolArgType = (typeof ARG_TYPES)[number]

/** An argument that the model fills in. */
export interface ToolArg {
  /** What the model is told about it. */
  prompt: string
  type: ToolArgType
  required?: boolean
  default?: unknown
}

interface CommonInput {
  /** Letters, digits and `_`; a letter or `_` first. */
  name: string
  /** What the model is told about the tool. */
  description: string
  args?: Record<string, ToolArg>
  displayName?: string
  addToHistory?: boolean
}

const commonChecks: Checks<CommonInput> = { name: "any", description: "any", args: "any", displayName: "string", addToHistory: "any" }

/** A login of a request. The secret is a reference, `secrets.NAME`. */
export interface ToolAuthentication {
  type: "oauth2"
  client_id: string
  client_secret: string
  token_url?: string
  auth_url?: string
  scopes?: string | string[]
  flow?: string
}

/** The request of an `api` tool. Texts may have `{{args.NAME}}` and `{{secrets.NAME}}` in them. */
export interface ToolRequest {
  /** http or https. */
  url: string
  /** Default `GET`. */
  method?: (typeof HTTP_METHODS)[number]
  /** Whole seconds, 1 to 120; default 10. */
  timeout?: number
  headers?: Record<string, string>
  params?: Record<string, unknown>
  body?: unknown
  authentication?: ToolAuthentication
}

const requestChecks: Checks<ToolRequest> = { url: "any", method: "any", timeout: "any", headers: "object", params: "object", body: "any", authentication: "any" }

/** Exactly one of the three ways to read the reply. */
export interface ApiToolInput extends CommonInput {
  request: ToolRequest
  /** Names of results and their paths in the reply, such as `{ city: "data.0.name" }`. */
  responseMapping?: Record<string, string>
  responseTemplate?: string
  responseChapters?: { iterate_on: string; content: string; link?: string }
  /** Variables of the conversation that are set from paths in the reply. */
  variablesMapping?: Record<string, string>
}

export interface CsvToolInput extends CommonInput {
  /** A header line, and rows. */
  csv: string
}

export interface CodeToolInput extends CommonInput {
  /** Python with a function `main(request_config)`. */
  code: string
}

export interface ClientToolInput extends CommonInput {
  /** Whether the agent waits for the page's answer; the service's default is true. */
  waitForResponse?: boolean
  /** Whole seconds, 1 to 120; the service's default is 30. */
  timeout?: number
}

/** A tool in the form in which it is sent. */
export interface ToolConfig extends Json {
  type: (typeof TOOL_TYPES)[number]
  name: string
  description: string
  args?: Record<string, ToolArg>
}

function checkedArgs(args: unknown): Record<string, ToolArg> {
  if (!isObject(args)) throw bad("args must be an object: the name of each argument, and { prompt, type }")
  return Object.fromEntries(Object.entries(args).map(([name, arg]) => {
    if (!isObject(arg) || !isText(arg["prompt"])) throw bad(`the argument ${name} needs a prompt`)
    if (!(ARG_TYPES as readonly unknown[]).includes(arg["type"])) throw bad(`the type of the argument ${name} must be one of ${ARG_TYPES.join(", ")}`)
    const { prompt, type, required, default: value } = arg
    return [name, defined({ prompt, type, required, default: value }) as unknown as ToolArg]
  }))
}

const defined = (value: Json): Json => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))

function seconds(name: string, value: unknown): void {
  if (value !== undefined && !(Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 120)) throw bad(`${name} must be a whole number of seconds from 1 to 120`)
}

/** Refuses a path that is not names and indexes joined by dots. */
function checkPath(path: unknown, where: string): void {
  if (typeof path !== "string" || !/^[^\s$.[\]]+(\.[^\s$.[\]]+)*$/.test(path)) throw fault("bad_jsonpath", `${where} must be names and indexes joined by dots, such as data.0.id`)
}

function checkMapping(mapping: unknown, where: string): asserts mapping is Record<string, string> {
  if (!isObject(mapping) || Object.keys(mapping).length === 0) throw bad(`${where} must have at least one name with a path`)
  for (const [name, path] of Object.entries(mapping)) checkPath(path, `${where}.${name}`)
}

function checkedRequest(request: unknown): Json {
  if (!isObject(request)) throw bad("an api tool needs a request with a url")
  const { url, method = "GET", timeout = 10, headers, params, body, authentication } = request
  // A variable may stand in the path, but a URL must be recognisable around it.
  if (typeof url !== "string" || !/^https?:\/\/[^/\s{}]+/i.test(url) || !URL.canParse(url.replaceAll(/\{\{[^{}]*\}\}/g, "x"))) throw fault("invalid_url", "request.url must be an http or https address whose host has no variable in it")
  if (!(HTTP_METHODS as readonly unknown[]).includes(method)) throw bad(`request.method must be one of ${HTTP_METHODS.join(", ")}`)
  seconds("request.timeout", timeout)
  if (authentication !== undefined) {
    if (!isObject(authentication) || authentication["type"] !== "oauth2") throw bad("request.authentication.type must be oauth2")
    if (!isText(authentication["client_id"])) throw bad("request.authentication.client_id is required")
    if (!/^secrets\.\w+$/.test(String(authentication["client_secret"]))) throw bad("request.authentication.client_secret must be secrets.NAME, not the secret itself")
  }
  return defined({ url, method, timeout, headers, params, body, authentication })
}

// What the checks of each type of tool return of it.
const checked: Readonly<Record<string, (tool: Json) => Json>> = {
  api({ request, response_mapping, response_template, response_chapters, variables_mapping }) {
    const sent = { request: checkedRequest(request), response_mapping, response_template, response_chapters, variables_mapping }
    const ways = [response_mapping, response_template, response_chapters].filter((way) => way !== undefined)
    if (ways.length !== 1) throw bad("an api tool needs exactly one of responseMapping, responseTemplate and responseChapters")
    if (response_mapping !== undefined) checkMapping(response_mapping, "responseMapping")
    if (response_template !== undefined && !isText(response_template)) throw bad("responseTemplate must be a text that is not empty")
    if (response_chapters !== undefined && !(isObject(response_chapters) && isText(response_chapters["iterate_on"]) && isText(response_chapters["content"]))) throw bad("responseChapters needs iterate_on and content")
    if (variables_mapping !== undefined) checkMapping(variables_mapping, "variablesMapping")
    return sent
  },
  csv({ csv }) {
    if (!isText(csv) || !csv.split(/\r?\n/, 1)[0]!.split(",").some((column) => column.trim() !== "")) throw bad("csv must begin with a line of column names")
    return { csv }
  },
  code({ code }) {
    if (!isText(code)) throw bad("code must be a Python program with a function main(request_config)")
    return { code }
  },
  client({ wait_for_response, timeout }) {
    if (wait_for_response !== undefined && typeof wait_for_response !== "boolean") throw bad("waitForResponse must be true or false")
    seconds("timeout", timeout)
    return { wait_for_response, timeout }
  },
}

/** Checks a definition in the form in which it is sent, and returns it rebuilt. Throws like the builders. */
export function buildTool(tool: unknown): ToolConfig {
  if (!isObject(tool)) throw bad("a tool must be an object: make it with tools.api, tools.csv, tools.code or tools.client")
  const { type, name, description, args, display_name, add_to_history } = tool
  if (typeof type !== "string" || !Object.hasOwn(checked, type)) throw bad(`the type of a tool must be one of ${TOOL_TYPES.join(", ")}`)
  if (typeof name !== "string" || !/^[A-Za-z_]\w*$/.test(name)) throw bad("the name of a tool must have letters, digits and _ only, and not begin with a digit")
  if (!isText(description)) throw bad(`the tool ${name} needs a description, by which the model chooses it`)
  if (add_to_history !== undefined && typeof add_to_history !== "boolean") throw bad("addToHistory must be true or false")
  return defined({ type, name, description, args: args === undefined ? undefined : checkedArgs(args), display_name, add_to_history, ...checked[type]!(tool) }) as ToolConfig
}

/** Makes the builder of a type of tool: the names of its input are those that are sent, in camel case. */
const builder = <Input extends CommonInput>(type: ToolConfig["type"], checks: Checks<Input>) => (input: Input): ToolConfig =>
  buildTool({ ...Object.fromEntries(Object.entries(given("the tool", input, checks)).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value])), type })

/** The definition of a tool that calls a web service. */
const api = (input: ApiToolInput): ToolConfig => {
  if (isObject(input?.request)) given("request", input.request, requestChecks)
  return apiTool(input)
}

const apiTool = builder<ApiToolInput>("api", { ...commonChecks, request: "any", responseMapping: "any", responseTemplate: "any", responseChapters: "any", variablesMapping: "any" })

/** Reads the paths of a mapping from a reply; undefined for one that leads nowhere. Never throws. */
function applyResponseMapping(reply: unknown, mapping: Readonly<Record<string, string>>): Record<string, unknown> {
  const at = (path: unknown) => String(path).split(".").reduce<unknown>((value, key) => (typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as Json)[key] : undefined), reply)
  return Object.fromEntries(Object.entries(mapping ?? {}).map(([name, path]) => [name, at(path)]))
}

/** Whether the tools of an intellect can reach a page, and what hinders them. */
export function clientToolReadiness(intellect: unknown): { ok: boolean; warnings: string[] } {
  const { tool_ids: ids, capabilities } = (isObject(intellect) ? intellect : {}) as { tool_ids?: unknown; capabilities?: unknown }
  const warnings: string[] = []
  if (Array.isArray(ids) && ids.length > 0) {
    if (!isObject(capabilities)) warnings.push("the intellect has tools and no capabilities: set kaltura_genie_experiences to off, or calls of client tools may not reach the page")
    else if (capabilities["kaltura_genie_experiences"] !== "off") warnings.push("the capability kaltura_genie_experiences must be off, or calls of client tools may not reach the page")
  }
  return { ok: warnings.length === 0, warnings }
}

/** Builders of tool definitions, and their checks. They send nothing; `management.tools` has the calls. */
export const tools = {
  api,
  /** The definition of a tool that looks up rows of a table. */
  csv: builder<CsvToolInput>("csv", { ...commonChecks, csv: "any" }),
  /** The definition of a tool that runs a program. */
  code: builder<CodeToolInput>("code", { ...commonChecks, code: "any" }),
  /** The definition of a tool that the page runs. */
  client: builder<ClientToolInput>("client", { ...commonChecks, waitForResponse: "any", timeout: "any" }),
  validate: buildTool,
  /** As `validateToolArgs` of agentruntime/compat. */
  validateArgs: validateToolArgs,
  clientToolReadiness, applyResponseMapping,
  TOOL_TYPES, HTTP_METHODS, ARG_TYPES,
}

const recipe = (name: string, value: unknown): string => {
  if (typeof value !== "string" || value.trim() === "") throw new TypeError(`${name} must be a text that is not empty`)
  return value
}

function recipeFields(name: string, list: readonly string[]): readonly string[] {
  if (!Array.isArray(list) || list.length === 0 || !list.every((each) => /^\w+$/.test(each))) throw new TypeError(`${name} must be names of fields`)
  return list
}

/** The definition of a tool that stores a contact in HubSpot. The secret is the access token of a private app. */
export function hubspotContactUpsert({ secretName, propertiesToCapture = ["email", "firstname", "lastname"], name = "hubspot_contact_upsert", description = "Stores the contact details of the visitor in HubSpot." }: {
  secretName: string; propertiesToCapture?: readonly string[]; name?: string; description?: string
}): ToolConfig {
  recipe("secretName", secretName)
  const properties = recipeFields("propertiesToCapture", propertiesToCapture)
  return api({
    name, description,
    args: Object.fromEntries(properties.map((property) => [property, { prompt: `The visitor's ${property}.`, type: "str", required: property === "email" }])),
    request: {
      url: "https://api.hubapi.com/crm/v3/objects/contacts", method: "POST",
      headers: { Authorization: `Bearer {{secrets.${secretName}}}` },
      body: { properties: Object.fromEntries(properties.map((property) => [property, `{{args.${property}}}`])) },
    },
    responseMapping: { contact_id: "id", result: "properties" },
  })
}

/** The definition of a tool that stores a contact in Salesforce, found by the field of an external id. */
export function salesforceContactUpsert({ secretName, instanceUrl, externalIdField = "Email", fieldsToCapture = ["Email", "FirstName", "LastName"], name = "salesforce_contact_upsert", description = "Stores the contact details of the visitor in Salesforce." }: {
  secretName: string; instanceUrl: string; externalIdField?: string; fieldsToCapture?: readonly string[]; name?: string; description?: string
}): ToolConfig {
  recipe("secretName", secretName)
  const base = recipe("instanceUrl", instanceUrl).replace(/\/$/, "")
  const captured = recipeFields("fieldsToCapture", fieldsToCapture)
  if (!captured.includes(externalIdField)) throw new TypeError(`fieldsToCapture must have the field ${externalIdField}, by which a contact is found`)
  return api({
    name, description,
    args: Object.fromEntries(captured.map((field) => [field, { prompt: `The visitor's ${field}.`, type: "str", required: field === externalIdField }])),
    request: {
      url: `${base}/services/data/v59.0/sobjects/Contact/${externalIdField}/{{args.${externalIdField}}}`, method: "PATCH",
      headers: { Authorization: `Bearer {{secrets.${secretName}}}` },
      body: Object.fromEntries(captured.filter((field) => field !== externalIdField).map((field) => [field, `{{args.${field}}}`])),
    },
    responseMapping: { result: "id" },
  })
}
