// Uses that must not compile: `npm run check` fails when one of them does compile. Nothing
// here is run.
import { type AgentError, AgentSession, appInit, AvatarSession, ChatSession, converse, FATAL_ERROR_CODES, load, MIC_ERROR_CODES, visitor, type ErrorCode, type TurnWarning, type Warning, type WarningCode } from "../src/index.js"
import type * as chatEntry from "../src/chat.js"
import type * as compat from "../src/compat.js"
import type { Program } from "../src/core/program.js"
import type { ProgramObject } from "../src/core/programobject.js"
import type { AgentAvatarElement } from "../src/element.js"
import type { AvatarState, ChatState, Transcript } from "../src/generated/events.js"
import type { AgentMethods, AvatarMethods, ChatMethods } from "../src/generated/methods.js"
import { AgentAvatar, AgentChat, useAgentSession, useAvatarSession, useChatSession } from "../src/react.js"

export async function wrong(face: AvatarSession, chat: ChatSession, agent: AgentSession, either: AvatarSession | ChatSession, error: AgentError, element: AgentAvatarElement): Promise<void> {
  // --- Codes, reasons, states, phases

  // @ts-expect-error a code that does not exist
  if (error.code === "capacity_unavailible") return
  // @ts-expect-error in a switch too
  switch (error.code) { case "time_out": return } // prettier-ignore
  // @ts-expect-error a table by codes
  const texts: Partial<Record<ErrorCode, string>> = { tiemout: "too slow" }
  // @ts-expect-error a warning's code
  face.on("warning", ({ code }) => code === "playback_blokced")
  // @ts-expect-error what a warning is about
  face.on("warning", ({ kind }) => kind === "sound")
  // @ts-expect-error a reason of an end
  face.on("ended", ({ reason }) => reason === "dissconnect")
  // @ts-expect-error the same of a chat
  chat.on("ended", ({ reason }) => reason === "closed")
  // @ts-expect-error and of an agent session
  agent.on("ended", ({ reason }) => reason === "hang_up")
  // @ts-expect-error a state of connectivity
  face.on("connectivityChanged", ({ state }) => state === "conected")
  // @ts-expect-error a channel of it
  face.on("connectivityChanged", ({ channel }) => channel === "video")
  // @ts-expect-error the phase of a failed connect
  if (error.phase === "handshake") return
  // @ts-expect-error a phase of the timings
  void face.timings.firstPicture
  // @ts-expect-error of the event too
  face.on("connectTimings", ({ first_frame }) => first_frame)
  // @ts-expect-error a phase that was not reached has no time
  void (face.timings.firstFrame + 1)
  // @ts-expect-error a state of the session
  if (face.state === "open") return
  // @ts-expect-error what is wrong with the microphone
  if (MIC_ERROR_CODES.includes("mic_denied")) return

  // --- Events

  // @ts-expect-error the payload of another event
  face.on("stateChange", (state: string) => state)
  // @ts-expect-error an event that does not exist
  face.on("transcripts", () => {})
  // @ts-expect-error an event of another kind of session
  chat.on("micStarted", () => {})
  // @ts-expect-error a field that the payload lacks
  face.on("transcript", ({ content }) => content)
  // @ts-expect-error a type of transcript
  face.on("transcript", ({ type }) => type === "whole")
  // @ts-expect-error also when it is awaited
  await face.next("ready")
  // @ts-expect-error or iterated over
  face.stream("mediaready")

  // --- Options

  // @ts-expect-error neither token nor ks
  void new AvatarSession({ videoEl: null })
  // @ts-expect-error of a chat too
  void new ChatSession({ region: "nvp1" })
  // @ts-expect-error and of an agent session
  void new AgentSession({ mode: "chat" })
  // @ts-expect-error the regions are a closed set
  void new AvatarSession({ token: "t", region: "moon" })
  // @ts-expect-error of the addresses too
  await appInit({ token: "t", region: "moon" })
  // @ts-expect-error a time limit that does not exist
  void new AvatarSession({ token: "t", timeouts: { forever: 1 } })
  // @ts-expect-error returning is for single turns
  void new ChatSession({ token: "t", onErrorSegment: "return" })
  // @ts-expect-error an option that does not exist
  void new AvatarSession({ token: "t", videoElement: null })
  // @ts-expect-error a value that the option does not have
  void new AvatarSession({ token: "t", micStartMode: "later" })
  // @ts-expect-error an unknown capability
  void new ChatSession({ token: "t", capabilities: { fly: "on" } })
  // @ts-expect-error an element by its selector
  void new AvatarSession({ token: "t", videoEl: "#video" })
  // @ts-expect-error one of two modes
  void new AgentSession({ token: "t", mode: "video" })
  // @ts-expect-error neither a widget nor a token
  await appInit({ region: "nvp1" })
  // @ts-expect-error a program that does not exist
  await load({ program: "avatar" })
  // @ts-expect-error a turn without a message
  converse({ token: "t" })

  // --- Methods

  // @ts-expect-error an argument that the schema does not have
  face.onToolCall("open", ({ args }) => args.pgae, { page: { type: "str", required: true } })
  // @ts-expect-error an argument that may be missing
  face.onToolCall("go", ({ args }) => args.steps.toFixed(), { steps: { type: "int" } })
  // @ts-expect-error an answer in text, of whatever mode the session is in
  void (await agent.sendText("Hi")).text
  // @ts-expect-error the avatar's answer is whether it was sent
  void (await agent.sendText("Hi", { mode: "avatar" })).text
  // @ts-expect-error a value that the argument can't have
  face.onToolCall("open", ({ args }) => args.page === "shop", { page: { type: "str", enum: ["home", "prices"] } })
  // @ts-expect-error a type that arguments don't have
  chat.onToolCall("open", () => {}, { page: { type: "string" } })
  // @ts-expect-error a hint that does not exist
  void chat.sendText("Hi", { forceExperience: "table" })
  // @ts-expect-error there are two modes
  void agent.switchMode("video")
  // @ts-expect-error a chat has no microphone
  agent.on("transportChanged", ({ mode, transport }) => mode === "chat" && transport.startMic())
  // @ts-expect-error a property that is read only
  face.state = "connected"
  // @ts-expect-error a chat does not speak
  await chat.speak("Hello")

  // --- One of two kinds of session

  // @ts-expect-error an event that only one of them has
  either.on("micStarted", () => {})
  // @ts-expect-error a field that the payload lacks
  either.on("transcript", ({ content }) => content)
  // @ts-expect-error a state that neither has
  either.once("stateChange", ({ state }) => state === "open")
  // @ts-expect-error also when it is awaited
  await either.next("mediaReady")
  // @ts-expect-error or iterated over
  either.stream("mediaReady")
  // @ts-expect-error or removed
  either.off("mediaReady", () => {})

  // --- React

  // @ts-expect-error a hook that does not know its agent
  useAvatarSession({})
  // @ts-expect-error nor with options
  useChatSession({ region: "nvp1", autoConnect: true })
  // @ts-expect-error of every kind
  useAgentSession({ mode: "chat" })
  // @ts-expect-error an option that does not exist
  useAvatarSession({ widgetId: "w", videoElement: null })
  // @ts-expect-error an option of another kind of session
  useChatSession({ widgetId: "w", videoEl: null })
  // @ts-expect-error a typo in modes
  AgentAvatar({ widgetId: "w", modes: "fcae" })
  // @ts-expect-error in an array too
  AgentAvatar({ widgetId: "w", modes: ["face", "txt"] })
  // @ts-expect-error a value that preload does not have
  AgentChat({ widgetId: "w", preload: "always" })
  // @ts-expect-error nor microphone
  AgentAvatar({ widgetId: "w", microphone: "clik" })
  // @ts-expect-error nor captions
  AgentAvatar({ widgetId: "w", captions: false })
  // @ts-expect-error an option in the element's options
  AgentChat({ widgetId: "w", options: { threadid: "t" } })

  // --- Elements

  // @ts-expect-error a typo in modes
  element.modes = "face, text"
  // @ts-expect-error a value that microphone does not have
  element.microphone = "on"
  // @ts-expect-error an option that does not exist
  element.options = { disclosureTxt: "An AI" }

  // --- Names that are no options, beside those that are needed

  // @ts-expect-error
  void new ChatSession({ token: "t", capabilites: {} })
  // @ts-expect-error
  void new AgentSession({ token: "t", videoEl: null })
  // @ts-expect-error
  void new AgentSession({ token: "t", chat: { onErorSegment: "warn" } })
  // @ts-expect-error
  void new AvatarSession({ token: "t", agentActions: { navigte: "off" } })
  // @ts-expect-error
  await appInit({ widgetId: "w", genieURL: "https://genie.example" })
  // @ts-expect-error
  converse({ token: "t", userMessage: "Hi", modelTyp: "fast" })
  // @ts-expect-error
  visitor({ token: "t", gneieUrl: "https://genie.example" })

  // --- Handlers of tools in the form of agentruntime/compat

  // @ts-expect-error the arguments and the call
  face.onToolCall("open", (args: { page: string }, call: object) => [args, call])
  // @ts-expect-error the arguments in place of the call
  chat.onToolCall("open", (args) => args.page)
  // @ts-expect-error the same, taken apart
  agent.onToolCall("open", ({ page }) => page)
  // @ts-expect-error the same, with a schema
  face.onToolCall("open", ({ page }) => page, { page: { type: "str", required: true } })
}

/** Calls of the Go program, whose methods the generator names (js/src/generated/methods.ts). */
export async function wrongCalls(face: ProgramObject<AvatarMethods>, chat: ProgramObject<ChatMethods>, agent: ProgramObject<AgentMethods>, program: Program, error: AgentError): Promise<void> {
  // @ts-expect-error a name that is misspelt
  face.callSync("unmut")
  // @ts-expect-error of a method that returns a promise
  await face.call("startMicrophone", undefined)
  // @ts-expect-error of one that returns a sequence
  chat.stream("streamTexts", undefined)
  // @ts-expect-error a method that returns at once, awaited
  await face.call("mute", undefined)
  // @ts-expect-error and the other way round
  face.callSync("startMic")
  // @ts-expect-error a method of another kind of session
  chat.callSync("mute")
  // @ts-expect-error of the transport's
  agent.callSync("interrupt")
  // @ts-expect-error calls to be withdrawn
  face.withdraw("prepared", error)
  // @ts-expect-error a call without a session
  await program.call((go) => go.threadsList(undefined))
  // These are right.
  face.callSync("setToken", "t")
  face.withdraw("prepare", error)
  await agent.call("switchMode", undefined, "chat")
  chat.stream("streamText", undefined, "hi")
  await program.call((go) => go.threadList(undefined))
}

/** Compiles only with true for two types that are the same: string is not the same as a union that includes it. */
declare function equal<A, B>(same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void

/** The correct counterparts, which show that the wrong uses do not fail for another reason. */
export async function right(face: AvatarSession, chat: ChatSession, agent: AgentSession, either: AvatarSession | ChatSession, all: AvatarSession | ChatSession | AgentSession, error: AgentError, element: AgentAvatarElement): Promise<void> {
  if (error.code === "capacity_unavailable" && error.phase === "join") return
  equal<AgentError["code"], ErrorCode>(true)
  equal<chatEntry.ErrorCode, ErrorCode>(true)
  equal<Warning["code"] | TurnWarning["code"], WarningCode>(true)
  equal<compat.WarningCode, WarningCode>(true)
  equal<Extract<"playback_blocked", ErrorCode>, never>(true)
  FATAL_ERROR_CODES satisfies readonly ErrorCode[]
  const init = { ks: "t", kind: "widget" as const, genieUrl: "https://x.example", avatars: [], turnCredentials: { username: "u", credential: "c" } }
  void [new AvatarSession({ ...init, videoEl: null }), new ChatSession({ ...init, onErrorSegment: "warn" }), new AgentSession({ ...init, mode: "chat", avatar: { videoEl: null }, chat: { onErrorSegment: "warn" } })]
  agent.on("transportChanged", (change) => void (change.mode === "avatar" ? change.transport.startMic() : change.transport.sendText("Hi")))
  chat.on("widget", ({ followups, flashcards }) => void [followups?.questions[0], flashcards?.cards[0]?.front])
  void chat.sendText("Hi").then(({ text, toolCalls, widgets }) => void [text, toolCalls[0]?.args["page"], widgets[0]?.runtime])
  face.on("warning", ({ code, kind }) => code === "playback_blocked" && kind === "audio")
  face.on("ended", ({ reason }) => reason === "disconnect" || reason === "reconnect_failed")
  face.on("ended", ({ reason }) => String(reason) === "what the page gave")
  face.on("connectivityChanged", ({ channel, state }) => channel === "socket" && state === "reconnect_retry")
  const { firstFrame = 0 } = face.timings
  void (firstFrame + 1)
  face.onToolCall("open", ({ args: { page, steps, why } }) => [page === "home", steps?.toFixed(), why], {
    page: { type: "str", required: true, enum: ["home", "prices"] },
    steps: { type: "int" },
    why: {},
  })
  chat.onToolCall("any", ({ args, toolMetadata }) => [args["whatever"], toolMetadata.id])
  void (await agent.sendText("Hi", { mode: "chat" })).text
  const sent: boolean = await agent.sendText("Hi", { mode: "avatar" })
  const answer = await agent.sendText("Hi")
  void [sent, typeof answer === "object" ? answer.text : answer]
  either.on("transcript", (transcript) => equal<typeof transcript, Transcript>(true))
  either.once("stateChange", ({ state }) => equal<typeof state, AvatarState | ChatState>(true))
  either.off("transcript", ({ text }: Transcript) => text)
  all.on("ended", ({ reason }) => reason === "disconnect")
  equal<Transcript, Awaited<ReturnType<typeof either.next<typeof either, "transcript">>>>(true)
  for await (const { text } of all.stream("transcript")) text.trim()
  // What only listens needs no more of a session.
  const part: Pick<ChatSession, "on"> = chat
  part.on("transcript", ({ text }) => text.trim())
  const like: { on(event: "transcript", listener: (payload: { text: string }) => void): unknown } = face
  void like
  useAvatarSession({ widgetId: "w", region: "frp2", autoConnect: true, videoEl: { current: null }, micStartMode: "deferred" })
  useChatSession({ token: async () => "t", onErrorSegment: "warn" })
  useAgentSession({ init: async () => ({ ks: "t" }), mode: "chat", avatar: { micStartMode: "deferred" } })
  for (const modes of ["face", "text", "face text", "text face", ["face", "text"], undefined] as const) AgentAvatar({ widgetId: "w", modes, preload: "hover", microphone: "none", captions: "off" })
  element.modes = ["text", "face"]
  element.modes = null
  element.preload = "auto"
}
