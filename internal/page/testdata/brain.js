// The value of this script is a service in place of the page's fetch: rig_js_test.go.
(() => {
  const requests = []
  const waiting = []
  const original = globalThis.fetch
  const brain = {
    requests,
    reply: ({path}) => path === "/assistant/converse" ? brain.stream() : brain.json({}),
    json: (value, status = 200) => new Response(JSON.stringify(value), {status, headers: {"content-type": "application/json"}}),
    stream() {
      return new Response(new ReadableStream({
        start: (controller) => { brain.feed = controller },
        cancel: () => { brain.cancelled = true },
      }), {headers: {"content-type": "application/x-ndjson", "x-request-id": "r-1"}})
    },
    say: (...segments) => {
      for (const s of segments) brain.feed.enqueue(new TextEncoder().encode(JSON.stringify(s) + "\n"))
    },
    sayTogether: (n) => {
      const lines = Array.from({length: n}, (_, i) => JSON.stringify({type: "text", content: "word " + i}) + "\n")
      brain.feed.enqueue(new TextEncoder().encode(lines.join("")))
    },
    close: () => brain.feed.close(),
    // Resolves when there are so many requests.
    asked: (n) => requests.length >= n ? Promise.resolve() : new Promise((resolve) => waiting.push({n, resolve})),
    restore: () => { globalThis.fetch = original },
  }
  globalThis.fetch = async (url, init) => {
    if (!String(url).startsWith("https://brain.example")) return original(url, init)
    const body = init.body ? JSON.parse(new TextDecoder().decode(init.body)) : undefined
    const request = {path: String(url).slice("https://brain.example".length), body, init}
    requests.push(request)
    for (const {n, resolve} of waiting) if (requests.length >= n) resolve()
    return brain.reply(request)
  }
  return brain
})()
