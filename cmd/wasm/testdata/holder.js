// The value of this script is the facade's side of an agent session: agent_js_test.go.
(() => {
  const original = globalThis.fetch
  const holder = {
    /** @type {any[]} */
    attached: [],
    /** @type {any[]} */
    asked: [],
    attach(kind, methods) {
      let end
      /** @type {any} */
      const one = {kind, methods, events: [], state: methods.properties().state, released: false, ended: new Promise((resolve) => end = resolve)}
      holder.attached.push(one)
      return {
        dispatch: (events) => one.events.push(...events.filter((_, i) => i % 3 === 0)),
        release: () => { one.released = true; one.state = methods.properties().state; end() },
      }
    },
    restore: () => { globalThis.fetch = original },
  }
  globalThis.fetch = async (url, init) => {
    if (!String(url).startsWith("https://brain.example")) return original(url, init)
    const body = JSON.parse(new TextDecoder().decode(init.body))
    holder.asked.push(body)
    const segment = {type: "text", content: "You said: " + body.userMessage, threadId: body.threadId ?? "th-1", messageId: "m", isFinal: true}
    return new Response(JSON.stringify(segment) + "\n", {headers: {"content-type": "application/x-ndjson"}})
  }
  return holder
})()
