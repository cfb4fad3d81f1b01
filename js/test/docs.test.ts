import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { attributes } from "../src/element/attributes.js"

const root = fileURLToPath(new URL("../../../", import.meta.url)) // of the repository, seen from the bundled test
const compiler = join(root, "js/node_modules/typescript/bin/tsc")

/** The declarations that the snippets of each document need: its kind of session, and what a page around them would have. */
const documents: Record<string, string> = {
  "README.md": "const show: (text: string) => void",
  "docs/chat.md": `
    const session: import("agentruntime").ChatSession
    const agent: import("agentruntime").AgentSession
    const init: import("agentruntime").AppInitResult
    const question: string, messageId: string, widgetId: string
    const signal: AbortSignal
    const videoEl: HTMLVideoElement
    const button: HTMLButtonElement
    const show: (text: string) => void
    const addChip: (question: string) => void
    const list: (title: string | null | undefined) => void
    const draw: (segment: import("agentruntime").Segment) => void`,
  "docs/elements.md": `const agent: import("agentruntime/element").AgentAvatarElement`,
  "docs/react.md": `
    const useEffect: typeof import("react").useEffect
    const session: import("agentruntime").AvatarSession | null
    const setLine: (text: string) => void`,
  "docs/ui.md": `
    const init: import("agentruntime").AppInitResult
    const session: import("agentruntime").AvatarSession
    const videoEl: HTMLVideoElement
    const captionElement: HTMLElement, widgetElement: HTMLElement, liveRegion: HTMLElement, problem: HTMLElement, button: HTMLButtonElement
    const show: (text: string) => void`,
  "docs/parts.md": `
    const AvatarSession: typeof import("agentruntime").AvatarSession
    const ScriptedVideoSession: typeof import("agentruntime/scripted").ScriptedVideoSession
    const session: import("agentruntime").AvatarSession
    const init: import("agentruntime").AppInitResult
    const videoEl: HTMLVideoElement
    const show: (slide: number) => void
    const router: { push(path: string): Promise<void> }
    const consent: { given: boolean }
    const sessionId: string, whepUrl: string, turn: { url: string }`,
  "docs/pagetests.md": `
    const widgetId: string
    const wasmModule: WebAssembly.Module`,
  "docs/management.md": `const ChatSession: typeof import("agentruntime").ChatSession`,
  "docs/tracing.md": `const session: import("agentruntime").AvatarSession, widgetId: string, currentSpan: () => { traceparent: string }
    const tracer: { startSpan(name: string, options: object): { setAttributes(attributes: object): unknown; end(at: number): void } }`,
  "docs/moving.md": "const videoEl: HTMLVideoElement",
  "docs/resilience.md": `
    const AvatarSession: typeof import("agentruntime").AvatarSession
    const options: import("agentruntime").AvatarOptions`,
  "docs/javascript.md": `
    const AgentError: typeof import("agentruntime").AgentError
    const AvatarSession: typeof import("agentruntime").AvatarSession
    const load: typeof import("agentruntime").load
    const dispose: typeof import("agentruntime").dispose
    const session: import("agentruntime").AvatarSession
    const init: import("agentruntime").AppInitResult
    const button: HTMLButtonElement
    const signal: AbortSignal
    const videoEl: HTMLVideoElement
    const hideSpinner: () => void
    const showBusy: () => void
    const showSlow: (phase: string | undefined) => void
    const report: (code: string, detail: string | undefined) => void
    const cart: () => Promise<unknown[]>
    interface ImportMeta { hot?: { dispose(end: () => void): void } }`,
}

/** The modules that package.json exports. */
const entries = Object.entries<{ default?: string }>(JSON.parse(readFileSync(join(root, "js/package.json"), "utf8")).exports).filter(([, { default: file }]) => file?.endsWith(".js"))

const settings = {
  compilerOptions: {
    target: "ES2022",
    module: "ESNext",
    moduleResolution: "bundler",
    lib: ["ES2022", "ESNext.Disposable", "DOM", "DOM.Iterable"],
    types: [],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    jsx: "react-jsx",
    paths: {
      react: [join(root, "js/node_modules/@types/react")],
      "react/jsx-runtime": [join(root, "js/node_modules/@types/react/jsx-runtime")],
      ...Object.fromEntries(entries.map(([name, { default: file = "" }]) => [name.replace(/^\./, "agentruntime"), [join(root, "js", file.replace("dist", "src").replace(/js$/, "ts"))]])),
    },
  },
  include: ["*.ts", join(root, "js/src/core/glue.d.ts")],
}

interface Block {
  readonly language: string
  readonly line: number
  readonly body: string
}

/** The blocks of code in a document, also those inside of lists. */
function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms)].map(({ index, 1: indent, 2: language, 3: body }) => ({
    language: language!, line: text.slice(0, index).split("\n").length + 1, body: body!.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }))
}

/** Turns a snippet into a module, whose imports of the served files become imports of the package. */
const module = (code: string) =>
  code.replaceAll("{ … }", "{}").replaceAll(/"\/(?:js|agentruntime)\/dist\/(\w+)\.js"/g, (_, name) => `"agentruntime${name === "index" ? "" : "/" + name}"`) + "\nexport {}\n"

/** Compiles modules by the names of their files; names are the globals. */
function compile(modules: Map<string, string>, names: string): string {
  const dir = mkdtempSync(join(tmpdir(), "docs-"))
  try {
    writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(settings))
    writeFileSync(join(dir, "names.d.ts"), `declare global {${names}\n}\nexport {}\n`)
    for (const [name, code] of modules) writeFileSync(join(dir, name), code)
    const run = spawnSync(process.execPath, [compiler, "-p", dir], { encoding: "utf8" })
    return run.stdout + run.stderr
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const readDocument = (name: string) => blocksOf(readFileSync(join(root, name), "utf8"))
const all = ["README.md", ...readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md")).map((name) => "docs/" + name), "e2e/testdata/README.md"]

/** The languages of blocks that are compiled here, and those that are checked elsewhere or not at all. */
const scripts = ["js", "jsx", "ts", "tsx"]
const elsewhere = ["go", "nginx", "mermaid", "yaml", ""] // internal/archtest, e2e/fresh; pictures, scripts of an agent, output

for (const name of all) {
  const blocks = readDocument(name)
  for (const { language, line } of blocks) {
    if (![...scripts, "html", "css", "json", "sh", ...elsewhere].includes(language)) test(`${name}:${line}`, () => assert.fail(`nothing checks a block of ${language}`))
  }
  const code = blocks.filter(({ language, body }) => scripts.includes(language) && !body.includes('from "node:'))
    .map(({ language, line, body }) => [`line-${line}.${language.replace("js", "ts")}`, module(body)] as const)
  // A page without types can't say which element it gets.
  const pages = blocks.filter(({ language }) => language === "html").flatMap(({ line, body }) => [...body.matchAll(/<script type="module">(.*?)<\/script>/gs)]
    .map(([, script = ""], i) => [`line-${line}-${i}.ts`, module(script.replaceAll(/document\.(getElementById|querySelector)\([^)]*\)/g, "($& as any)"))] as const))
  if (code.length + pages.length > 0) {
    test(`the code and the scripts of pages in ${name} compile in strict TypeScript`, () => assert.equal(compile(new Map([...code, ...pages]), documents[name] ?? ""), ""))
  }
  for (const { language, line, body } of blocks) {
    if (language === "json") test(`${name}:${line} is JSON`, () => void JSON.parse(body))
    if (language === "sh") test(`the commands in ${name}:${line} exist`, () => checkCommands(body))
    if (body.includes('from "node:')) {
      test(`${name}:${line} is a module of Node.js`, () => {
        const run = spawnSync(process.execPath, ["--input-type=module", "--check", "-"], { input: body, encoding: "utf8" })
        assert.equal(run.stderr, "")
      })
    }
  }
}

test("docs/elements.md has each attribute", () => {
  const [, list = ""] = /^## Attributes\n(.*?)^## /ms.exec(readFileSync(join(root, "docs/elements.md"), "utf8")) ?? []
  const rows = list.split("\n").map((line) => /^\| (`.*?) \|/.exec(line)?.[1] ?? "")
  for (const name of Object.values(attributes)) assert.ok(rows.some((row) => row.includes(`\`${name}\``)), `docs/elements.md has no row of the attribute ${name} under "Attributes"`)
})

/** The programs besides make, go and npm that the commands in a document may call. */
const programs = "aws build/k6 cd chromium cp curl docker esbuild espeak-ng export ffmpeg govulncheck kubectl localservice next node npx vite".split(" ")

/** Checks that what the commands in a document call exists: targets of make, packages of Go, scripts of npm, files. */
function checkCommands(body: string): void {
  const makefile = readFileSync(join(root, "Makefile"), "utf8")
  const manifest = JSON.parse(readFileSync(join(root, "js/package.json"), "utf8"))
  const lines = body.replaceAll(/\\\n/g, " ").replaceAll(/ +#.*|^#.*/gm, "").replaceAll(/"[^"]*"|'[^']*'/g, "TEXT")
  for (const command of lines.split(/[\n|;&]+/).map((text) => text.trim().replace(/^(\w+=\S* +)+/, "")).filter(Boolean)) {
    const [program = "", ...args] = command.split(/ +/)
    if (program === "make") {
      for (const target of args.filter((arg) => !/^-|=/.test(arg))) assert.match(makefile, new RegExp(`^${target}:`, "m"), `make has no target ${target}`)
    } else if (program === "go") {
      for (const path of args.filter((arg) => arg.startsWith("./"))) assert.ok(existsSync(join(root, path.replace("/...", ""))), `${path} is not there`)
    } else if (program === "npm") {
      const script = /(?:--prefix js run|--prefix js) (?:--silent )?(\w+)/.exec(command)?.[1]
      if (script !== undefined) assert.ok(script in manifest.scripts, `npm has no script ${script}`)
      else assert.match(command, /^npm (install|pack|ci|test|run dev|create agentruntime)\b/)
    } else assert.ok(programs.includes(program) || existsSync(join(root, program)), `there is no command ${program}`)
  }
}
