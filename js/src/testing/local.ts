/// <reference types="node" />
/// <reference lib="esnext.disposable" preserve="true" />

/**
 * agentruntime/testing/local: the local service as a process of a test, in Node.js
 * (docs/pagetests.md).
 */
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import process from "node:process"
import { createInterface } from "node:readline"
import type { Rule, Step } from "./script.js"

/** A rule of the local service: as for a `FakeAgent`, but plain JSON, and with more kinds of steps (docs/local-service.md). */
export interface ServiceRule {
  when: string | { exact?: string | readonly string[]; contains?: string | readonly string[]; trigger?: string | readonly string[]; any?: boolean; shows?: string }
  steps: readonly (Step | Record<string, unknown>)[]
}

/** Options of `startLocalService`. */
export interface LocalServiceOptions {
  /** The rules that are tried before an agent's own brain answers; `setRules` replaces them. */
  rules?: readonly ServiceRule[] | undefined
  /** The path of the program. Default: the environment variable `AGENTRUNTIME_LOCAL`, otherwise that of the package `agentruntime-local`. */
  binary?: string | undefined
  /** Further flags of the program, such as `-wake-up=5s`. */
  args?: readonly string[] | undefined
  /** The directory of its database; without one, everything is lost with the process. */
  data?: string | undefined
  /** Called with each line of its log. */
  onLog?: ((line: string) => void) | undefined
  /** Ends the process; a start in progress rejects with code `ABORT_ERR`. */
  signal?: AbortSignal | undefined
}

/** The conditions of a network, such as `delay=80ms,loss=2%`, `cut`, or `none`. */
export type LinkConditions = string

/** A turn as the service received it. */
export interface ServiceTurn {
  text: string
  threadId: string
  /** Whether it was answered by an avatar. */
  avatar: boolean
  /** What triggered the turn, if not a text of the visitor. */
  trigger?: string
  variables: Record<string, unknown>
  /** What `setDynamicPrompt` was given last, null if nothing. */
  pageContext: unknown
}

/** A live session, as the service describes it. */
export interface ServiceSession {
  id: string
  agent: string
  threadId?: string
  state: string
  [more: string]: unknown
}

/** A running local service. */
export interface LocalService extends AsyncDisposable {
  /** Its origin, such as `http://127.0.0.1:40123`. */
  readonly url: string
  /** The addresses, for `appInit`. */
  readonly addresses: { agenticUrl: string; genieUrl: string; ovpUrl: string }
  /** Options that every session with it needs, because its media are on loopback. */
  readonly session: { allowPrivateHosts: true }
  /** The widget ids of its agents: `receptionist`, `silent`, `tap`, `audio`, `tools`, `novars`. */
  readonly widgets: readonly string[]
  /** For tokens of single visitors, as a server makes them. */
  readonly partnerId: number
  readonly adminSecret: string

  /** Replaces the rules, for the turns to come. */
  setRules(rules: readonly ServiceRule[]): Promise<void>
  /** Sets the conditions of links, also of connections that are open. */
  setLinks(links: { sockets?: LinkConditions; http?: LinkConditions; relay?: LinkConditions }): Promise<void>
  /** The turns that it has received, oldest first. */
  turns(): Promise<ServiceTurn[]>
  /** The conversations whose end was reported, oldest first. */
  completions(): Promise<{ threadId: string; at: string }[]>
  /** The live sessions, oldest first. */
  sessions(): Promise<ServiceSession[]>
  /**
   * Runs a command on a live session: `drop`, `kill-media`, `stop-video`, `fail-video`, `end`, `expire-pause`,
   * `send` or `fatal`. `session` is its id or its thread's id; by default it is the newest one.
   */
  act(command: string, body?: object, session?: string): Promise<void>
  /** Sends any other request to the control address, such as `control("/capacity", { exhausted: true })`; without a body it is a GET. */
  control(path: string, body?: object): Promise<unknown>
  /** Ends the service; resolves when its process has ended. */
  stop(): Promise<void>
}

/** What the program prints once everything listens. */
interface Info {
  agenticUrl: string
  genieUrl: string
  ovpUrl: string
  partnerId: number
  adminSecret: string
  controlUrl: string
  controlToken: string
  agents: { name: string; widgetId: string }[]
}

/**
 * Starts a local service: its own process, on free ports, with a database of its own, so that the
 * workers of a test runner have one each. It ends with `stop()`, and with this process.
 *
 * Rejects when the program can't be found or ends before it listens; the error has its log.
 */
export async function startLocalService({ rules = [], binary = programPath(), args = [], data, onLog, signal }: LocalServiceOptions = {}): Promise<LocalService> {
  const flags = ["-json", "-stdin", "-addr", "127.0.0.1:0", ...(data === undefined ? [] : ["-data", data]), ...args]
  const child = spawn(binary, flags, { stdio: ["pipe", "pipe", "pipe"], windowsHide: true, ...(signal && { signal }) })
  const log: string[] = []
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (log.push(line) > 100) log.shift()
    onLog?.(line)
  })
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  const info = await new Promise<Info>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line) as Info))
    child.once("error", (cause) => reject(signal?.aborted ? cause : new Error(`the local service can't be started: ${cause.message}`, { cause })))
    child.once("close", (code) => reject(new Error(`the local service ended with code ${code} before it listened:\n${log.join("\n")}`)))
  })
  // Neither the process nor its streams keep a test runner from ending.
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as { unref?(): void }).unref?.()

  const control = async (path: string, body?: object): Promise<unknown> => {
    const reply = await fetch(info.controlUrl + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${info.controlToken}`, connection: "close" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = (await reply.json()) as { error?: { code: string; message: string } }
    if (answer.error) throw new Error(`${path}: ${answer.error.code}: ${answer.error.message}`)
    return answer
  }
  const setRules = async (list: readonly ServiceRule[]) => void (await control("/script", { rules: list.map(scriptRule) }))
  const stop = async () => {
    child.ref()
    child.stdin.end()
    await ended
  }
  const service: LocalService = {
    url: info.genieUrl,
    addresses: { agenticUrl: info.agenticUrl, genieUrl: info.genieUrl, ovpUrl: info.ovpUrl },
    session: { allowPrivateHosts: true },
    widgets: info.agents.map(({ widgetId }) => widgetId),
    partnerId: info.partnerId,
    adminSecret: info.adminSecret,
    setRules,
    setLinks: async (links) => void (await control("/links", links)),
    turns: async () => {
      const { turns } = (await control("/turns")) as { turns: ServiceTurn[] }
      return turns.map((turn) => ({ ...turn, pageContext: parsed(turn.pageContext) }))
    },
    completions: async () => ((await control("/completions")) as { completions: { threadId: string; at: string }[] }).completions,
    sessions: async () => ((await control("/sessions")) as { sessions: ServiceSession[] }).sessions,
    act: async (command, body = {}, session = "newest") => void (await control(`/sessions/${encodeURIComponent(session)}/${command}`, body)),
    control,
    stop,
    [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]: stop,
  } as LocalService
  try {
    if (rules.length > 0) await setRules(rules)
  } catch (reason) {
    await stop()
    throw reason
  }
  return service
}

/** Converts a rule: a condition that is a text must be contained in the turn. */
function scriptRule({ when, steps }: ServiceRule | Rule): object {
  return { when: typeof when === "string" ? { contains: when } : when, steps }
}

/** The page context is JSON in a variable. */
function parsed(value: unknown): unknown {
  try {
    return typeof value === "string" ? JSON.parse(value) : (value ?? null)
  } catch {
    return value
  }
}

/** The program of the package agentruntime-local, which need not be installed. */
function programPath(): string {
  const { AGENTRUNTIME_LOCAL: given } = process.env
  if (given) return given
  try {
    const local = createRequire(import.meta.url)("agentruntime-local") as { programPath(): string }
    return local.programPath()
  } catch (cause) {
    throw new Error('there is no local service: install "agentruntime-local", set AGENTRUNTIME_LOCAL to its program, or give the option binary', { cause })
  }
}
