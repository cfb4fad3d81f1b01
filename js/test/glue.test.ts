import assert from "node:assert/strict"
import { test } from "node:test"
import { glueModule } from "../glue.mjs"

const original = `
	if (!globalThis.fs) { globalThis.fs = { writeSync() {} } }
	if (!globalThis.process) { globalThis.process = {} }
	if (!globalThis.path) { globalThis.path = {} }
	globalThis.Go = class { write(fd, b) { fs.writeSync(fd, b) } global() { return globalThis } }
`

test("the globals of wasm_exec.js become properties of the glue object", () => {
  const text = glueModule(original)
  assert.doesNotMatch(text, /globalThis\.(Go|fs|process|path)/)
  assert.match(text, /\{ glue\.fs\.writeSync\(fd, b\) \}/)
  assert.match(text, /return globalThis \}/)
})

test("a changed wasm_exec.js fails the build", () => {
  assert.throws(() => glueModule(original + "globalThis.fs = null"), /refers to globalThis\.fs 3 times, not 2/)
  assert.throws(() => glueModule(original.replace("globalThis.path = {}", "")), /refers to globalThis\.path 1 times, not 2/)
  assert.throws(() => glueModule(original + "process.exit()"), /uses process\.exit/)
})
