#!/usr/bin/env node
// Makes a project with an agent: npm create agentruntime [folder] -- [--template name]

import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { createInterface } from "node:readline/promises"
import { parseArgs } from "node:util"

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"))
const templates = new URL("templates/", import.meta.url)
// The folders that make a project, one over the other.
const folders = {
  vanilla: ["shared", "vite", "vanilla"],
  react: ["shared", "vite", "react"],
  vue: ["shared", "vite", "vue"],
  svelte: ["shared", "vite", "svelte"],
  next: ["shared", "next"],
}
const names = Object.keys(folders)
const usage = `Usage: npm create agentruntime [folder] -- [--template ${names.join("|")}]`

try {
  await main()
} catch ({ message }) {
  console.error(message)
  process.exitCode = 1
}

async function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { template: { type: "string", short: "t" }, help: { type: "boolean", short: "h" } } })
  if (values.help) return console.log(usage)
  if (positionals.length > 1) throw new Error(usage)
  const folder = positionals[0] ?? (await ask("Folder of the project", "my-agent"))
  const template = values.template ?? (await ask(`Framework (${names.join(", ")})`, "vanilla"))
  if (!names.includes(template)) throw new Error(`There is no template ${template}; choose one of ${names.join(", ")}.`)
  const target = resolve(folder)
  if (existsSync(target) && readdirSync(target).length > 0) throw new Error(`${folder} is not empty; choose another folder.`)

  for (const from of folders[template]) cpSync(new URL(from, templates), target, { recursive: true })
  renameSync(join(target, "_gitignore"), join(target, ".gitignore")) // npm packs no .gitignore
  const file = join(target, "package.json")
  const { dependencies, devDependencies, ...fields } = JSON.parse(readFileSync(file, "utf8"))
  const project = {
    name: basename(target).toLowerCase().replace(/[^a-z\d._-]+/g, "-").replace(/^[._]+/, "") || "my-agent",
    ...fields,
    dependencies: { agentruntime: `^${version}`, ...dependencies },
    devDependencies: { "agentruntime-local": `^${version}`, ...devDependencies },
  }
  writeFileSync(file, JSON.stringify(project, null, 2) + "\n")

  console.log(`The project is in ${folder}. Next:

  cd ${folder}
  npm install
  npm run dev    # the page, and an agent on your machine
  npm test`)
}

/** Asks on the terminal; without one, the answer is the default. */
async function ask(question, otherwise) {
  if (!process.stdin.isTTY) return otherwise
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`${question} [${otherwise}]: `)
  terminal.close()
  return answer.trim() || otherwise
}
