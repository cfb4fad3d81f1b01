#!/usr/bin/env node
// Runs the local service with the example pages; its flags are those of the program.

const { spawn } = require("node:child_process")
const { pages, programPath } = require("./index.cjs")

let program
try {
  program = programPath()
} catch (reason) {
  console.error(reason.message)
  process.exit(1)
}
const given = process.argv.slice(2)
const has = (name) => given.some((flag) => new RegExp(`^--?${name}(=|$)`).test(flag))
const flags = [...(has("pages") ? [] : ["-pages", pages]), ...(has("stdin") ? [] : ["-stdin"]), ...given]
// No signal is passed on when this process is killed, but the end of its child's input is.
const child = spawn(program, flags, { stdio: [has("stdin") ? "inherit" : "pipe", "inherit", "inherit"] })
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
child.on("error", ({ message }) => {
  console.error(`the local service can't be started: ${message}`)
  process.exitCode = 1
})
child.on("close", (code, signal) => (process.exitCode = code ?? (signal ? 1 : 0)))
