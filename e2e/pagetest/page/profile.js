// @ts-nocheck: replaces functions of the browser by some with fewer forms
// Tells the test what the programs for the page call: the functions that were entered until
// the second part of a program can be there, in programs that count them (make profile),
// and in other programs the functions that were missing before the second part was requested.
{
  // How long the second part takes on an ordinary line, in ms.
  const restMs = 500
  const { instantiate, compileStreaming } = WebAssembly
  const names = new WeakMap()
  WebAssembly.compileStreaming = async (source) => {
    const response = await source
    const module = await compileStreaming(response)
    const name = new URL(response.url).pathname.split("/").pop()
    names.set(module, name)
    const program = programs.find(({ rest }) => name.startsWith(rest))
    if (program) setTimeout(() => { report(); program.counters = [] }, restMs)
    return module
  }
  const programs = []
  const requested = new Set()
  const { fetch } = globalThis
  globalThis.fetch = (input, init) => {
    const [, program] = /\/(\w+)\.rest-/.exec(input instanceof Request ? input.url : input) ?? []
    if (program) requested.add(program)
    return fetch(input, init)
  }
  WebAssembly.instantiate = async (module, imports) => {
    const name = names.get(module)
    if (imports?.rest) {
      const { missing } = imports.rest
      imports.rest = {
        missing: (f) => {
          // While the second part is under way, a wait is what a split costs.
          if (!requested.has(name.replace(".wasm", ""))) called(JSON.stringify({ program: name, missed: f }))
          return missing(f)
        },
      }
    }
    const instance = await instantiate(module, imports)
    const counters = Object.entries(instance.exports).filter(([name]) => name.startsWith("entered "))
    if (counters.length > 0) programs.push({ name, counters, all: counters, rest: name.replace(".wasm", ".rest-") })
    return instance
  }
  const report = () => {
    for (const program of programs) {
      const entered = program.counters.filter(([, { value }]) => value !== 0)
      if (entered.length === 0) continue
      program.counters = program.counters.filter(([, { value }]) => value === 0)
      called(JSON.stringify({ program: program.name, entered: entered.map(([name]) => Number(name.slice("entered ".length))) }))
    }
  }
  globalThis.reportCalls = report
  // The same for the worker that connects beside the page.
  const { Worker } = globalThis
  globalThis.Worker = class extends Worker {
    constructor(url, options) {
      const watched = new URL(url, location).pathname.endsWith("/warmupworker.js")
      super(watched ? "/e2e/pagetest/page/profileworker.js?" + url : url, options)
      if (!watched) return
      this.addEventListener("message", (event) => {
        const { entered, missed } = event.data
        if (!entered && !missed) return
        event.stopImmediatePropagation()
        called(JSON.stringify({ program: "agentruntime.wasm", entered, missed }))
      })
    }
  }
  setInterval(report, 250)
  // After the listeners of the programs, which handle the end of the page.
  const { addEventListener } = EventTarget.prototype
  const last = () => report()
  // A visitor may leave at any time, and then nothing can be waited for: what is called now is counted again.
  addEventListener.call(window, "pagehide", () => {
    report()
    for (const program of programs) {
      for (const [, counter] of program.all) counter.value = 0
      program.counters = program.all
    }
  }, true)
  addEventListener.call(window, "pagehide", last)
  EventTarget.prototype.addEventListener = function (event, ...more) {
    addEventListener.call(this, event, ...more)
    if (event !== "pagehide" || this !== window) return
    removeEventListener(event, last)
    addEventListener.call(this, event, last)
  }
}
