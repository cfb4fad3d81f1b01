// Makes the npm packages of the local service in build/packages: agentruntime-local with the
// example pages, and one with the program for each platform, of which npm installs the
// one that fits. `node local/build.mjs linux-x64` makes those of some platforms only.
//
// The pages contain the package agentruntime as it was built in js/dist.

import { execFile, execFileSync } from "node:child_process"
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { goParts, notices } from "../notices.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, "..", "..")
const out = join(root, "build", "packages")
const run = promisify(execFile)
const { version } = JSON.parse(readFileSync(join(here, "..", "package.json"), "utf8"))
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8"))

/** The platforms by Node's names, with those of Go. */
const platforms = {
  "linux-x64": { GOOS: "linux", GOARCH: "amd64" },
  "linux-arm64": { GOOS: "linux", GOARCH: "arm64" },
  "darwin-x64": { GOOS: "darwin", GOARCH: "amd64" },
  "darwin-arm64": { GOOS: "darwin", GOARCH: "arm64" },
  "win32-x64": { GOOS: "windows", GOARCH: "amd64" },
  "win32-arm64": { GOOS: "windows", GOARCH: "arm64" },
}
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(platforms)
for (const name of wanted) if (!platforms[name]) throw new Error(`there is no platform ${name}, want one of ${Object.keys(platforms).join(", ")}`)

// Programs that are published don't contain the paths of this machine. With -trimpath nothing
// that was compiled without it can be reused, so tests, which name their platform, leave it out.
const trim = process.argv.length > 2 ? [] : ["-trimpath"]

rmSync(out, { recursive: true, force: true })
for (const name of wanted) await pack(await programPackage(name)) // one after the other: each build takes all cores
await pack(mainPackage())

/** Writes the package with the program of a platform. */
async function programPackage(platform) {
  const [os, cpu] = platform.split("-")
  const name = `${manifest.name}-${platform}`
  const file = os === "win32" ? "localservice.exe" : "localservice"
  const dir = newPackage(name, {
    description: `The program of ${manifest.name} for ${os}, ${cpu}.`,
    license: manifest.license,
    repository: manifest.repository,
    os: [os],
    cpu: [cpu],
    files: [file, "THIRD-PARTY-NOTICES.txt"],
  })
  // Without cgo: the database is a translation to Go. Without the flags of tests, which may have started this.
  const env = { ...process.env, ...platforms[platform], CGO_ENABLED: "0", GOFLAGS: "" }
  const go = (...args) => execFileSync("go", args, { cwd: root, env, encoding: "utf8" })
  const { parts } = goParts(go, ["./cmd/localservice"], join(root, "tools", "wasm", "stubs"))
  const about = `${manifest.name} has the licence of its file LICENSE. Its program contains what follows, each with its own licence.`
  writeFileSync(join(dir, "THIRD-PARTY-NOTICES.txt"), notices(about, parts))
  console.error(`building the program for ${platform}, which takes up to a few minutes on a new machine …`)
  await run("go", ["build", ...trim, "-ldflags", "-s -w", "-o", join(dir, file), "./cmd/localservice"], { cwd: root, env })
  return dir
}

/** Writes the package that users install. */
function mainPackage() {
  const { name, version: _, ...fields } = manifest
  const optionalDependencies = Object.fromEntries(wanted.map((platform) => [`${name}-${platform}`, version]))
  const dir = newPackage(name, { ...fields, optionalDependencies })
  for (const file of ["bin.cjs", "index.cjs", "index.d.cts", "README.md"]) copyFileSync(join(here, file), join(dir, file))
  chmodSync(join(dir, "bin.cjs"), 0o755)
  // The pages that need no server of their own.
  const examples = join(root, "example")
  for (const { name } of readdirSync(examples, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    const from = join(examples, name)
    if (existsSync(join(from, "package.json")) || existsSync(join(from, "main.go"))) continue
    cpSync(from, join(dir, "pages", "example", name), { recursive: true, filter: (path) => !path.endsWith(".go") })
  }
  const dist = join(here, "..", "dist")
  // The service serves compressed files where there are some, and compresses nothing itself.
  if (!existsSync(join(dist, "agentruntime.wasm.gz"))) throw new Error("js/dist is not built: make build")
  cpSync(dist, join(dir, "pages", "js", "dist"), { recursive: true, filter: (path) => !/\.(br|map|d\.ts)$/.test(path) })
  return dir
}

function newPackage(name, fields) {
  const dir = join(out, name)
  mkdirSync(dir, { recursive: true })
  copyFileSync(join(root, "LICENSE"), join(dir, "LICENSE"))
  writeFileSync(join(dir, "package.json"), JSON.stringify({ name, version, ...fields }, null, 2) + "\n")
  return dir
}

async function pack(dir) {
  const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", out, dir], { cwd: out, shell: process.platform === "win32" })
  console.log(stdout.trim())
}
