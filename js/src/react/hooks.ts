import { useEffect, useRef, useState, useSyncExternalStore, type RefObject } from "react"
import { AgentSession } from "../session/agentsession.js"
import type { AgentSettings } from "../session/agentoptions.js"
import type { AppInitOptions, AppInitResult } from "../session/appinit.js"
import { AvatarSession } from "../session/avatar.js"
import type { AvatarSettings } from "../session/avataroptions.js"
import * as chat from "../chat.js"
import type { ChatSettings } from "../session/chatoptions.js"
import { ChatSession } from "../session/chatsession.js"
import { appInit } from "../session/full.js"
import { tokenTextOf, valueOf } from "../session/source.js"
import { checkNames, knownReply, sessionOptions } from "../core/unknown.js"
import { toggleMicrophone, toggleSound } from "../ui/voicecontrols.js"
import { useLatest, useLayoutEffect_ } from "./latest.js"
import { Store, type Access, type Actions, type AgentSource, type AnySession, type Kind, type Life, type Snapshot } from "./store.js"

/** An element, or the ref of one. */
type Target = HTMLMediaElement | null | RefObject<HTMLMediaElement | null>

interface Targets {
  /** Shows the picture, and plays the voice unless `audioEl` is set. */
  videoEl?: Target | undefined
  audioEl?: Target | undefined
}

/** Options of `useAvatarSession`: which agent to use, and options of `AvatarSession`. */
export type AvatarHookOptions = AgentSource & Targets & Life<AvatarSession> & Omit<AvatarSettings, "videoEl" | "audioEl" | keyof AgentSource>

/** Options of `useChatSession`: which agent to use, and options of `ChatSession`. */
export type ChatHookOptions = AgentSource & Life<ChatSession> & Omit<ChatSettings, keyof AgentSource>

/** Options of `useAgentSession`: which agent to use, and options of `AgentSession`. */
export type AgentHookOptions = AgentSource & Targets & Life<AgentSession> & Omit<AgentSettings, keyof AgentSource>

type AvatarValues = Pick<
  AvatarSession,
  "state" | "mode" | "threadId" | "speaking" | "responsePending" | "paused" | "micStarted" | "micEnabled" | "micError" | "playbackBlocked" | "audioOutputMuted"
>
type ChatValues = Pick<ChatSession, "state" | "threadId" | "responsePending">
type AgentValues = Pick<AgentSession, "state" | "mode" | "threadId">

interface AvatarActions {
  /** Starts the microphone, or mutes and unmutes it. Rejects with the error that `micError` shows. */
  toggleMicrophone(): Promise<void>
  /** Mutes and unmutes the agent's voice. */
  toggleSound(): void
  /** Plays what the browser has blocked; call it in a click handler. */
  startPlayback(): Promise<boolean>
}

/** What `useAvatarSession` returns. */
export type AvatarHook = Snapshot<AvatarSession> & AvatarValues & Actions & AvatarActions
/** What `useChatSession` returns. */
export type ChatHook = Snapshot<ChatSession> & ChatValues & Actions
/** What `useAgentSession` returns. */
export type AgentHook = Snapshot<AgentSession> & AgentValues & Actions

/**
 * A live session of a component: made by `connect()`, ended when the component is unmounted.
 * Changed options apply from the next connect on, changed elements at once.
 */
export function useAvatarSession(options: AvatarHookOptions): AvatarHook {
  const { store, hook } = useStore(options, avatarKind)
  const { session } = hook
  const bound = useRef<readonly unknown[]>([])
  // After each render: the element of a ref may be another one then, without a change of the options.
  useLayoutEffect_(() => {
    const { videoEl, audioEl } = elementsOf(options)
    const elements = [session, videoEl, audioEl]
    if (elements.every((each, i) => each === bound.current[i])) return
    bound.current = elements
    if (!session || session.state === "disconnected") return
    if (videoEl !== session.videoEl) session.setVideoEl(videoEl)
    if (audioEl !== session.audioEl) session.setAudioEl(audioEl)
  })
  const [actions] = useState(() => avatarActions(store))
  return { ...hook, ...actions }
}

/** A text conversation of a component; works like `useAvatarSession`. */
export function useChatSession(options: ChatHookOptions): ChatHook {
  return useStore(options, chatKind).hook
}

/** A conversation of a component, in text or with a face; works like `useAvatarSession`. */
export function useAgentSession(options: AgentHookOptions): AgentHook {
  return useStore(options, agentKind).hook
}

function useStore<Session extends AnySession, Values extends object, Options extends Life<Session>>(
  options: Options,
  kindOf: (options: () => Options) => Kind<Session, Values>,
): { store: Store<Session, Values>; hook: Snapshot<Session> & Values & Actions } {
  const latest = useLatest(options)
  const [store] = useState(() => new Store(kindOf(() => latest.current), (session) => latest.current.onSession?.(session)))
  const { autoConnect = false } = options
  useEffect(() => store.mount(), [store])
  useEffect(() => {
    if (autoConnect) store.connect().catch(() => {}) // it is in `error`
  }, [store, autoConnect])
  const values = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getServerSnapshot)
  return { store, hook: { ...values, connect: store.connect, disconnect: store.disconnect } }
}

// --- The kinds of sessions

function avatarKind(options: () => AvatarHookOptions): Kind<AvatarSession, AvatarValues> {
  return {
    initial: {
      state: "idle", mode: "video", threadId: undefined, speaking: false, responsePending: false, paused: false,
      micStarted: false, micEnabled: true, micError: null, playbackBlocked: null, audioOutputMuted: false,
    },
    make: maker(AvatarSession, appInit, options, (settings) => ({ ...settings, ...elementsOf(options()) })),
  }
}

function chatKind(options: () => ChatHookOptions): Kind<ChatSession, ChatValues> {
  return {
    initial: { state: "idle", threadId: undefined, responsePending: false },
    make: maker(ChatSession, chat.appInit, options),
  }
}

function agentKind(options: () => AgentHookOptions): Kind<AgentSession, AgentValues> {
  return {
    initial: { state: "idle", mode: "avatar", threadId: undefined },
    make: maker(AgentSession, appInit, options, (settings) => ({ ...settings, avatar: { ...elementsOf(options()), ...(settings["avatar"] as object | undefined) } })),
  }
}

type Settings = Record<string, unknown>

/**
 * How the sessions of a class are made. `complete` adds what is read when there is a reply of `appInit`, because the component may have
 * been rendered again meanwhile.
 */
function maker<Session>(
  Class: new (options: never) => Session,
  request: (options: AppInitOptions) => Promise<AppInitResult>,
  options: () => Access & Life<Session>,
  complete = (settings: Settings) => settings,
): (signal: AbortSignal) => Promise<Session> {
  return async (signal) => {
    const { settings, place } = split(options())
    const init = await initOf(place, request, signal)
    const given = complete({ ...settings, ...init }) as never
    const { createSession } = options()
    return createSession ? createSession(given) : new Class(given)
  }
}

function avatarActions(store: Store<AvatarSession, AvatarValues>): AvatarActions {
  const attempt = async <T>(work: (session: AvatarSession) => T | Promise<T>): Promise<T | undefined> => {
    const { session } = store.getSnapshot()
    try {
      return session ? await work(session) : undefined
    } finally {
      store.refresh()
    }
  }
  return {
    toggleMicrophone: () => attempt(toggleMicrophone),
    toggleSound: () => {
      const { session } = store.getSnapshot()
      if (session) toggleSound(session)
      store.refresh()
    },
    startPlayback: async () => (await attempt((session) => session.startPlayback())) ?? false,
  }
}

// --- Options

/** Splits the options of a hook into those of the session and those that select the agent. Throws `bad_request` for unknown ones. */
function split(options: Access & Targets & { [Name in keyof Life<unknown>]?: unknown }): { settings: Settings; place: Access } {
  const { widgetId, token, init, agenticUrl, genieUrl, ovpUrl, videoEl, audioEl, autoConnect, onSession, createSession, ...settings } = options
  checkNames(settings, sessionOptions)
  return { settings, place: { widgetId, token, init, agenticUrl, genieUrl, ovpUrl, ...pick(settings, "region"), ...pick(settings, "allowInsecureTransport") } }
}

const pick = (from: Settings, name: string) => (from[name] === undefined ? {} : { [name]: from[name] })

/** What a session needs to connect. */
async function initOf(place: Access, request: (options: AppInitOptions) => Promise<AppInitResult>, signal: AbortSignal): Promise<object> {
  const { init, token, ...rest } = place
  if (init !== undefined) return knownReply(await valueOf(init))
  const given = { ...rest, token: await tokenTextOf(token), signal }
  return request(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as AppInitOptions)
}

function elementsOf({ videoEl, audioEl }: Targets): { videoEl: HTMLMediaElement | null; audioEl: HTMLMediaElement | null } {
  const elementOf = (target: Target | undefined) => (target && "current" in target ? target.current : (target ?? null))
  return { videoEl: elementOf(videoEl), audioEl: elementOf(audioEl) }
}
