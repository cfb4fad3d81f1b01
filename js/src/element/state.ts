import type { Activity } from "../ui/activity.js"
import type { Labels, Text } from "./labels.js"

/** How the agent answers. */
export type Mode = "face" | "text"

/** The phases of a conversation that is running or connecting. */
type OpenPhase = "connecting" | "live" | "reconnecting"

/** The phases without a conversation. */
export type ClosedPhase = "idle" | "ended" | "error"

/** Where an element is in a conversation. */
export type Phase = OpenPhase | ClosedPhase

/** A turn of a conversation: the visitor's words, or the agent's as Markdown. */
export interface Said {
  who: "user" | "agent"
  text: string
}

/** Everything that an element shows; each part draws what concerns it. */
export interface State {
  labels: Labels
  phase: Phase
  /** The modes that can be switched between; the conversation begins in the first. */
  modes: readonly Mode[]
  mode: Mode
  switching: boolean
  /** The sentence about the phase: an error, or how the conversation has ended. */
  message: Text | undefined
  /** The error of the phase is one that another attempt can't avoid. */
  permanent: boolean
  /** The notice that the visitor talks to a machine. */
  disclosure: Text
  /** The disclosure has to be confirmed. */
  gated: boolean
  poster: string | undefined
  /** What the agent says in writing before the first message, and questions to choose from. */
  greeting: string | undefined
  suggestions: readonly string[]
  /** The video had a picture in this conversation. */
  picture: boolean
  /** The picture was lost, and is being brought back. */
  missing: boolean
  /** The microphone's connection is being repaired. */
  unheard: boolean
  /** What the visitor should know of a conversation that goes on, e.g. that it ends soon. */
  hint?: Text | undefined
  captions: boolean
  /** The browser plays no sound before a click. */
  blocked: boolean
  sound: boolean
  /** `none` has no button. */
  microphone: "none" | "off" | "on"
  /** Why the microphone could not be used, until the visitor retries or dismisses it. */
  microphoneProblem: Text | undefined
  /** The agent is in tap-to-talk mode: a button opens the windows in which the microphone is used. */
  tapToTalk: boolean
  tapping: boolean
  /** How far the connect is, from 0: loading, connecting, waiting for the picture. */
  step: number
  /** What the agent is doing. */
  activity: Activity
  /** The agent answers or speaks. */
  busy: boolean
}

/** A part of an element. */
export interface Part {
  readonly root: HTMLElement
  /** Draws the state; it is called at every change. */
  show(state: State): void
}

/** What a visitor can do, whichever part offers it. */
export interface Actions {
  start(): void
  end(): void
  send(text: string): void
  stop(): void
  /** Loads early, when `preload` is `hover`. */
  approach(): void
  unlock(): void
  agree(): void
  toggleMicrophone(): void
  retryMicrophone(): void
  dismissMicrophone(): void
  toggleSound(): void
  toggleCaptions(): void
  switchMode(): void
}

const openPhases: Record<OpenPhase, true> = { connecting: true, live: true, reconnecting: true }

/** Whether a conversation is running or connecting. */
export function open({ phase }: State): boolean {
  return phase in openPhases
}

/** Whether a button has to turn on the sound of the face. */
export function silent({ blocked, mode, phase }: State): boolean {
  return blocked && mode === "face" && phase === "live"
}
