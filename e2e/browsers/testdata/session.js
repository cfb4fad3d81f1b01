// What the tests of session_test.go do in their pages. Each imports only what its browser can run.

export async function chat() {
  const {open} = await import("/e2e/chat/testdata/chat.js")
  const talk = await open()
  await talk.session.connect()
  const {text} = await talk.session.sendText("My name is Ada.")
  let streamed = ""
  for await (const {type, content} of talk.session.streamText("What is my name?")) if (type === "text") streamed += content
  await talk.session.sendText("Show me your sources.")
  const [widget] = talk.all("widget").filter(({sources}) => sources)
  talk.session.disconnect()
  await talk.until("sessionCompleted")
  return {text, streamed, widget: Object.keys(widget ?? {}).join(), order: talk.order.filter((name) => name.startsWith("stateChange"))}
}

export async function pictureVoiceAndTypedTurn() {
  const {open, picture} = await import("/e2e/avatar/testdata/talk.js")
  const {voice} = await import("/e2e/browsers/testdata/voice.js")
  const video = document.getElementById("video")
  const talk = await open({agent: "silent", videoEl: video})
  await talk.session.connect()
  const seen = await picture(video)
  await talk.until("transcript", ({type}) => type === "final") // of the opening
  const from = talk.now
  const before = await voice()
  const sent = await talk.session.speak("My name is Ada.")
  const {text} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"), from)
  const energy = (await voice()) - before
  talk.session.disconnect()
  await talk.until("sessionCompleted")
  return {picture: seen, sent, final: talk.texts("final", from).join(" "), told: text, energy}
}

export async function speechInterrupts() {
  const {open} = await import("/e2e/avatar/testdata/talk.js")
  // The browser's own test microphone has a steady tone, which is no speech.
  const noiseProcessor = async () => {
    /** @type {any} */
    const speech = new Audio("/e2e/testdata/speech.wav")
    speech.loop = true
    await speech.play()
    return speech.mozCaptureStream()
  }
  const talk = await open({agent: "silent", videoEl: document.getElementById("video"), noiseProcessor})
  await talk.session.connect()
  const from = talk.now
  await talk.session.speak("Tell me a long story.")
  await talk.until("avatarStartTalking", undefined, from)
  await talk.session.startMic()
  await talk.until("interrupted", undefined, from)
  const {text} = await talk.until("transcript", ({type}) => type === "user", from)
  const [{text: told}] = talk.all("avatarStopTalking", from)
  talk.session.disconnect()
  await talk.until("sessionCompleted")
  return {said: text, told}
}

export async function switchMode() {
  const {connect, picture} = await import("/e2e/agent/testdata/agent.js")
  const talk = await connect()
  await talk.session.sendText("My name is Sam.")
  await talk.session.switchMode("avatar")
  await picture(talk.session.transport.videoEl)
  const from = talk.now
  await talk.session.sendText("What is my name?")
  const spoken = await talk.spoken("name", from)
  await talk.session.switchMode("chat")
  const {text: again} = await talk.session.sendText("What did I say first?")
  talk.session.disconnect()
  await talk.until("ended")
  return {spoken, again, changes: talk.changes.filter((change) => change.startsWith("mode"))}
}

export async function leavingTellsTheService() {
  const {open} = await import("/e2e/avatar/testdata/talk.js")
  globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
  await talk.session.connect()
  await talk.until("transcript", ({type}) => type === "final")
  return talk.session.threadId
}

export async function avatarElement() {
  const {button, find, picture, place, record, seen, until} = await import("/e2e/element/testdata/element.js")
  const element = await place("agent-avatar", {agent: "silent", microphone: "click"})
  const talk = record(["avatarStopTalking", "sessionCompleted"])
  await until(() => seen("button[part~=start]"))
  button("start").click()
  await until(() => element.phase === "live" && seen("video"))
  const shown = await picture(find("video"))
  await element.send("My name is Ada.")
  const {text} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"))
  element.end()
  await talk.until("sessionCompleted")
  return {picture: shown, said: text, phase: element.phase}
}

export async function chatElement() {
  const {find, place, record, seen, until} = await import("/e2e/element/testdata/element.js")
  const element = await place("agent-chat")
  const talk = record(["sessionCompleted"])
  await element.send("My name is Ada.")
  await until(() => find("[part=log]").innerText.includes("Nice to meet you, Ada"))
  await element.send("What is a thread?")
  await until(() => seen(".sources"))
  const log = find("[part=log]").innerText
  element.end()
  await talk.until("sessionCompleted")
  return {log}
}
