// What the tests of warmup_test.go do in their pages.
import { diagnostics, load } from "/js/dist/index.js"
import { held, settled } from "./talk.js"

export async function aWorkerConnectsWithoutANetwork() {
  Object.defineProperty(navigator, "hardwareConcurrency", { value: 4 }) // with two cores there is no worker
  const said = []
  globalThis.Worker = class extends Worker {
    constructor(url, options) {
      super(url, options)
      this.addEventListener("message", ({data}) => said.push(data))
    }
  }
  await load()
  await settled(() => said.length === 2)
  return {said, held: {...held(), ...await diagnostics()}}
}
