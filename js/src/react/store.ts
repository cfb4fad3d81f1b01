import type { AppInitResult } from "../session/appinit.js"
import type { ListenOptions } from "../core/emitter.js"
import { AgentError, messageOf } from "../core/errors.js"
import type { Token } from "../core/options.js"
import type { DisconnectOptions } from "../session/session.js"
import type { Source } from "../session/source.js"

/** What `appInit` needs, or its reply. */
export interface Access {
  /** The public id of the agent's widget. */
  widgetId?: string | undefined
  /** A token that a server made for this visitor, in place of the widget's; also as a promise, or a function that is called at every connect. */
  token?: Source<Token> | undefined
  /** The reply of `appInit`, when a server has requested it; the other properties are then not needed. */
  init?: Source<AppInitResult | (Partial<AppInitResult> & { ks: string })> | undefined
  agenticUrl?: string | URL | undefined
  genieUrl?: string | URL | undefined
  ovpUrl?: string | URL | undefined
}

type Needs<Name extends keyof Access> = { [Needed in Name]: NonNullable<Access[Needed]> }

/** Which agent to use: at least one of `widgetId`, `token` and `init`. */
export type AgentSource = Access & (Needs<"widgetId"> | Needs<"token"> | Needs<"init">)

/** The options of a hook besides those of its session. */
export interface Life<Session> {
  /**
   * Connects when the component is mounted, in a page that the browser renders ahead (`document.prerendering`) when the visitor opens it.
   * Default false: the component calls `connect()`.
   */
  autoConnect?: boolean | undefined
  /** Called with each session before it connects: add tools and listeners here. */
  onSession?: ((session: Session) => void) | undefined
  /** Makes the session, such as a fake one in a test. Default: the class of the hook. */
  createSession?: ((options: never) => Session) | undefined
}

/** What a hook uses of a session. */
export interface AnySession {
  readonly state: string
  connect(options: { signal: AbortSignal }): Promise<void>
  disconnect(options?: DisconnectOptions): void
  dispose(): Promise<void>
  on(event: "ended", listener: () => void, options: ListenOptions): unknown
  onAny(listener: (event: any, payload: unknown) => void, options: ListenOptions): unknown
}

/** What all hooks return, besides the properties of their session. */
export interface Snapshot<Session> {
  /** The session of the latest connect, null before the first. */
  readonly session: Session | null
  /** Why the last connect failed or the session was lost; null when the page ended the session. */
  readonly error: AgentError | null
}

/** The functions that a hook returns, which never change. */
export interface Actions {
  /** Connects a new session unless one is connecting or connected. Rejects with the error that `error` shows; resolves when it is disconnected first, and at once when the component has left. */
  connect(): Promise<void>
  /** Ends the session. */
  disconnect(options?: DisconnectOptions): void
}

/** How a kind of session is made and read. */
export interface Kind<Session, Values> {
  /** The properties of the session that a component reads, with their values without one. */
  readonly initial: Values
  /** Makes a session that is not connected yet. */
  make(signal: AbortSignal): Promise<Session>
}

/** Events that are emitted many times in a second, after which no property is read; after any other one it may have changed. */
const frequent: ReadonlySet<string> = new Set(["brainSegment", "localMicLevel", "smartTurnStatus", "speechChunk", "transcript"])

/**
 * The session of one component. React may mount a component twice, and may unmount it and
 * mount it again at once. A session is therefore ended in the next task after an unmount,
 * unless the component has been mounted again by then.
 */
export class Store<Session extends AnySession, Values extends object> {
  readonly #kind: Kind<Session, Values>
  readonly #made: (session: Session) => void
  readonly #listeners = new Set<() => void>()
  readonly initial: Snapshot<Session> & Values
  #snapshot: Snapshot<Session> & Values
  #connecting: Promise<void> | undefined
  /** Aborts the current connect, and removes its listeners. */
  #run = new AbortController()
  #leaving: ReturnType<typeof setTimeout> | undefined
  /** The component is no longer there. */
  #left = false
  /** The session has emitted `ended`. */
  #over = false

  /** `made` is called with each session before it connects. */
  constructor(kind: Kind<Session, Values>, made: (session: Session) => void) {
    this.#kind = kind
    this.#made = made
    this.#snapshot = this.initial = { ...kind.initial, session: null, error: null }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The same object until a value in it changes. */
  readonly getSnapshot = (): Snapshot<Session> & Values => this.#snapshot

  readonly getServerSnapshot = (): Snapshot<Session> & Values => this.initial

  /** Called when the component is mounted; the returned function is called when it is unmounted. */
  mount(): () => void {
    clearTimeout(this.#leaving)
    this.#left = false
    return () => {
      this.#leaving = setTimeout(() => {
        this.#left = true
        this.disconnect()
      })
    }
  }

  readonly connect = (): Promise<void> => {
    if (this.#connecting) return this.#connecting
    if (this.#left) return Promise.resolve() // nothing would end the session
    const { session } = this.#snapshot
    if (session && !this.#run.signal.aborted) {
      if (!this.#over) return Promise.resolve()
      this.#leave(session)
    }
    const connecting = this.#connect().finally(() => {
      if (this.#connecting === connecting) this.#connecting = undefined // otherwise it is that of a later connect, after a disconnect
    })
    return (this.#connecting = connecting)
  }

  readonly disconnect = (options?: DisconnectOptions): void => {
    const { session } = this.#snapshot
    if (this.#connecting) this.#connecting = undefined // the next connect starts a new session
    if (session && !this.#run.signal.aborted) {
      session.disconnect(options)
      this.refresh()
    }
    this.#leave(session)
  }

  /** Reads the properties of the session again. */
  readonly refresh = (): void => {
    const { session } = this.#snapshot
    if (session) this.#change(this.#read(session))
  }

  #read(session: Session): Partial<Snapshot<Session> & Values> {
    const read = ([name]: [string, unknown]) => [name, session[name as keyof Session]]
    return Object.fromEntries(Object.entries(this.#kind.initial).map(read)) as Partial<Snapshot<Session> & Values>
  }

  async #connect(): Promise<void> {
    const run = (this.#run = new AbortController())
    const { signal } = run
    this.#over = false
    this.#change({ error: null } as Partial<Snapshot<Session> & Values>)
    let session: Session | undefined
    try {
      session = await this.#kind.make(signal)
      if (signal.aborted) return void session.dispose().catch(() => {})
      this.#listen(session, signal)
      this.#made(session)
      this.#change({ ...this.#read(session), session })
      await session.connect({ signal })
    } catch (reason) {
      if (signal.aborted) return // the page disconnected: not an error
      const error = reason instanceof AgentError ? reason : new AgentError({ code: "error", detail: messageOf(reason), cause: reason })
      this.refresh()
      this.#change({ error } as Partial<Snapshot<Session> & Values>)
      this.#leave(session)
      throw error
    }
  }

  #listen(session: Session, signal: AbortSignal): void {
    let last: AgentError | null = null
    session.on("ended", () => (this.#over = true), { signal, lasting: true }) // before the page's own listeners, which may connect again
    session.onAny(
      (event: string, payload) => {
        if (frequent.has(event)) return
        if (event === "error" && payload instanceof AgentError) last = payload
        this.refresh()
        if (event !== "ended") return
        // After a loss, the reason of `ended` is the code of the error.
        const { reason } = payload as { reason?: string }
        if (last && last.code === reason) this.#change({ error: last } as Partial<Snapshot<Session> & Values>)
        // Not at once, so that state changes that follow the event are still read.
        if (!this.#connecting) queueMicrotask(() => signal.aborted || this.#leave(session))
      },
      { signal, lasting: true },
    )
  }

  /** Frees the session, whose properties stay as they are. */
  #leave(session: Session | null | undefined): void {
    this.#run.abort()
    session?.dispose().catch(() => {}) // it rejects when the program, and so the session, has ended
  }

  #change(change: Partial<Snapshot<Session> & Values>): void {
    const before = this.#snapshot as Record<string, unknown>
    if (Object.entries(change).every(([name, value]) => Object.is(before[name], value))) return
    this.#snapshot = { ...this.#snapshot, ...change }
    for (const listener of [...this.#listeners]) listener()
  }
}
