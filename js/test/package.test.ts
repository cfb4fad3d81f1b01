import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib"
import * as chat from "../dist/chat.js"
import * as compat from "../dist/compat.js"
import * as main from "../dist/index.js"
import { AgentError, appInit, version } from "../dist/index.js"

const root = new URL("../../", import.meta.url) // of the package, seen from the bundled test
const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8"))

test("importing in node does nothing and does not throw", () => {
  assert.equal(version, manifest.version)
  for (const name of ["Go", "fs", "path", "window"]) assert.equal(name in globalThis, false, name)
})

/** A directory that is removed when the tests, or those of a test, have ended. */
function temporary(name: string, ended: { after(react: () => void): void } = { after }): string {
  const dir = mkdtempSync(join(tmpdir(), `agentruntime-${name}-`))
  ended.after(() => rmSync(dir, { recursive: true }))
  return dir
}

/** The package as it is published: its tarball, and a folder with what is in it. */
const published = (() => {
  const dir = temporary("packed")
  const packed = spawnSync("npm", ["pack", "--silent", "--pack-destination", dir], { cwd: root, encoding: "utf8", shell: process.platform === "win32" })
  assert.equal(packed.status, 0, packed.stderr)
  const tarball = join(dir, packed.stdout.trim())
  const unpacked = spawnSync("tar", ["-xzf", tarball, "-C", dir], { encoding: "utf8" })
  assert.equal(unpacked.status, 0, unpacked.stderr)
  return { tarball, dir: join(dir, "package") }
})()

/** The names of the text files in the package. */
const files = readdirSync(published.dir, { recursive: true }).map((name) => String(name).replaceAll("\\", "/")).filter((name) => /\.(ts|js|map|json|md)$/.test(name))
const textOf = (name: string) => readFileSync(join(published.dir, name), "utf8")

test("the package has its licence and README, each program once, and nothing of the examples", () => {
  const names = readdirSync(published.dir, { recursive: true }).map((name) => String(name).replaceAll("\\", "/"))
  for (const name of ["LICENSE", "README.md", "package.json", "dist/index.js", "dist/index.d.ts", "dist/chat.wasm", "dist/agentruntime.wasm", "compress.mjs", "dist/THIRD-PARTY-NOTICES.txt"]) {
    assert.ok(names.includes(name), name)
  }
  assert.deepEqual(names.filter((name) => name.includes("example") || /\.(br|gz)$/.test(name)), [])
  const size = statSync(published.tarball).size
  assert.ok(size < 5_000_000, `the tarball has ${size} bytes`)
  for (const name of ["LICENSE", "README.md"]) assert.equal(existsSync(new URL(name, root)), false, `${name} was left behind`)
})

/** Runs a command of a development dependency. */
function tool(path: string, ...args: string[]): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [fileURLToPath(new URL("node_modules/" + path, root)), ...args], { cwd: root, encoding: "utf8" })
}

test("publint finds nothing in the package", () => {
  const { status, stdout } = tool("publint/src/cli.js", "--strict", published.tarball)
  assert.equal(status, 0, stdout)
  assert.match(stdout, /All good!/)
})

test("every way of TypeScript to resolve modules finds the types of every entry", () => {
  // Modules are all that the package has: CommonJS gets them by import().
  const { status, stdout } = tool("@arethetypeswrong/cli/dist/index.js", "--ignore-rules", "cjs-resolves-to-esm", "--exclude-entrypoints", "ui.css", "--format", "ascii", published.tarball)
  assert.equal(status, 0, stdout)
  for (const entry of Object.keys(manifest.exports).filter((name) => !name.endsWith(".css"))) assert.ok(stdout.includes(JSON.stringify(entry.replace(/^\./, "agentruntime"))), entry)
})

test("the command of the package compresses a site, and says what is wrong", (t) => {
  const site = temporary("site", t)
  const run = (...args: string[]) => spawnSync(process.execPath, [join(published.dir, "compress.mjs"), ...args], { encoding: "utf8" })
  const program = randomBytes(2000).toString("hex")
  mkdirSync(join(site, "assets"))
  writeFileSync(join(site, "assets", "chat.wasm"), program)
  writeFileSync(join(site, "assets", "photo.png"), program)
  writeFileSync(join(site, "small.js"), "export {}\n")
  writeFileSync(join(site, "assets", "chat.wasm.br"), "of another build")
  const { status, stdout, stderr } = run("compress", site)
  assert.equal(status, 0, stderr)
  assert.match(stdout, /chat\.wasm: 4000 bytes, \d+ with gzip, \d+ with brotli/)
  assert.deepEqual(readdirSync(site, { recursive: true }).map(String).filter((name) => /\.(br|gz)$/.test(name)).sort(), ["chat.wasm.br", "chat.wasm.gz"].map((name) => join("assets", name)))
  assert.equal(brotliDecompressSync(readFileSync(join(site, "assets", "chat.wasm.br"))).toString(), program)
  assert.equal(gunzipSync(readFileSync(join(site, "assets", "chat.wasm.gz"))).toString(), program)
  for (const [args, said] of [[["compress", join(site, "none")], /there is no folder/], [["compress"], /usage/], [["pack", site], /usage/], [["compress", site + "/assets/photo.png"], /there is no folder/]] as const) {
    const wrong = run(...args)
    assert.notEqual(wrong.status, 0)
    assert.match(wrong.stderr, said)
  }
})

test("the package says where it is from, and links lead there", () => {
  const repository = "https://github.com/agentruntime/agentruntime"
  for (const address of [manifest.homepage, manifest.bugs, manifest.repository.url]) assert.ok(address.includes(repository), address)
  const links = files.flatMap((name) => {
    const text = textOf(name)
    if (name === "README.md") assert.doesNotMatch(text, /\]\((?!https?:|#)/, "a link leads to what is not in the package")
    else if (name.endsWith(".d.ts")) assert.doesNotMatch(text, /(?<!main\/)docs\/\w+\.md/, `${name} names a document without its address`)
    return [...text.matchAll(/agentruntime\/(?:blob|tree|raw)\/main\/([\w./-]*\w)/g)].map(([, path]) => path!)
  })
  assert.ok(links.length > 20, `${links.length} links were checked`)
  for (const path of links) assert.ok(existsSync(new URL("../" + path, root)), `${repository} has no ${path}`)
})

test("the package names no document that its users don't have, and no address of this repository's server", () => {
  for (const name of files) {
    if (name.endsWith(".d.ts")) assert.doesNotMatch(textOf(name), /Uint8Array</, `${name}: TypeScript has this generic type since 5.7, and 5.2 is promised`)
    const named = /(?:protocol|session) (?:§|Appendix)|(?<![\w/-])service\.md|management-api|\/js\/dist\//.exec(textOf(name))
    assert.equal(named?.[0], undefined, name)
  }
})

test("a strict page of ES2022 can use the types", (t) => {
  const page = temporary("types", t)
  const modules = Object.values<{ default?: string }>(manifest.exports).flatMap(({ default: file }) => (file?.endsWith(".js") ? [file] : []))
  assert.ok(modules.length >= 5)
  const use = modules.map((name, at) => `export * as all${at} from ${JSON.stringify(fileURLToPath(new URL(name, root)))}\n`).join("") +
    `import { AgentSession } from ${JSON.stringify(fileURLToPath(new URL("dist/index.js", root)))}\nexport const leave = (session: AgentSession): Promise<void> => session.dispose()\n`
  writeFileSync(join(page, "use.ts"), use)
  const tsc = fileURLToPath(new URL("node_modules/typescript/bin/tsc", root))
  const strict = "--noEmit --strict --skipLibCheck false --target es2022 --module es2022 --moduleResolution bundler --lib es2022,dom,dom.iterable"
  const checked = spawnSync(process.execPath, [tsc, ...strict.split(" "), "use.ts"], { cwd: page, encoding: "utf8" })
  assert.equal(checked.stdout + checked.stderr, "")
})

test("a project has the types of the style sheet and of the tags, in each framework", (t) => {
  const project = temporary("project", t)
  const modules = join(project, "node_modules")
  mkdirSync(join(modules, "@types"), { recursive: true })
  cpSync(published.dir, join(modules, "agentruntime"), { recursive: true, filter: (name) => !/\.(wasm|gz|br|map)$/.test(name) })
  for (const name of ["react", "@types/react", "svelte", "vue"]) symlinkSync(fileURLToPath(new URL("node_modules/" + name, root)), join(modules, name), "junction")
  const tsc = fileURLToPath(new URL("node_modules/typescript/bin/tsc", root))
  const strict = "--noEmit --strict --skipLibCheck --noUncheckedSideEffectImports --target es2022 --lib es2022,dom,dom.iterable --jsx react-jsx --types"
  /** Compiles each text as a module, and returns the errors of each: all see the declarations that one of them imports. */
  const errorsOf = (resolution: string[], ...texts: string[]) => {
    const names = texts.map((_, i) => `use${i}.tsx`)
    texts.forEach((text, i) => writeFileSync(join(project, names[i]!), text))
    const { stdout } = spawnSync(process.execPath, [tsc, ...strict.split(" "), "", ...resolution, ...names], { cwd: project, encoding: "utf8" })
    return names.map((name) => stdout.split(/\n(?=\S)/).filter((error) => error.startsWith(name)).join("\n"))
  }
  const page = `import "agentruntime/element"\nimport "agentruntime/ui.css"\n`
  const tags = `export const Page = () => <><agent-avatar widget-id="w" modes="face text" /><agent-chat preload="hover" /></>\n`
  const svelte = `/// <reference types="agentruntime/svelte" />\nimport type { SvelteHTMLElements } from "svelte/elements"\nexport const chat: SvelteHTMLElements["agent-chat"] = { modes: `
  const vue = `/// <reference types="agentruntime/vue" />\nimport type { GlobalComponents } from "vue"\nexport const chat: InstanceType<GlobalComponents["agent-chat"]>["$props"] = { modes: `
  for (const resolution of [["--module", "es2022", "--moduleResolution", "bundler"], ["--module", "nodenext"]]) {
    writeFileSync(join(project, "package.json"), `{"type": "module"}`)
    assert.match(errorsOf(resolution, page + tags)[0]!, /Property 'agent-avatar' does not exist[\s\S]*Property 'agent-chat' does not exist/, "without a declaration")
    assert.deepEqual(errorsOf(resolution, page + `import "agentruntime/react"\n` + tags), [""], "react")
    const [jsx, ...rest] = errorsOf(resolution, page + `import "agentruntime/jsx"\n` + tags, `export const Page = () => <agent-avatar modes="fcae" />\n`,
      svelte + `"text" }\n`, svelte + `"txt" }\n`, vue + `"text" }\n`, vue + `"txt" }\n`)
    assert.equal(jsx, "", "jsx")
    for (const [i, wrong] of [/"fcae"/, undefined, /"txt"/, undefined, /"txt"/].entries()) {
      if (wrong) assert.match(rest[i]!, wrong)
      else assert.equal(rest[i], "")
    }
  }
})

test("projects of Preact and of Solid have the types of the tags, and may check those of the package", (t) => {
  const tsc = fileURLToPath(new URL("node_modules/typescript/bin/tsc", root))
  const tags = (event: string) => `import "agentruntime/element"
export const Page = () => <><agent-avatar widget-id="w" modes="face text" labels={{ start: "Begin" }} ${event}={({ detail }) => detail.phase === "live"} /><agent-launcher greet="Hello" /></>
export const wrong = () => <agent-chat modes="fcae" />
`
  const react = { react: ["./node_modules/preact/compat/"], "react/jsx-runtime": ["./node_modules/preact/jsx-runtime"] }
  const hook = `import { AgentAvatar } from "agentruntime/react"\nexport const Agent = () => <AgentAvatar widgetId="w" />\n`
  for (const [name, jsx, text] of [["preact", { jsx: "react-jsx", paths: react }, hook + tags("onphaseChange")], ["solid-js", { jsx: "preserve" }, `import "agentruntime/solid"\n` + tags("on:phaseChange")]] as const) {
    const project = temporary("tags", t)
    const modules = join(project, "node_modules")
    mkdirSync(modules)
    cpSync(published.dir, join(modules, "agentruntime"), { recursive: true, filter: (name) => !/\.(wasm|gz|br|map)$/.test(name) })
    symlinkSync(fileURLToPath(new URL("node_modules/" + name, root)), join(modules, name), "junction")
    writeFileSync(join(project, "use.tsx"), text)
    const compilerOptions = { strict: true, skipLibCheck: false, noEmit: true, target: "es2022", module: "es2022", moduleResolution: "bundler", lib: ["es2022", "dom", "dom.iterable"], types: [], jsxImportSource: name, ...jsx }
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["use.tsx"] }))
    const { stdout } = spawnSync(process.execPath, [tsc, "-p", "."], { cwd: project, encoding: "utf8" })
    const [wrong, ...others] = stdout.split(/\n(?=\S)/)
    assert.match(wrong!, /^use\.tsx\(\d.*"fcae"/, name)
    assert.deepEqual(others.filter(Boolean), [], name)
  }
})

test("classes have their names", () => {
  for (const kind of [main.AgentError, main.AgentSession, main.AvatarSession, main.ChatSession]) assert.ok(main[kind.name as "ChatSession"] === kind, kind.name)
})

test("each wasm and its compressed forms are beside the modules", () => {
  for (const name of ["agentruntime.wasm", "chat.wasm"]) {
    for (const form of ["", ".gz", ".br"]) assert.ok(existsSync(new URL("dist/" + name + form, root)), name + form)
  }
})

test("every entry has the same classes and the same runtime", () => {
  for (const name of ["AgentError", "Emitter", "ChatSession", "converse", "converseOnce", "visitor", "dispose", "diagnostics", "version"] as const) assert.equal(chat[name], main[name], name)
  assert.deepEqual(["AvatarSession" in chat, "AgentSession" in chat], [false, false])
  const { KalturaAgentSession, KalturaAvatarSession, KalturaChatSession, KalturaError } = compat
  for (const [Compat, Own] of [[KalturaAgentSession, main.AgentSession], [KalturaAvatarSession, main.AvatarSession], [KalturaChatSession, main.ChatSession]] as const) {
    assert.ok(Compat.prototype instanceof Own)
  }
  assert.equal(KalturaError, main.AgentError)
  for (const [name, value] of Object.entries(main)) assert.equal(compat[name as "AgentError"], value, name)
})

const distText = (name: string) => readFileSync(new URL(`dist/${name}`, root), "utf8")

/** The modules that a built one imports from the beginning, with itself; `later` adds those that are imported by calls. */
function importsOf(module: string, later = false): string[] {
  const names = new Set([module])
  for (const name of names) {
    for (const [, found] of distText(name).matchAll(later ? /"(?:\.\.?\/)+([^"]+\.js)"/g : /(?:from|import)"(?:\.\.?\/)+([^"]+)"/g)) names.add(found!)
  }
  return [...names]
}

const zipped = (names: string[]) => names.reduce((sum, name) => sum + gzipSync(distText(name)).length, 0)

for (const [module, element, most, absent] of [["element", "AgentAvatarElement", 17_500, ["index.js", "chat.js"]], ["launcher", "AgentLauncherElement", 9_000, ["element.js"]]] as const) {
  test(`${module}.js is small before it is used, and defines its element only in a page`, async () => {
    // By its address, because its types and those of the source would declare the same tags.
    const { [element]: type } = (await import(new URL(`dist/${module}.js`, root).href)) as Record<string, unknown>
    assert.equal(typeof type, "function")
    const names = importsOf(`${module}.js`)
    assert.ok(names.length > 1 && !absent.some((name) => names.includes(name)), names.join(" "))
    // It varies by some bytes between builds: the names of chunks are checksums.
    assert.ok(zipped(names) < most, `${zipped(names)} bytes`)
  })
}

test("a part is downloaded by nobody who does not import it, and needs no program", () => {
  // A text that only the part has.
  const parts = { presenter: "kaltura_presenter_memory", navigator: "either manifest or manifestUrl", scripted: "whepUrl must be", chroma: "webgl2", noise: "kaltura-noise-gate", analytics: "analytics.kaltura.com", "testing/fakes": "throwToNoAgent", replay: "the recording can't be read" }
  for (const [name, mark] of Object.entries(parts)) {
    for (const entry of ["index", "chat", "element", "react", "ui", "testing"]) assert.ok(importsOf(`${entry}.js`).every((module) => !distText(module).includes(mark)), `${entry} has ${name}`)
    const own = importsOf(`${name}.js`, true)
    assert.ok(own.some((module) => distText(module).includes(mark)), name)
    assert.ok(own.every((module) => !distText(module).includes(".wasm")), `${name} has a program`)
    assert.ok(zipped(own) < 15_000, `${name} is ${zipped(own)} bytes`)
  }
})

/** A page that imports some names of a module, as a bundler makes it. */
async function bundled(module: string, name: string): Promise<string> {
  const contents = `export { ${name} } from "./dist/${module}.js"`
  const { outputFiles } = await build({ stdin: { contents, resolveDir: fileURLToPath(root) }, bundle: true, format: "esm", minify: true, write: false, logLevel: "error", external: ["react"] })
  return outputFiles[0]!.text
}

test("a page carries Markdown only when it shows some", async () => {
  const bytesOf = async (name: string) => gzipSync(await bundled("ui", name)).length
  for (const name of ["Captions", "SpokenTranscript", "WidgetList"]) assert.ok((await bytesOf(name)) < 10_000, name)
  assert.ok((await bytesOf("renderMarkdown")) > 30_000)
})

test("a part around a session brings no other part", async () => {
  // A text that only the part has; what contains another part by design is left out.
  const marks = { AgentState: "agent-state", Composer: "agent-composer", ControlBar: "agent-control-bar", DeviceSelect: "agent-devices", Transcript: "agent-transcript", VoiceBars: "agent-bars" }
  const react = readFileSync(new URL("src/react.ts", root), "utf8")
  for (const [, name] of react.matchAll(/export \{ (\w+),.* from "\.\/react\/parts\//g)) assert.ok(name! in marks, `${name} is a part that has no mark here: name the class of its element`)
  const within: Record<string, readonly string[]> = { AgentState: ["VoiceBars"], ControlBar: ["DeviceSelect"] }
  for (const module of ["ui", "react"]) {
    for (const [name, mark] of Object.entries(marks)) {
      const text = await bundled(module, name)
      const found = Object.entries(marks).flatMap(([other, mark]) => (text.includes(mark) ? [other] : []))
      assert.ok(text.includes(mark), `${module} ${name}`)
      assert.deepEqual(found.sort(), [name, ...(within[name] ?? [])].sort(), `${module}: ${name}`)
      assert.ok(!text.includes(".wasm"), `${module}: ${name} brings a program`)
      const bytes = gzipSync(text).length
      assert.ok(bytes < 10_000, `${module}: ${name} is ${bytes} bytes`)
    }
  }
})

test("no entry leaves files of an earlier build behind", () => {
  const entries = Object.values<{ default?: string }>(manifest.exports).flatMap(({ default: file }) => (file?.endsWith(".js") ? file.replace("./dist/", "") : []))
  const found = readdirSync(new URL("dist/", root), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"))
  assert.deepEqual(found.sort(), [...new Set(entries.flatMap((name) => importsOf(name, true)))].sort())
})

test("the chat entry does not have the address of agentruntime.wasm", () => {
  const text = importsOf("chat.js", true).map(distText).join("")
  assert.match(text, /chat\.wasm/)
  assert.doesNotMatch(text, /agentruntime\.wasm/)
})

test("the chat finds its program in node, and takes one that is given", async () => {
  await chat.load()
  assert.ok((await chat.diagnostics()).goroutines > 0)
  await chat.dispose()
  await chat.load({ wasmModule: await WebAssembly.compile(readFileSync(new URL("dist/chat.wasm", root))) })
  const session = new chat.ChatSession({ token: "t", genieUrl: "https://genie.invalid" })
  await session.connect()
  assert.equal((await chat.diagnostics()).sessions, 1)
  session.disconnect()
  await chat.dispose()
  assert.equal((await chat.diagnostics()).sessions, 0)
  await assert.rejects(chat.load({ wasmUrl: new URL("none.wasm", root) }), (error) => error instanceof chat.AgentError && error.code === "load_failed" && /none\.wasm cannot be read/.test(error.message))
})

test("appInit with an aborted signal rejects with aborted", async () => {
  const signal = AbortSignal.abort("changed my mind")
  await assert.rejects(appInit({ widgetId: "w", signal }), { code: "aborted", cause: "changed my mind" })
})

test("AgentError has the fields it was made of", () => {
  const fields = {
    code: "timeout", type: "about:blank", title: "Timed out", detail: "no answer", status: 504, phase: "whep", retryable: true, instance: "/whep", requestId: "r-1",
    headers: { "retry-after": "3" }, body: { message: "late" }, timings: { socketOpen: 12 }, cause: "net",
  } as const
  const error = new AgentError(fields)
  assert.ok(error instanceof Error)
  assert.equal(String(error), "AgentError: no answer")
  assert.match(error.stack ?? "", /package\.test/)
  assert.deepEqual(JSON.parse(JSON.stringify(error)), { name: "AgentError", message: "no answer", ...fields })
  assert.ok(error.cause instanceof Error)
})

test("what a reply had in it is not enumerable", () => {
  const error = new AgentError({ code: "forbidden", headers: { a: "b" }, body: "secret", timings: {}, cause: "x" })
  assert.deepEqual(Object.keys(error).sort(), ["code", "detail", "retryable", "title", "type"])
  assert.equal(error.message, "forbidden")
})
