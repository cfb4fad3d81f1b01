import { agents, application, avatars, avatarSessions, catalog, emailTemplates, feedback, followups, insightSettings, lifecycle, messageCalls, messageFilter, resolveIntellectId, skills, threads, tools } from "./resources.js"
import { bodyOf, conversations, sendChecks, type ConverseInput, type SendInput, type Turn } from "./conversations.js"
import { auditIntellect, auditRule, doctor, type AuditResult, type Diagnosis, type DoctorSettings } from "./doctor.js"
import { fault } from "./fault.js"
import { checkedSize } from "./calls.js"
import { callChecks, given, picked, settingsOf, type CallSettings } from "./given.js"
import { Http, type ManagementOptions } from "./http.js"
import { intellects } from "./intellects.js"
import { knowledge } from "./knowledge.js"
import { setForcedLanguage, type ForcedLanguageInput, type ForcedLanguageResult } from "./language.js"
import { provision, type ProvisionInput } from "./provision.js"
import { summarizeReport, type ReportSummary } from "./report.js"
import { type Ks } from "./token.js"
import { SessionCalls, tokenChecks, type ConversationTokenInput } from "./tokens.js"
import type { Segment } from "../generated/events.js"
import type { Endpoints } from "./types.js"

/** Mints and revokes tokens, without the other calls of {@link Management}. */
export class Sessions extends SessionCalls {
  /** Sends nothing. Throws `bad_request` for a bad option, and `insecure_transport` for http to a public host. */
  constructor(options: ManagementOptions) {
    super(new Http(options))
  }
}

/** How a turn of one call gets its token. */
export type OneCallInput<Input> = Input & Omit<ConversationTokenInput, "configId"> & { configId: number | string }

function messages(http: Http) {
  const calls = messageCalls(http)
  const reportText = async (ks: Ks, settings?: { pageSize?: number } & CallSettings, size?: number): Promise<string> => {
    const { pageSize = size, signal } = settingsOf(settings, { ...callChecks, pageSize: "any" })
    const body = { filter: messageFilter, ...(pageSize !== undefined && { pager: { pageIndex: 1, pageSize: checkedSize(pageSize) } }) }
    const csv = await http.request<unknown>({ at: "genieUrl", path: "message/report", body, ks, signal })
    if (csv !== null && typeof csv !== "string") throw fault("server_error", "the report is not a text", { instance: "/message/report" })
    return csv ?? ""
  }
  return {
    ...calls,
    /** The messages as CSV, with names and texts of users. With a pageSize, at most so many. */
    report: (ks: Ks, settings?: { pageSize?: number } & CallSettings): Promise<string> => reportText(ks, settings),
    /** Figures of the newest messages, at most 500. */
    async reportSummary(ks: Ks, settings?: { pageSize?: number } & CallSettings): Promise<ReportSummary> {
      return summarizeReport(await reportText(ks, settings, 500), http.partnerId)
    },
  }
}

/**
 * The calls of a server for one account. Every method takes a token as its last argument before the settings: the text of
 * one, or what `sessions` returned. Bad input is `bad_request` before any request; docs/errors.md has all codes.
 */
export class Management {
  readonly sessions: SessionCalls
  readonly application: ReturnType<typeof application>
  readonly agents: ReturnType<typeof agents>
  readonly avatars: ReturnType<typeof avatars>
  readonly catalog: ReturnType<typeof catalog>
  readonly avatarSessions: ReturnType<typeof avatarSessions>
  readonly intellects: ReturnType<typeof intellects>["resource"]
  readonly intellectConfig: ReturnType<typeof intellects>["config"] & {
    /** Looks for what does not fit in an intellect: texts, tools, skills, knowledge, secrets, forms. Only reads. */
    audit(id: number, ks: Ks, settings?: CallSettings): Promise<AuditResult>
  }
  readonly tools: ReturnType<typeof tools>
  readonly skills: ReturnType<typeof skills>
  readonly conversations: ReturnType<typeof conversations>
  readonly threads: ReturnType<typeof threads>
  readonly messages: ReturnType<typeof messages>
  readonly feedback: ReturnType<typeof feedback>
  readonly followups: ReturnType<typeof followups>
  readonly knowledge: ReturnType<typeof knowledge>
  readonly lifecycle: ReturnType<typeof lifecycle> & {
    /** Looks for what does not fit in a lifecycle rule: agents, insight settings, e-mail templates. Only reads. */
    audit(id: string, ks: Ks, settings?: CallSettings): Promise<AuditResult>
  }
  readonly insightSettings: ReturnType<typeof insightSettings>
  readonly emailTemplates: ReturnType<typeof emailTemplates>
  readonly #http: Http
  readonly #intellect: ReturnType<typeof intellects>

  /** Sends nothing. Throws `bad_request` for a bad option, and `insecure_transport` for http to a public host. */
  constructor(options: ManagementOptions) {
    const http = new Http(options)
    this.#http = http
    this.agents = agents(http)
    this.sessions = new SessionCalls(http, async (agentId, ks) => {
      const { intellect } = await this.agents.get(agentId, ks)
      const id = resolveIntellectId(intellect)
      if (id === undefined) throw fault("intellect_not_found", "the agent has no intellect with a number: give it one, or pass a configId")
      return id
    })
    const intellect = (this.#intellect = intellects(http))
    this.application = application(http)
    this.avatars = avatars(http)
    this.catalog = catalog(http)
    this.avatarSessions = avatarSessions(http)
    this.intellects = intellect.resource
    this.intellectConfig = { ...intellect.config, audit: (id, ks, settings) => auditIntellect(http, this, id, ks, settings) }
    this.tools = tools(http, intellect.resource)
    this.skills = skills(http, intellect.resource)
    this.conversations = conversations(http)
    this.threads = threads(http)
    this.messages = messages(http)
    this.feedback = feedback(http, this.messages, this.threads)
    this.followups = followups(http)
    this.knowledge = knowledge(http, intellect)
    this.lifecycle = { ...lifecycle(http), audit: (id, ks, settings) => auditRule(http, this, id, ks, settings) }
    this.insightSettings = insightSettings(http)
    this.emailTemplates = emailTemplates(http)
  }

  /** The addresses of the services. */
  get endpoints(): Endpoints {
    return this.#http.endpoints as Endpoints
  }

  /** Mints a conversation token and yields the segments of one answer. */
  async *converse(input: OneCallInput<ConverseInput>): AsyncGenerator<Segment, void, undefined> {
    const { turn, token } = oneCall(input)
    yield* this.conversations.stream(turn, await this.sessions.createConversationToken(token))
  }

  /** Mints a conversation token and resolves with one whole answer. */
  async converseOnce(input: OneCallInput<SendInput>): Promise<Turn> {
    const { turn, token } = oneCall(input)
    return this.conversations.send(turn, await this.sessions.createConversationToken(token))
  }

  /**
   * Reads the account, or some of its agents, and reports what does not fit together; docs/management.md has the
   * findings. What can't be read is in `skipped`. Only reads.
   */
  doctor(ks: Ks, settings?: DoctorSettings): Promise<Diagnosis> {
    return doctor(this.#http, this, ks, settings)
  }

  /**
   * Sets the language in which an agent answers and listens; the same call again changes nothing, and null removes it.
   * Rejects with `bad_request` for an invalid tag, and for an unknown language without a name.
   */
  setForcedLanguage(input: ForcedLanguageInput, ks: Ks, settings?: CallSettings): Promise<ForcedLanguageResult> {
    return setForcedLanguage(this.#http, this.#intellect, this.agents, input, ks, settings)
  }

  /**
   * Makes an agent from a sentence. Rejects with `provision_failed`, whose body says which step failed and what exists;
   * nothing is deleted.
   */
  provision(input: ProvisionInput): ReturnType<typeof provision> {
    return provision(this.#http, this, input)
  }
}

/** The turn and the token of one call. Throws what the turn would be refused with, before the token is minted. */
function oneCall(input: OneCallInput<SendInput>): { turn: SendInput; token: ConversationTokenInput } {
  given("the input", input, { ...tokenChecks, ...sendChecks })
  const turn: SendInput = picked<SendInput>(input, sendChecks)
  bodyOf(turn)
  return { turn, token: picked<ConversationTokenInput>(input, tokenChecks) }
}
