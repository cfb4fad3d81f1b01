// Builds the package into dist/: the modules, their types, the WebAssembly files
// and their compressed forms.
//
// Needs the Go toolchain of ../go.mod; wasm_exec.js is taken from it, because each
// version of Go has its own.
//
// `node build.mjs sizes` only prints the sizes of the files built before.

import { execFileSync } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { build, transform } from "esbuild"
import { link, UntestedVersion } from "../tools/wasm/link/link.mjs"
import { glue, wasmExec } from "./glue.mjs"
import { absoluteNames } from "./links.mjs"
import { goParts, notices, npmParts } from "./notices.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(here)
const dist = join(here, "dist")
const { exports, version } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"))
const budgets = JSON.parse(readFileSync(join(here, "size-budget.json"), "utf8"))

/** The module for servers. It shares no chunk with the others: what pages download does not depend on it. */
const serverEntry = "management"
/** The modules for pages that package.json exports. */
const entries = Object.values(exports).flatMap(({ default: file = "" }) => /^\.\/dist\/(.+)\.js$/.exec(file)?.[1] ?? []).filter((name) => name !== serverEntry)
const programs = { "agentruntime.wasm": "./cmd/wasm", "chat.wasm": "./cmd/chatwasm" }

/** The parts around a session: each is a component in js/src/react/parts that renders a class of js/src/ui. */
const parts = readdirSync(join(here, "src/react/parts")).filter((name) => name !== "part.ts").map((name) => name.replace(".ts", ""))

/**
 * Modules that share no chunk with others, because bundlers leave out whole files: a page that imports one part around a session
 * must not carry the others.
 */
const apart = [
  ...["captions", ...parts].map((name) => `ui/${name}`),
  ...["components", "hooks", ...parts.map((name) => `parts/${name}`)].map((name) => `react/${name}`),
]

/** Set by `make profile`: the programs count which functions are called. */
const counting = process.argv[2] === "counting"
/** Set by `make whole`: the programs are not split in two parts, for comparison. */
const whole = process.argv[2] === "whole"
/** Set by `make cold`: everything that can be is in the second parts of the programs. */
const cold = process.argv[2] === "cold"

if (process.argv[2] !== "sizes") {
  mkdirSync(dist, { recursive: true })
  // Files of an earlier build may have no source any more. The programs are kept: they take longest to build.
  for (const name of readdirSync(dist)) if (!/\.wasm(\.\w+)?$/.test(name)) rmSync(join(dist, name), { recursive: true })
  types()
  const rests = await Promise.all(Object.entries(programs).map(([name, command]) => wasm(name, command)))
  const kept = rests.flatMap(({ file }) => file ?? [])
  for (const name of readdirSync(dist)) if (/\.rest-/.test(name) && !kept.some((file) => name.startsWith(file))) rmSync(join(dist, name))
  const inputs = await modules(Object.fromEntries(rests.map(({ name, file }) => [name, file])))
  writeFileSync(join(dist, "THIRD-PARTY-NOTICES.txt"), licences(inputs))
  await Promise.all(readdirSync(dist, { recursive: true }).filter((name) => name.endsWith(".js")).map((name) => compressed(name, readFileSync(join(dist, name)))))
}
const tooLarge = counting || cold || whole ? [] : Object.keys(programs).filter((name) => !checkSize(name))
process.exitCode = tooLarge.length > 0 ? 1 : 0

/** Writes the .d.ts files; fails on any type error. */
function types() {
  const tsc = join(here, "node_modules", "typescript", "bin", "tsc")
  execFileSync(process.execPath, [tsc, "-p", here, "--emitDeclarationOnly"], { stdio: "inherit" })
  for (const name of readdirSync(dist, { recursive: true }).filter((name) => name.endsWith(".d.ts"))) {
    const file = join(dist, name)
    writeFileSync(file, absoluteNames(readFileSync(file, "utf8")))
  }
  writeFileSync(join(dist, "ui.css.d.ts"), "export {}\n") // for import "agentruntime/ui.css"
}

/**
 * Writes a module for each entry, and shared chunks: a page that imports two entries
 * gets one copy of each class and one runtime. Returns the files that are in them.
 */
async function modules(rests) {
  // Bundlers copy a file whose literal name they find; that of a second part has a checksum.
  const restNames = {
    name: "rest-names",
    setup: (build) =>
      build.onLoad({ filter: /src[/\\](core[/\\]load|session[/\\]full)\.ts$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replace(/"\.\/(\w+)\.rest\.wasm"/, (_, name) => JSON.stringify(`./${rests[`${name}.wasm`] ?? `${name}.wasm`}`)),
        loader: "ts",
      })),
  }
  // A style sheet is a text of a module, without its comments and white space.
  const sheets = {
    name: "sheets",
    setup: (build) =>
      build.onLoad({ filter: /\.css$/ }, async ({ path }) => ({ contents: (await transform(readFileSync(path, "utf8"), { loader: "css", minify: true })).code, loader: "text" })),
  }
  const options = {
    absWorkingDir: here,
    outdir: "dist",
    bundle: true,
    format: "esm",
    target: "es2022",
    sourcemap: true,
    minify: true,
    define: { AGENTRUNTIME_VERSION: JSON.stringify(version) },
    plugins: [glue, restNames, sheets],
    legalComments: "none", // the licences are in a file of their own
    logLevel: "warning",
  }
  const { metafile } = await build({
    ...options,
    entryPoints: Object.fromEntries([...entries, ...apart].map((name) => [name, `src/${name}.ts`])),
    external: ["node:*", "react"], // node: is for agentruntime/testing/local alone, which runs in Node.js
    splitting: true,
    chunkNames: "shared-[hash]",
    metafile: true,
  })
  // The entries of these modules are only there to give them chunks.
  for (const name of apart) for (const file of [`${name}.js`, `${name}.js.map`]) rmSync(join(dist, file))
  // Built separately, without shared chunks, because bundlers copy a worker or a worklet as one file.
  const worker = await build({ ...options, entryPoints: { warmupworker: "src/core/warmupworker.ts", noiseworklet: "src/noise/noiseworklet.ts" }, metafile: true })
  const server = await build({ ...options, target: "node20", entryPoints: [`src/${serverEntry}.ts`], metafile: true })
  const styles = ["ui.css", "content.css", "parts.css"].map((name) => readFileSync(join(here, "src", "ui", name), "utf8"))
  writeFileSync(join(dist, "ui.css"), styles.join("\n"))
  return [metafile, worker.metafile, server.metafile].flatMap(({ inputs }) => Object.keys(inputs))
}

/** The licences of what is in the modules, whose files are given, and in the programs. */
function licences(inputs) {
  const go = (...args) => execFileSync(join(root, "tools", "wasm", "env"), ["go", ...args], { cwd: root, encoding: "utf8" })
  const { parts, replaced } = goParts(go, Object.values(programs), join(root, "tools", "wasm", "stubs"))
  const about = `agentruntime has the licence of its file LICENSE. Its modules and its programs (${Object.keys(programs).join(", ")}) contain what
follows, each with its own licence.

The programs contain no code of these modules, to which pion/webrtc refers for types only; agentruntime's own declarations are in
their place: ${replaced.join(", ")}.`
  return notices(about, [...parts, ...npmParts(inputs.map((path) => join(here, path)))])
}

/** Builds a command for the page, in one part or two, and their compressed forms. */
async function wasm(name, command) {
  const fresh = join(dist, name + ".new")
  execFileSync(
    join(root, "tools", "wasm", "env"),
    ["go", "build", "-ldflags", `-buildid= -X main.version=${version}`, "-o", fresh, command],
    { cwd: root, stdio: "inherit" },
  )
  const { program, rest, restFile } = await linked(name.replace(".wasm", ""), readFileSync(fresh))
  rmSync(fresh)
  await Promise.all([compressed(name, program), rest && compressed(restFile, rest)])
  return { name, file: restFile }
}

/** Writes a file and its compressed forms. */
async function compressed(name, bytes) {
  const file = join(dist, name)
  // Compression is the slowest step, and the build is reproducible.
  if (existsSync(file + ".gz") && existsSync(file + ".br") && existsSync(file) && readFileSync(file).equals(bytes)) return
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants
  rmSync(file, { force: true }) // an interrupted run must not leave files of two builds
  writeFileSync(file + ".gz", await promisify(gzip)(bytes, { level: 9 }))
  const params = { [BROTLI_PARAM_QUALITY]: counting || cold ? 5 : 11, [BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(file + ".br", await promisify(brotliCompress)(bytes, { params }))
  writeFileSync(file + ".new", bytes)
  renameSync(file + ".new", file)
}

/** The program as pages load it; as the Go linker made it if this version of Go was not tested. */
async function linked(name, file) {
  const profileFile = join(root, "tools", "wasm", "profile", name + ".txt")
  const profile = readFileSync(profileFile, "utf8").split("\n")
  try {
    const made = await link(file, {
      wasmExec: wasmExec(),
      // What js/src/core/program.ts has in a page.
      env: { AGENTRUNTIME_LOADER: "agentruntime:loader" },
      prepare: (global) => (global["agentruntime:loader"] = { AgentError: class AgentError extends Error {}, ready: (exports) => exports }),
      profile: whole ? undefined : new Set(cold ? [] : profile),
      restFile: `${name}.rest-*.wasm`,
      counts: counting,
    })
    if (counting) writeFileSync(join(dist, `${name}.names.json`), JSON.stringify([...made.names]))
    // The function of a new name is in the second part, for which a page then waits.
    const names = new Set(made.names.values())
    const renamed = profile.filter((name) => name.startsWith("github.com_") && !names.has(name))
    if (renamed.length > 0) console.warn(`${profileFile} names functions that ${name} does not have: rename them there, or run make profile\n${renamed.join("\n")}`)
    return made
  } catch (reason) {
    if (!(reason instanceof UntestedVersion)) throw reason
    console.warn(`${reason.message}\nThe programs work, but are larger and start slower, and the package can't be packed.`)
    return { program: file }
  }
}

/** Prints the sizes of a program and returns whether its brotli forms are within its budgets: that of the first part, and of both. */
function checkSize(name) {
  const rest = readdirSync(dist).find((file) => file.startsWith(name.replace(".wasm", ".rest-")) && file.endsWith(".wasm"))
  const sizes = (file) => ["", ".gz", ".br"].map((form) => readFileSync(join(dist, file + form)).length)
  const first = sizes(name)
  const both = rest ? sizes(rest).map((size, i) => size + first[i]) : first
  return ["first", "both"].every((part) => {
    const [raw, gzip, brotli] = part === "first" ? first : both
    const budget = budgets[name][part]
    console.log(`${name} ${part === "first" ? "first part" : "both parts"} raw ${raw} gzip ${gzip} brotli ${brotli} (budget ${budget})`)
    if (brotli > budget) console.error(`${name} is ${brotli - budget} bytes over its budget in js/size-budget.json`)
    return brotli <= budget
  })
}
