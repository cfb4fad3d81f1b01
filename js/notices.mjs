// The licences of the software of others that is inside a program or a module: what Go links
// and what esbuild bundles. A part without a licence file is an error.

import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, sep } from "node:path"

/**
 * Something of others that is inside.
 * @typedef {{ name: string, version: string, note?: string, root: string, dirs: Set<string> }} Part
 */

const rule = `\n${"-".repeat(80)}\n\n`

/** Names of files with licences, such as LICENSE, LICENSE-3RD-PARTY.md, COPYING, NOTICE.txt and PATENTS. */
const licence = /^(licen[cs]e|copying|copyright|notice|patents)s?([-_.].*)?$/i

/**
 * Returns the text of the notices: `about`, and each part with its licences. Throws when one has none.
 * @param {string} about
 * @param {Part[]} parts
 */
export function notices(about, parts) {
  const texts = parts
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, version, note, root, dirs }) => {
      const files = [...new Set([...dirs].flatMap((dir) => licencesOf(dir, root)))].sort()
      if (!files.some((file) => /(licen[cs]e|copying)[^/\\]*$/i.test(file))) throw new Error(`${name} ${version} has no licence file in ${root}`)
      const heading = [`${name} ${version}`, ...(note ? [note] : [])].join("\n\n")
      return [heading, ...files.map((file) => readFileSync(file, "utf8").replaceAll("\r\n", "\n").trim())].join("\n\n") + "\n"
    })
  return [about.trim() + "\n", ...texts].join(rule)
}

/** The files with licences of a directory, and of those around it up to root. */
function licencesOf(dir, root) {
  const own = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isFile() && licence.test(entry.name) && !entry.name.endsWith(".go"))
  return [...own.map(({ name }) => join(dir, name)), ...(dir === root ? [] : licencesOf(dirname(dir), root))]
}

/**
 * The packages of npm that files are from, by the paths of these files.
 * @param {string[]} paths
 * @returns {Part[]}
 */
export function npmParts(paths) {
  const roots = new Set(paths.map((path) => path.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean))
  return [...roots].map((root) => {
    const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    return { name, version, root, dirs: new Set([root]) }
  })
}

const fields = "{{.ImportPath}}\t{{.Standard}}\t{{.Dir}}\t{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{.Main}}\t{{with .Replace}}{{.Path}}{{end}}{{end}}"

/**
 * What is linked into Go commands: the standard library with what it vendors, and modules. `go`
 * runs the go command as the build does, and returns its output. Modules that are replaced
 * by directories of this repository, `own`, are not part of it: their names are in `replaced`.
 * @param {(...args: string[]) => string} go
 * @param {string[]} commands
 * @param {string} own
 * @returns {{ parts: Part[], replaced: string[] }}
 */
export function goParts(go, commands, own) {
  const [goroot, goVersion] = go("env", "GOROOT", "GOVERSION").trim().split(/\r?\n/)
  const vendored = readFileSync(join(goroot, "src", "vendor", "modules.txt"), "utf8")
  const parts = new Map()
  const replaced = new Set()
  const add = (dir, part) => {
    const { dirs } = parts.get(part.name) ?? { dirs: new Set() }
    parts.set(part.name, { ...part, dirs: dirs.add(dir) })
  }
  for (const line of go("list", "-deps", "-f", fields, ...commands).trim().split(/\r?\n/)) {
    const [path, standard, dir, name, version, root, main, replacement] = line.split("\t")
    if (standard === "true") {
      const [, inside] = /^vendor\/([^/]+\/[^/]+\/[^/]+)/.exec(path) ?? []
      if (!inside) add(dir, { name: "Go", version: goVersion.replace(/^go/, ""), note: "The runtime, the standard library, and for a page wasm_exec.js.", root: goroot })
      else {
        const [, version] = new RegExp(`^# ${inside} (\\S+)`, "m").exec(vendored)
        add(dir, { name: `${inside} (in Go)`, version, root: join(goroot, "src", "vendor", ...inside.split("/")) })
      }
    } else if (main === "true") continue
    else if (root.startsWith(own + sep)) replaced.add(name)
    else add(dir, { name, version, root, ...(replacement && { note: changesOf(root, go("mod", "download", "-json", `${name}@${version}`)) }) })
  }
  return { parts: [...parts.values()], replaced: [...replaced].sort() }
}

/** Says in which files a copy of a module differs. */
function changesOf(copy, download) {
  const original = JSON.parse(download).Dir
  const [own, theirs] = [copy, original].map((dir) => readdirSync(dir))
  const removed = theirs.filter((name) => !own.includes(name))
  const added = own.filter((name) => !theirs.includes(name))
  const changed = own.filter((name) => theirs.includes(name) && name.endsWith(".go") && !readFileSync(join(copy, name)).equals(readFileSync(join(original, name))))
  const list = [["without", removed], ["with an own", added], ["with changes in", changed]].filter(([, names]) => names.length > 0).map(([how, names]) => `${how} ${names.join(", ")}`)
  return `This is a modified copy: ${list.join("; ")}.`
}
