import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { notices, npmParts } from "../notices.mjs"

const root = fileURLToPath(new URL("../../../", import.meta.url)) // of the repository, seen from the bundled test
const dist = join(root, "js", "dist")
const text = readFileSync(join(dist, "THIRD-PARTY-NOTICES.txt"), "utf8")

/** What the notices say of something, by its heading. */
const section = (heading: string) => text.split(`\n${"-".repeat(80)}\n\n`).find((each) => each.startsWith(heading + "\n")) ?? assert.fail(`there is no notice of ${heading}`)

test("every module that is linked into the programs has a notice, with its licence", () => {
  const env = (...args: string[]) => execFileSync(join(root, "tools", "wasm", "env"), ["go", ...args], { cwd: root, encoding: "utf8" }).trim().split("\n")
  const listed = env("list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "./cmd/wasm", "./cmd/chatwasm")
  const modules = [...new Set(listed)].filter(Boolean).map((line) => line.split(" ") as [string, string, string])
  assert.ok(modules.length > 3)
  const [introduction = ""] = text.split("\n---")
  for (const [path, version, dir] of modules) {
    if (dir.includes(join("tools", "wasm", "stubs"))) assert.ok(introduction.includes(path), path)
    else assert.match(section(`${path} ${version}`), /Copyright|Permission is hereby granted|Redistribution/, path)
  }
  const [version = ""] = env("env", "GOVERSION")
  assert.match(section(`Go ${version.replace("go", "")}`), /Copyright 2009 The Go Authors[\s\S]*Additional IP Rights Grant/)
})

test("the notice of pion/webrtc says that it is a modified copy, and how", () => {
  const [, heading = ""] = /\n(github\.com\/pion\/webrtc\/v4 \S+)\n/.exec(text) ?? []
  assert.match(section(heading), /This is a modified copy: without certificate\.go, icemux\.go; with an own certificate_js\.go\.[\s\S]*The Pion community/)
})

test("every package of npm that is in the modules has a notice", () => {
  const names = new Set<string>()
  for (const file of readdirSync(dist).filter((name) => name.endsWith(".js.map"))) {
    const { sources } = JSON.parse(readFileSync(join(dist, file), "utf8")) as { sources: string[] }
    for (const source of sources) {
      const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source) ?? []
      if (name) names.add(name)
    }
  }
  assert.ok(names.has("markdown-it") && names.has("linkify-it"), [...names].join(" "))
  for (const name of names) {
    const { version } = JSON.parse(readFileSync(join(root, "js", "node_modules", name, "package.json"), "utf8"))
    assert.match(section(`${name} ${version}`), /Copyright/)
  }
})

test("the notices name no directory of the machine that built them", () => {
  assert.ok(!text.includes(root))
  assert.doesNotMatch(text, /\/(?:root|home|Users|usr\/local)\/|pkg[/\\]mod/)
})

test("something without a licence stops the build; licences of its inner directories are there", () => {
  const place = mkdtempSync(join(tmpdir(), "agentruntime-notices-"))
  try {
    const own = join(place, "node_modules", "@some", "thing")
    mkdirSync(join(own, "inner", "part"), { recursive: true })
    writeFileSync(join(own, "package.json"), JSON.stringify({ name: "@some/thing", version: "1.2.3" }))
    writeFileSync(join(own, "PATENTS"), "A grant\n")
    writeFileSync(join(own, "license.go"), "package licence\n")
    const parts = () => npmParts([join(own, "index.js"), join(own, "other.js")].map((path) => path.replaceAll("\\", "/")))
    assert.throws(() => notices("About", parts()), /@some\/thing 1\.2\.3 has no licence file/)
    writeFileSync(join(own, "LICENCE.md"), "Do what you like.\r\n\r\nReally.\r\n")
    writeFileSync(join(own, "inner", "COPYING"), "Copy it.\n")
    const [part] = parts()
    assert.equal(notices("About", [part!]), `About\n\n${"-".repeat(80)}\n\n@some/thing 1.2.3\n\nDo what you like.\n\nReally.\n\nA grant\n`)
    part!.dirs.add(join(part!.root, "inner", "part"))
    assert.match(notices("About", [part!]), /Do what you like[\s\S]*A grant[\s\S]*Copy it\.\n$/)
  } finally {
    rmSync(place, { recursive: true })
  }
})
