import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../", import.meta.url)) // of the repository, seen from the bundled test
const compiler = join(root, "js/node_modules/typescript/bin/tsc")

/** What the snippets of each document take for granted: its kind of session, and what a page around them would have. */
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
  "docs/ui.md": `
    const init: import("agentruntime").AppInitResult
    const session: import("agentruntime").AvatarSession
    const videoEl: HTMLVideoElement
    const captionElement: HTMLElement, widgetElement: HTMLElement, liveRegion: HTMLElement
    const show: (text: string) => void`,
  "docs/pagetests.md": `
    const widgetId: string
    const wasmModule: WebAssembly.Module`,
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
    paths: Object.fromEntries(entries.map(([name, { default: file = "" }]) => [name.replace(/^\./, "agentruntime"), [join(root, "js", file.replace("dist", "src").replace(/js$/, "ts"))]])),
  },
  include: ["*.ts", join(root, "js/src/glue.d.ts")],
}

/** The JavaScript and TypeScript of a document, by line. What stands inside HTML is no TypeScript. */
function blocksOf(text: string): Map<number, string> {
  const blocks = new Map<number, string>()
  for (const { index, 1: body } of text.matchAll(/^```[jt]s\n(.*?)^```/gms)) {
    const code = body!.replaceAll("{ … }", "{}").replace(/"\/js\/dist\/(\w+)\.js"/g, (_, name) => `"agentruntime${name === "index" ? "" : "/" + name}"`)
    blocks.set(text.slice(0, index).split("\n").length + 1, `${code}\nexport {}\n`)
  }
  return blocks
}

for (const [name, names] of Object.entries(documents)) {
  test(`the code in ${name} compiles in strict TypeScript`, () => {
    const blocks = blocksOf(readFileSync(join(root, name), "utf8"))
    assert.ok(blocks.size > 0, "there is code in it")
    const dir = mkdtempSync(join(tmpdir(), "docs-"))
    try {
      writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(settings))
      writeFileSync(join(dir, "names.d.ts"), `declare global {${names}\n}\nexport {}\n`)
      for (const [line, code] of blocks) writeFileSync(join(dir, `line-${line}.ts`), code)
      const run = spawnSync(process.execPath, [compiler, "-p", dir], { encoding: "utf8" })
      assert.equal(run.stdout + run.stderr, "")
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
}
