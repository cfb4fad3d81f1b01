// @ts-nocheck: replaces functions of the browser by some with fewer forms
// Runs the worker whose address is the query, and tells the page what its program calls (profile.js).
const { instantiate } = WebAssembly
const { close } = globalThis
let counters = []
WebAssembly.instantiate = async (module, imports) => {
  if (imports?.rest) {
    const { missing } = imports.rest
    imports.rest = {
      missing: (f) => {
        postMessage({ missed: f })
        return missing(f)
      },
    }
  }
  const instance = await instantiate(module, imports)
  counters = Object.entries(instance.exports).filter(([name]) => name.startsWith("entered "))
  return instance
}
globalThis.close = () => {
  postMessage({ entered: counters.filter(([, { value }]) => value !== 0).map(([name]) => Number(name.slice("entered ".length))) })
  close()
}
const early = []
const keep = (event) => early.push(event.data)
addEventListener("message", keep)
await import(location.search.slice(1))
removeEventListener("message", keep)
for (const data of early) dispatchEvent(new MessageEvent("message", { data }))
