// What the service can do, as tables: each entry has a path, the arguments of its method,
// and their checks. Methods of several calls are below the tables.
import { call, confirm, confirmChecks, fields, isRecordId, keyChecks, list, methods, patch, property, text, type Confirmation, type Json, type KeySettings, type Page } from "./calls.js"
import { actionTypes, EMBED_TYPES, insightTypes, ruleStates } from "../generated/management.js"
import { bad, fault, isObject, isText } from "./fault.js"
import { callChecks, given, picked, settingsOf, type CallSettings, type Checks } from "./given.js"
import type { Http } from "./http.js"
import { textOfToken, type Ks } from "./token.js"
import { uuidv4 } from "../compat/ids.js"
import type { Meta } from "./small.js"
import { buildTool, type ToolConfig } from "./toolconfig.js"
import type {
  Agent, AgentFilter, AgentInput, AppInit, Avatar, AvatarInput, CatalogItem, EmailTemplate, EmailTemplateInput, FeedbackInput, FeedbackRow, InsightInput, InsightSetting,
  Intellect, LifecycleRule, Message, Profile, Skill, SkillInput, Thread, ThreadFilter, ToolRecord, Transcript,
} from "./types.js"

const agent = "agenticUrl"
const genie = "genieUrl"

export const application = (http: Http) => ({
  ...methods(http, {
    /** Suggests an agent for a sentence, in 2 to 3 seconds; nothing is stored. */
    generateProfile: call<(userDescription: string, ks: Ks, settings?: CallSettings) => Promise<Profile>>(agent, "application/generateAgentProfile", [text("userDescription")]),
    /** The id of an agent's widget, always the same one. */
    resolveWidgetId: call<(agentId: string, ks: Ks, settings?: CallSettings) => Promise<{ widgetId: string }>>(agent, "application/resolveWidgetId", [text("agentId")]),
    getCustomPrompts: call<(ks: Ks, settings?: CallSettings) => Promise<Json>>(agent, "application/getCustomPrompts"),
  }),
  /** Exchanges a widget token, or a visitor's agent token, for what a page needs to connect. */
  async appInit(widgetKs: Ks, settings?: CallSettings): Promise<AppInit> {
    const { signal } = settingsOf(settings, callChecks)
    if (textOfToken(widgetKs) === "") throw bad("appInit needs a widget token, or the agent token of a visitor")
    return http.request({ at: agent, path: "application/appInit", body: {}, ks: widgetKs, scope: "any", signal })
  },
})

/** Tags of agents in production, which `agents.delete` refuses; in any case. */
export const PROTECTED_TAGS: readonly RegExp[] = [/(?:^|[-_])prod(?:$|[-_])/i, /production/i, /\bkeep\b/i, /do-?not-?delete/i, /\blive\b/i]

/** The tag by which an agent is in production; null if there is none. */
export function matchProtectedTag(tags: unknown): string | null {
  return Array.isArray(tags) ? (tags.find((tag): tag is string => typeof tag === "string" && PROTECTED_TAGS.some((pattern) => pattern.test(tag))) ?? null) : null
}

/** The id of an intellect: `configId`, otherwise `id`; undefined unless it is a number. */
export function resolveIntellectId(value: unknown): number | undefined {
  return isObject(value) ? [value["configId"], value["id"]].find((id): id is number => typeof id === "number") : undefined
}

/** How an agent may be deleted. */
export interface AgentDeletion extends Confirmation {
  /** Also an agent with one of {@link PROTECTED_TAGS}. */
  allowProtected?: boolean
  /** Does not read the agent's tags before. */
  skipProtectedCheck?: boolean
}

const deletionChecks: Checks<AgentDeletion> = { ...confirmChecks, allowProtected: "boolean", skipProtectedCheck: "boolean" }

export function agents(http: Http) {
  const calls = methods(http, {
    /** Lists agents. `orderBy` is one of `+createdAt`, `-createdAt`, `+updatedAt`, `-updatedAt`. */
    list: list<Agent, AgentFilter>(agent, "agent/list", { orders: ["+createdAt", "-createdAt", "+updatedAt", "-updatedAt"] }),
    get: call<(agentId: string, ks: Ks, settings?: CallSettings) => Promise<Agent>>(agent, "agent/get", [text("agentId")]),
    create: call<(agent: AgentInput, ks: Ks, settings?: KeySettings) => Promise<Agent>>(agent, "agent/create", [fields(["displayName", "intellect"], checkLength)], { key: "given" }),
    /** Changes the properties that are given. */
    update: call<(agent: { agentId: string } & Partial<AgentInput>, ks: Ks, settings?: CallSettings) => Promise<Agent>>(agent, "agent/update", [fields(["agentId"], checkLength)]),
    delete: call<(agentId: string, ks: Ks, settings: Confirmation) => Promise<unknown>>(agent, "agent/delete", [text("agentId")], { removes: "an agent", key: "random" }),
    getEmbedScript: call<(agentId: string, embedType: (typeof EMBED_TYPES)[number], ks: Ks, settings?: CallSettings) => Promise<string>>(agent, "agent/getEmbedScript", [text("agentId"), oneOf("embedType", EMBED_TYPES)], {
      result: (reply, path) => (typeof reply === "string" ? reply : property("html")(reply, path)),
    }),
  })
  return {
    ...calls,
    /**
     * Deletes an agent, not its avatar and intellect. It reads the agent before: one with one of {@link PROTECTED_TAGS} is
     * refused (`protected_resource`), and one that can't be read is not deleted.
     */
    async delete(agentId: string, ks: Ks, settings: AgentDeletion): Promise<unknown> {
      confirm("an agent", settings)
      const { allowProtected = false, skipProtectedCheck = false, signal } = settingsOf(settings, deletionChecks)
      if (!skipProtectedCheck) {
        const found = await calls.get(agentId, ks, { signal }).catch((error: { code?: string }) => {
          if (error.code === "not_found" || error.code === "agent_not_found") return undefined // the delete reports it
          throw error
        })
        const tag = matchProtectedTag(found?.adminTags)
        if (tag !== null && !allowProtected) throw fault("protected_resource", `the agent has the admin tag ${tag}: pass allowProtected to delete it nevertheless`)
      }
      return calls.delete(agentId, ks, picked<Confirmation>(settings, confirmChecks))
    },
  }
}

function checkLength({ maxConversationLength: seconds, widgetConfig }: Json): void {
  if (seconds != null && !(typeof seconds === "number" && seconds >= 1 && seconds <= 3600)) throw bad("maxConversationLength must be a number of seconds from 1 to 3600")
  const title = isObject(widgetConfig) && isObject(widgetConfig["initialPage"]) ? widgetConfig["initialPage"]["title"] : undefined
  if (typeof title === "string" && title.length > 30) throw bad("widgetConfig.initialPage.title must have at most 30 characters")
}

/** An argument that is one of some texts. */
function oneOf(name: string, values: readonly string[]) {
  return (value: unknown, body: Json) => {
    if (!values.includes(value as string)) throw bad(`${name} must be one of ${values.join(", ")}`)
    body[name] = value
  }
}

function checkAvatar(avatar: Json): void {
  if ("adminTags" in avatar) throw bad("an avatar has no adminTags: tag the agent instead")
  if ((avatar["face"] == null) !== (avatar["background"] == null)) throw bad("face and background must be given together")
}

export const avatars = (http: Http) => methods(http, {
  list: list<Avatar>(agent, "avatar/list", { filter: "none" }),
  get: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<Avatar>>(agent, "avatar/get", [text("id")]),
  create: call<(avatar: AvatarInput, ks: Ks, settings?: KeySettings) => Promise<Avatar>>(agent, "avatar/create", [fields(["voice"], checkAvatar)], { key: "given" }),
  /** Changes the properties that are given. */
  update: call<(avatar: { id: string } & Partial<AvatarInput>, ks: Ks, settings?: CallSettings) => Promise<Avatar>>(agent, "avatar/update", [fields(["id"], (avatar) => {
    if ("adminTags" in avatar) throw bad("an avatar has no adminTags: tag the agent instead")
    if ("templateId" in avatar) throw bad("templateId is for a new avatar only")
  })]),
  clone: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<Avatar>>(agent, "avatar/clone", [text("id")], { key: "random" }),
  delete: call<(id: string, ks: Ks, settings: Confirmation) => Promise<unknown>>(agent, "avatar/delete", [text("id")], { removes: "an avatar", key: "random" }),
  /** Presets of a voice with a visual, or with a face and a background. */
  listTemplates: list<{ id: string } & Json>(agent, "avatar-template/list", { filter: "none" }),
})

/** What is said about a picture that is uploaded. */
export interface VisualAttributes {
  name: string
  genderPresentation: "Masculine" | "Feminine"
  background?: string
  skinTone?: string
  ageGroup?: string
  hairColor?: string
  hairStyle?: string[]
  clothing?: string[]
  glasses?: boolean
  /** Where the person's consent is kept; it is not sent, but in the result and in an audit event. */
  consentRef?: string
}

export interface VoiceAttributes {
  name: string
  description: string
  /** Default `en`. */
  language?: string
  /** Where the person's consent is kept; it is not sent, but in the result and in an audit event. */
  consentRef?: string
}

const plainVisual = { background: "Image", skinTone: "Light", ageGroup: "YoungAdult", hairColor: "Brown", hairStyle: ["Short"], clothing: ["Casual"], glasses: false }

type CatalogType = "Visual" | "Voice" | "Face" | "Background"

export function catalog(http: Http) {
  const calls = methods(http, {
    /** Lists items; `type` is short for the filter `typeEqual`. */
    list: list<CatalogItem, { typeEqual?: CatalogType }, { type?: CatalogType }>(agent, "catalog-item/list", { size: 100, filter: "none", short: { type: "typeEqual" } }),
    get: call<(itemId: string, ks: Ks, settings?: CallSettings) => Promise<CatalogItem>>(agent, "catalog-item/get", [text("itemId")]),
    delete: call<(itemId: string, ks: Ks, settings: Confirmation) => Promise<unknown>>(agent, "catalog-item/delete", [text("itemId")], { removes: "a catalog item", key: "random" }),
    importVoiceFromElevenLabs: call<(voiceId: string, ks: Ks, settings?: CallSettings) => Promise<CatalogItem>>(agent, "catalog-item/createVoiceFromElevenLabs", [text("voiceId")], { key: "random" }),
    importVoiceFromCartesia: call<(voiceId: string, ks: Ks, settings?: CallSettings) => Promise<CatalogItem>>(agent, "catalog-item/createVoiceFromCartesia", [text("voiceId")], { key: "random" }),
  })
  const create = async (what: "voice" | "visual", file: Blob, attributes: Json, ks: Ks, settings: CallSettings | undefined, consentRef: string | undefined, fileName: string, type?: string) => {
    const { signal } = settingsOf(settings, callChecks)
    const body = form({ attributes: JSON.stringify({ [what]: attributes }), adminTags: "custom", ...(type && { type }) }, file, fileName)
    const item = await http.request<CatalogItem>({ at: agent, path: "catalog-item/create", body, ks, signal, idempotencyKey: uuidv4() })
    if (consentRef === undefined) return item
    const _consent = { consentRef, recordedAt: new Date().toISOString() }
    http.audit("clone.consent", "catalog-item/create", { itemId: item.itemId, ..._consent })
    return { ...item, _consent }
  }
  const image = (type?: "Face" | "Background") => async (file: Blob, visual: VisualAttributes, ks: Ks, settings?: CallSettings): Promise<CatalogItem> => {
    const { consentRef, ...attributes } = visual ?? {}
    if (!isText(attributes.name) || !isText(attributes.genderPresentation)) throw bad("name and genderPresentation are required")
    return create("visual", file, { ...plainVisual, ...attributes }, ks, settings, consentRef, "upload.bin", type)
  }
  return {
    ...calls,
    /** Clones a voice from a sample of at least 6 seconds and at most 10 MB. */
    async createVoice(file: Blob, voice: VoiceAttributes, ks: Ks, settings?: CallSettings): Promise<CatalogItem> {
      const { consentRef, ...attributes } = voice ?? {}
      if (!isText(attributes.name) || !isText(attributes.description)) throw bad("name and description are required")
      return create("voice", file, { language: "en", ...attributes }, ks, settings, consentRef, "voice.mp3")
    },
    /** Makes a visual of a square portrait of at least 2048 pixels a side. */
    createVisual: image(),
    createFace: image("Face"),
    createBackground: image("Background"),
    /** Changes an item of the account's own. */
    async update(input: { itemId: string; attributes?: Json; adminTags?: string[]; file?: Blob }, ks: Ks, settings?: CallSettings): Promise<CatalogItem> {
      const { file, ...item } = given("the input", input, { itemId: "any", attributes: "object", adminTags: "array", file: "object" })
      const { signal } = settingsOf(settings, callChecks)
      if (!isText(item.itemId)) throw bad("itemId is required")
      const { itemId, attributes, adminTags } = item
      const body = file ? form({ itemId, ...(attributes && { attributes: JSON.stringify(attributes) }), ...(adminTags && { adminTags: adminTags.join(",") }) }, file, "upload.bin") : item
      return http.request({ at: agent, path: "catalog-item/update", body, ks, signal })
    },
  }
}

/** A form with a file. Throws `no_formdata` or `bad_request`. */
export function form(values: Readonly<Record<string, string>>, file: Blob, fileName: string, field = "file"): FormData {
  if (typeof FormData === "undefined") throw fault("no_formdata", "this version of Node.js has no FormData: use 20 or later")
  if (!(file instanceof Blob)) throw bad("the file must be a Blob or a File")
  const body = new FormData()
  for (const [name, value] of Object.entries(values)) body.append(name, value)
  body.append(field, file, (file as Partial<File>).name || fileName)
  return body
}

/** A session of an avatar that says given audio. Its token is not enumerable. */
export interface AvatarSessionHandle {
  readonly sessionId: string
  readonly token: string
  isExpired(): boolean
  /** `Infinity` when the token has no end. */
  secondsRemaining(): number
}

type Handle = Pick<AvatarSessionHandle, "sessionId" | "token">

export function avatarSessions(http: Http) {
  const send = <T>(session: Handle, action: string, body: Json | FormData, settings?: CallSettings): Promise<T> => {
    const { signal } = settingsOf(settings, callChecks)
    if (!isText(session?.sessionId) || !isText(session?.token)) throw bad("a session with its sessionId and token is required")
    return http.request({ at: agent, path: `avatar-session/${encodeURIComponent(session.sessionId)}/${action}`, body, ks: session.token, scope: "any", auth: "Bearer", signal })
  }
  return {
    async create(input: { visualConfig: { id: string } }, ks: Ks, settings?: KeySettings): Promise<AvatarSessionHandle> {
      const { visualConfig } = given("the input", input, { visualConfig: "object" })
      const { idempotencyKey = uuidv4(), signal } = settingsOf(settings, keyChecks)
      if (!isText(visualConfig?.id)) throw bad("visualConfig.id is required")
      const reply = await http.request<Partial<Handle> | null>({ at: agent, path: "avatar-session/create", body: { visualConfig: { id: visualConfig.id } }, ks, signal, idempotencyKey })
      const { sessionId, token } = reply ?? {}
      if (!isText(sessionId) || !isText(token)) throw fault("server_error", "the reply has no sessionId or no token", { instance: "/avatar-session/create" })
      const ends = expiryOf(token)
      const hidden = (value: unknown) => ({ value, enumerable: false })
      return Object.defineProperties({ sessionId }, {
        token: hidden(token),
        isExpired: hidden(() => ends * 1000 <= Date.now()),
        secondsRemaining: hidden(() => Math.max(0, ends - Math.floor(Date.now() / 1000))),
      }) as AvatarSessionHandle
    },
    /** The media addresses of a session, for its page. */
    initClient: async (session: Handle, settings?: CallSettings) => send<{ whepUrl: string; turn: { url: string; username?: string; credential?: string } }>(session, "init-client", {}, settings),
    /** Adds audio to what the avatar says. `duration` is its length in seconds. */
    async say(session: Handle, audio: Blob | ArrayBuffer | Uint8Array, settings: { duration: number; turnId?: string; mimeType?: string } & CallSettings): Promise<{ turnId: string; success: boolean }> {
      const { duration, turnId = uuidv4(), mimeType = "audio/mpeg", signal } = given("the settings", settings, { ...callChecks, duration: "any", turnId: "string", mimeType: "string" })
      if (!(typeof duration === "number" && duration > 0)) throw bad("duration must be a positive number of seconds")
      if (!(audio instanceof Blob || audio instanceof ArrayBuffer || ArrayBuffer.isView(audio))) throw bad("the audio must be a Blob, an ArrayBuffer or bytes")
      const blob = audio instanceof Blob ? new Blob([audio], { type: audio.type || mimeType }) : new Blob([audio as BlobPart], { type: mimeType })
      return send(session, "say-audio", form({ turnId, duration: String(duration) }, blob, "audio", "audio"), { signal })
    },
    interrupt: async (session: Handle, settings?: CallSettings) => send<unknown>(session, "interrupt", {}, settings),
    /** Needed about every 10 seconds. */
    keepAlive: async (session: Handle, settings?: CallSettings) => send<unknown>(session, "keep-alive", {}, settings),
    end: async (session: Handle, settings?: CallSettings) => send<unknown>(session, "end", {}, settings),
  }
}

/** The end of a JSON Web Token in seconds since 1970, `Infinity` if it has none. */
function expiryOf(token: string): number {
  try {
    const { exp } = JSON.parse(atob(token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/"))) as { exp?: unknown }
    return typeof exp === "number" ? exp : Infinity
  } catch {
    return Infinity
  }
}

/** The part of `intellects` that finds what uses something. */
export interface IntellectReader {
  list(ks: Ks, settings?: { pageSize?: number } & CallSettings): Page<Intellect>
  get(id: number, ks: Ks, settings?: CallSettings): Promise<Intellect>
}

/** The ids of the intellects that use something: all are read, one that can't be is left out. */
export async function intellectsThat(uses: (intellect: Json) => boolean, reader: IntellectReader, ks: Ks, settings?: CallSettings): Promise<number[]> {
  const { signal } = settingsOf(settings, callChecks)
  const found: number[] = []
  for await (const row of reader.list(ks, { pageSize: 50, signal })) {
    const id = resolveIntellectId(row)
    if (id === undefined) continue
    const record = await reader.get(id, ks, { signal }).catch((error: unknown) => {
      if (signal?.aborted) throw error
      return undefined
    })
    if (record && uses(isObject(record["config"]) ? { ...record["config"], ...record } : record)) found.push(id)
  }
  return found
}

const has = (list: unknown, id: unknown): boolean => Array.isArray(list) && list.some((each: unknown) => (isObject(each) ? each["id"] : each) === id)

/** The ids of the intellects that have a tool. */
export async function findIntellectsReferencingTool(management: { intellects: IntellectReader }, toolId: string, ks: Ks, settings?: CallSettings): Promise<number[]> {
  if (!isText(toolId)) throw bad("the id of a tool must be a text that is not empty")
  return intellectsThat((intellect) => has(intellect["tool_ids"], toolId) || has(intellect["thread_start_tools"], toolId), management.intellects, ks, settings)
}

/** How something that intellects may use is deleted. */
export interface UsedDeletion extends Confirmation {
  /** Also when intellects use it, which then are not looked for. */
  force?: boolean
}

/** The receipt of a deletion. */
export interface Removed {
  removed: unknown
  skippedInUseCheck?: true
  _meta: Meta
}

/** Deletes a record of a kind that intellects may use: refused while they do, unless forced. */
export async function deleteUnused(http: Http, kind: "tool" | "skill" | "knowledge", id: unknown, settings: UsedDeletion, users: (settings: CallSettings) => Promise<number[]>, remove: (confirmation: Confirmation) => Promise<unknown>): Promise<Removed> {
  const what = kind === "knowledge" ? "a knowledge record" : `a ${kind}`
  confirm(what, settings)
  const { force, signal } = settingsOf(settings, { ...confirmChecks, force: "boolean" })
  if (!(kind === "knowledge" ? isRecordId(id) : isText(id))) throw bad(`the id of ${what} must be ${kind === "knowledge" ? "an integer that is not negative" : "a text that is not empty"}`)
  const ids = force ? [] : await users({ signal })
  if (ids.length > 0) throw fault(`${kind}_in_use`, `${what} is used by the intellects ${ids.join(", ")}: remove it there, or pass force to delete it nevertheless`, { body: { intellectIds: ids } })
  await remove(picked<Confirmation>(settings, confirmChecks))
  return { removed: id, ...(force && { skippedInUseCheck: true }), _meta: http.meta(`v1/${kind}/delete`, { scope: `${kind}:${String(id)}` }) }
}

export function tools(http: Http, intellects: IntellectReader) {
  const calls = methods(http, {
    list: list<ToolRecord>(genie, "v1/tool/list", { filter: { objectType: "ToolListFilter" } }),
    get: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<ToolRecord>>(genie, "v1/tool/get", [text("id")]),
    /** Adds a tool, as the builders of `tools` make it. */
    add: call<(tool: ToolConfig, ks: Ks, settings?: CallSettings) => Promise<ToolRecord>>(genie, "v1/tool/add", [(tool, body) => {
      const config = buildTool(tool)
      Object.assign(body, { name: config.name, config })
    }], { key: "random" }),
    update: call<(id: string, changes: { name?: string; config?: ToolConfig | Json }, ks: Ks, settings?: CallSettings) => Promise<ToolRecord>>(genie, "v1/tool/update", [text("id"), patch(["name", "config"])], { key: "random" }),
    delete: call<(id: string, ks: Ks, settings: Confirmation) => Promise<unknown>>(genie, "v1/tool/delete", [text("id")], { removes: "a tool", key: "random" }),
  })
  const findReferencingIntellects = (id: string, ks: Ks, settings?: CallSettings) => findIntellectsReferencingTool({ intellects }, id, ks, settings)
  return {
    ...calls,
    /** Deletes a tool. Rejects with `tool_in_use` while intellects have it, unless forced. */
    delete: (id: string, ks: Ks, settings: UsedDeletion): Promise<Removed> =>
      deleteUnused(http, "tool", id, settings, (search) => findReferencingIntellects(id, ks, search), (confirmation) => calls.delete(id, ks, confirmation)),
    /** The ids of the intellects that have a tool. */
    findReferencingIntellects,
  }
}

export function skills(http: Http, intellects: IntellectReader) {
  const calls = methods(http, {
    list: list<Skill>(genie, "v1/skill/list", { filter: { objectType: "SkillListFilter" } }),
    get: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<Skill>>(genie, "v1/skill/get", [text("id")]),
    add: call<(skill: SkillInput, ks: Ks, settings?: CallSettings) => Promise<Skill>>(genie, "v1/skill/add", [fields(["name", "description"])], { key: "random" }),
    update: call<(id: string, changes: Partial<SkillInput>, ks: Ks, settings?: CallSettings) => Promise<Skill>>(genie, "v1/skill/update", [text("id"), patch(["name", "description", "instructions"])], { key: "random" }),
    delete: call<(id: string, ks: Ks, settings: Confirmation) => Promise<unknown>>(genie, "v1/skill/delete", [text("id")], { removes: "a skill", key: "random" }),
  })
  return {
    ...calls,
    /** Deletes a skill. Rejects with `skill_in_use` while intellects have it, unless forced. */
    delete: (id: string, ks: Ks, settings: UsedDeletion): Promise<Removed> =>
      deleteUnused(http, "skill", id, settings, (search) => intellectsThat((intellect) => has(intellect["skill_ids"], id), intellects, ks, search), (confirmation) => calls.delete(id, ks, confirmation)),
  }
}

const threadFilter: readonly string[] = [
  "agentIdEquals", "contextIdEqual", "createdAtGreaterThanOrEqual", "createdAtLessThanOrEqual", "idEquals", "idsIn", "isEverywhere", "objectType", "orderBy", "partnerIdEquals",
  "statusEquals", "statusIn", "updatedAtGreaterThanOrEqual", "updatedAtLessThanOrEqual", "userIdEquals",
] satisfies readonly (keyof ThreadFilter | "objectType")[]

export function threads(http: Http) {
  const users = { scope: "users" } as const
  const calls = methods(http, {
    list: list<Thread, ThreadFilter>(genie, "v1/thread/list", {
      ...users, filter: { objectType: "ListThreadFilter" },
      check: (filter) => {
        const unknown = Object.keys(filter).find((key) => !threadFilter.includes(key))
        if (unknown !== undefined) throw fault("validation_error", `threads have no filter ${unknown}; there are ${threadFilter.filter((name) => name !== "objectType").join(", ")}`)
      },
    }),
    get: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<Thread>>(genie, "v1/thread/get", [text("id")], users),
    rename: call<(id: string, title: string, ks: Ks, settings?: CallSettings) => Promise<Thread>>(genie, "v1/thread/update", [text("id"), text("title")], users),
    /** Merges keys into the thread's analysis. A key with a new value sets off the rules for `analysis_updated`. */
    setAnalysis: call<(id: string, analysis: Json, ks: Ks, settings?: CallSettings) => Promise<Thread>>(genie, "v1/thread/update", [text("id"), (analysis, body) => {
      if (!isObject(analysis)) throw bad("the analysis must be an object")
      body["thread_metadata"] = { analysis }
    }], users),
    clearAnalysis: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<Thread>>(genie, "v1/thread/update", [text("id")], { ...users, body: { thread_metadata: {} } }),
    /** Puts a message into a thread; `delivered` is false when no session is open, and the message is kept. */
    push: call<(id: string, message: { content: string; request_vars?: Json; system_message?: boolean }, ks: Ks, settings?: CallSettings) => Promise<{ delivered: boolean } & Json>>(genie, "thread/push", [text("id"), fields(["content"])], { key: "random" }),
    transcript: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<Transcript>>(genie, "v1/thread/get_transcripts", [text("id")], users),
    /** Deletes one thread or several. The result has those that were deleted: others are left out without an error. */
    delete: call<(ids: string | readonly string[], ks: Ks, settings: Confirmation) => Promise<{ totalCount: number; objects: Thread[] }>>(genie, "v1/thread/delete", [(ids, body) => {
      const list = Array.isArray(ids) ? ids : [ids]
      if (list.length === 0 || !list.every(isText)) throw bad("the id of a thread, or a list of them, is required")
      body["thread_ids"] = list
    }], { ...users, removes: "a thread", key: "random" }),
    /** Reports the end of a conversation, so that the rules for it run at once. */
    complete: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<unknown>>(genie, "thread/session_completed", [text("id")], users),
  })
  return calls
}

export interface MessageFilter {
  createdAtGreaterThanOrEqual?: string | number
  createdAtLessThanOrEqual?: string | number
  genieIdEquals?: string | number
  idEquals?: string
  idsIn?: readonly string[]
  isPositiveEquals?: boolean
  isPositiveIn?: readonly boolean[]
  orderBy?: string
  threadIdEquals?: string
  updatedAtGreaterThanOrEqual?: string | number
  updatedAtLessThanOrEqual?: string | number
  userIdEquals?: string
}

/** The type that filters of messages name. */
export const messageFilter = { objectType: "GenieListMessageFilter" } as const

export const messageCalls = (http: Http) => methods(http, {
  list: list<Message, MessageFilter, { threadId?: string }>(genie, "message/list", { scope: "users", size: 50, filter: messageFilter, short: { threadId: "threadIdEquals" } }),
  get: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<Message>>(genie, "message/get", [text("id")], { scope: "users" }),
  /** Shares a message as a copy, which can't be deleted. */
  share: call<(id: string, newTitle: string, ks: Ks, settings?: CallSettings) => Promise<{ newMessageId: string }>>(genie, "message/share", [text("id"), text("newTitle")], {
    scope: "users",
    result: (reply) => {
      const { data = reply } = (reply ?? {}) as { data?: unknown }
      const id = isObject(data) ? data["newMessageId"] : undefined
      if (!isText(id)) throw fault("server_error", "the reply has no newMessageId", { instance: "/message/share" })
      return { newMessageId: id }
    },
  }),
})

export interface FeedbackFilter {
  messageIdEquals?: string
  messageIdsIn?: readonly string[]
  threadIdEquals?: string
  /** Only threads that were opened with a token of that agent; takes a request for each of them. */
  agentIdEquals?: string
  isPositiveEquals?: boolean
}

const feedbackChecks: Checks<FeedbackFilter> = { messageIdEquals: "string", messageIdsIn: "array", threadIdEquals: "string", agentIdEquals: "string", isPositiveEquals: "boolean" }

export function feedback(http: Http, messages: ReturnType<typeof messageCalls>, threadCalls: ReturnType<typeof threads>) {
  const rated = async (filter: MessageFilter, ks: Ks, settings: CallSettings): Promise<FeedbackRow[]> => {
    const rows: FeedbackRow[] = []
    for await (const message of messages.list(ks, { ...settings, filter, pageSize: 500 })) {
      const stored = message["feedback"]
      if (isObject(stored)) rows.push(stored as FeedbackRow)
      else if (typeof message["is_positive"] === "boolean") {
        const { id, thread_id, genie_id, user_id, is_positive, comment, created_at, updated_at } = message
        rows.push({ message_id: id, thread_id, genie_id, user_id, is_positive, comment: typeof comment === "string" ? comment : "", created_at, updated_at } as FeedbackRow)
      }
    }
    return rows
  }
  return {
    ...methods(http, {
      /** Rates an answer. The same rating again changes nothing, the other one replaces it. */
      add: call<(feedback: FeedbackInput, ks: Ks, settings?: CallSettings) => Promise<unknown>>(genie, "feedback/add", [(value, body) => {
        const { message_id, is_positive, comment } = given("the feedback", value as FeedbackInput, { message_id: "any", is_positive: "any", comment: "string" })
        if (!isText(message_id)) throw bad("message_id is required")
        Object.assign(body, { schemaVersion: 1, data: { message_id, is_positive: Boolean(is_positive), ...(comment && { comment }) } })
      }], { scope: "users", key: "random" }),
    }),
    /** Resolves with all ratings that fit. There is no such call: all pages of messages are read, and for an agent its threads first. */
    async list(ks: Ks, settings?: { filter?: FeedbackFilter } & CallSettings): Promise<FeedbackRow[]> {
      const { filter, ...rest } = settingsOf(settings, { ...callChecks, filter: "object" })
      const { messageIdEquals: idEquals, messageIdsIn: idsIn, threadIdEquals, isPositiveEquals, agentIdEquals } = given("the filter", filter ?? {}, feedbackChecks)
      const chosen: MessageFilter = Object.fromEntries(Object.entries({ idEquals, idsIn, threadIdEquals, isPositiveEquals }).filter(([, value]) => value !== undefined))
      if (agentIdEquals === undefined) return rated(chosen, ks, rest)
      const rows: FeedbackRow[] = []
      const ofAgent = { agentIdEquals, ...(threadIdEquals !== undefined && { idEquals: threadIdEquals }) }
      for await (const { id } of threadCalls.list(ks, { ...rest, filter: ofAgent, pageSize: 500 })) rows.push(...(await rated({ ...chosen, threadIdEquals: id }, ks, rest)))
      return rows
    },
  }
}

export const followups = (http: Http) => methods(http, {
  /** The questions that are suggested for a start; they may differ from call to call. */
  getSuggested: call<(ks: Ks, settings?: CallSettings) => Promise<unknown[]>>(genie, "followup/get-suggested-questions?new_response=true", [], {
    scope: "users",
    result: (reply) => {
      const { data, questions } = (isObject(reply) ? reply : {}) as Json
      return [reply, data, isObject(data) ? data["questions"] : undefined, questions].find(Array.isArray) ?? []
    },
  }),
  list: list<Json>(genie, "followup/list", { filter: { objectType: "GenieListQuestionFilter" } }),
})

const insightFields = ["key", "title", "prompt", "valueType"] as const

function checkInsight({ status, valueType }: Json): void {
  if (status !== undefined && !ruleStates.includes(status as never)) throw bad(`status must be ${ruleStates.join(" or ")}`)
  if (valueType !== undefined && !insightTypes.includes(valueType as never)) throw bad(`valueType must be one of ${insightTypes.join(", ")}`)
}

function checkRule({ actions = [] }: Json): void {
  if (!Array.isArray(actions)) throw bad("the actions of a rule must be an array")
  for (const action of actions as unknown[]) {
    const type = isObject(action) ? action["type"] : undefined
    if (!actionTypes.includes(type as never)) throw bad(`the type of an action must be one of ${actionTypes.join(", ")}: others have another name now, or are the service's own`)
  }
}

export const insightSettings = (http: Http) => methods(http, {
  list: list<InsightSetting, { statusEqual?: string }>(agent, "insight-settings/list"),
  get: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<InsightSetting>>(agent, "insight-settings/get", [text("id")]),
  create: call<(setting: InsightInput, ks: Ks, settings?: CallSettings) => Promise<InsightSetting>>(agent, "insight-settings/create", [fields(insightFields, checkInsight)], { key: "random" }),
  update: call<(id: string, changes: Partial<InsightInput> & { status?: "active" | "disabled" }, ks: Ks, settings?: CallSettings) => Promise<InsightSetting>>(agent, "insight-settings/update", [text("id"), patch([...insightFields, "status"], checkInsight)]),
  delete: call<(id: string, ks: Ks, settings: Confirmation) => Promise<unknown>>(agent, "insight-settings/delete", [text("id")], { removes: "an insight setting", key: "random" }),
})

export const lifecycle = (http: Http) => methods(http, {
  list: list<LifecycleRule>(agent, "lifecycle/list"),
  get: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<LifecycleRule>>(agent, "lifecycle/get", [text("id")]),
  create: call<(rule: Json, ks: Ks, settings?: CallSettings) => Promise<LifecycleRule>>(agent, "lifecycle/create", [fields(["name"], checkRule)], { key: "random" }),
  update: call<(id: string, changes: Json, ks: Ks, settings?: CallSettings) => Promise<LifecycleRule>>(agent, "lifecycle/update", [text("id"), (changes, body) => {
    if (!isObject(changes) || Object.keys(changes).length === 0) throw bad("the changes must have at least one field")
    checkRule(changes)
    Object.assign(body, { ...changes, id: body["id"] })
  }]),
  delete: call<(id: string, ks: Ks, settings: Confirmation) => Promise<unknown>>(agent, "lifecycle/delete", [text("id")], { removes: "a lifecycle rule", key: "random" }),
  /** Which rules an event would set off; nothing is run. */
  match: call<(event: Json, ks: Ks, settings?: CallSettings) => Promise<Json>>(agent, "lifecycle/match", [fields()]),
  listObjects: call<(ks: Ks, settings?: CallSettings) => Promise<Json>>(agent, "lifecycle/listObjects"),
  listEvents: call<(filter: Json, ks: Ks, settings?: CallSettings) => Promise<Json>>(agent, "lifecycle/listEvents", [fields()]),
  describeFields: call<(filter: Json, ks: Ks, settings?: CallSettings) => Promise<Json>>(agent, "lifecycle/describeFields", [fields()]),
})

const emailFields = ["appGuid", "name", "subject", "body", "from", "language"] as const

/** Not offered in the EU: `region_unavailable`. */
export const emailTemplates = (http: Http) => methods(http, {
  list: list<EmailTemplate>("messagingUrl", "email-template/list"),
  get: call<(id: string, ks: Ks, settings?: CallSettings) => Promise<EmailTemplate>>("messagingUrl", "email-template/get", [text("id")]),
  create: call<(template: EmailTemplateInput, ks: Ks, settings?: CallSettings) => Promise<EmailTemplate>>("messagingUrl", "email-template/add", [fields(emailFields)], { key: "random" }),
  update: call<(id: string, changes: Partial<EmailTemplateInput> & { status?: string }, ks: Ks, settings?: CallSettings) => Promise<EmailTemplate>>("messagingUrl", "email-template/update", [text("id"), patch([...emailFields, "status"])]),
  delete: call<(id: string, ks: Ks, settings: Confirmation) => Promise<unknown>>("messagingUrl", "email-template/delete", [text("id")], { removes: "an e-mail template", key: "random" }),
})

