import type { Activity } from "./activity.js"

/** The texts of the parts around a session, in English. */
export const PART_LABELS = {
  agent: "Agent",
  you: "You",
  start: "Start the conversation",
  again: "Start again",
  controls: "Conversation",
  tap: "Hold to talk",
  tapping: "Listening…",
  sound: "Sound",
  unlock: "Turn the sound on",
  volume: "Volume",
  devices: "Devices",
  microphone: "Microphone",
  speaker: "Speaker",
  level: "Level of the microphone",
  stop: "Stop the answer",
  end: "End the conversation",
  log: "What was said",
  /** Below a text of the visitor. */
  unconfirmed: "This may not have arrived.",
  message: "Your message",
  placeholder: "Type a message",
  send: "Send",
  /** What the agent is doing. */
  activities: {
    connecting: "Connecting…",
    reconnecting: "Reconnecting…",
    paused: "Paused",
    ready: "Ready",
    listening: "Listening",
    hearing: "Hearing you",
    thinking: "Thinking…",
    speaking: "Speaking",
    writing: "Writing…",
    muted: "Your microphone is off",
    tapToTalk: "Hold the button to talk",
    over: "Over",
  } satisfies Record<Activity, string> as Record<Activity, string>,
}

/** The texts of the parts around a session. */
export type PartLabels = typeof PART_LABELS

/** Messages for visitors by the reason of `ended`. */
export const END_MESSAGES: Record<string, string> = {
  conversation_ended: "The agent ended the conversation.",
  disconnect: "The conversation is over.",
  idle_timeout: "The conversation ended because nothing was said.",
}

/** The message for the error that can mean that the other messages can't be downloaded. */
export const LOAD_FAILED = "A part of this page could not be loaded. Please reload it, and contact the site's owner if that does not help."
