// Drives Firefox for a Go test. Arguments: the folder of the npm packages, the program.
// Each line of the input is a command: { open: url }, or { run: body } or { leave: true } for
// the page opened last. The reply to each is one line: { value } or { error }.
import { createRequire } from "node:module"
import { createInterface } from "node:readline"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const patienceMs = 60_000 // bounds each command; only a failing one comes near it

const [modules, executablePath] = process.argv.slice(2)
const path = createRequire(join(modules, "x")).resolve("puppeteer-core")
const { default: puppeteer } = await import(pathToFileURL(path).href)

const browser = await puppeteer.launch({
  browser: "firefox",
  protocolTimeout: patienceMs,
  executablePath,
  extraPrefsFirefox: {
    "media.autoplay.default": 0, // sound plays without a click
    "media.navigator.permission.disabled": true, // the microphone is permitted
    "media.navigator.streams.fake": true,
    "media.peerconnection.ice.loopback": true,
  },
})
let page
let said = []

const commands = {
  async open(url) {
    await page?.close()
    said = []
    page = await browser.newPage()
    page.on("console", (message) => message.type() === "error" && said.push(message.text()))
    page.on("pageerror", (error) => said.push(String(error)))
    await page.goto(url)
  },
  run: (body) => page.evaluate(`(async () => {${body}})()`),
  async leave() {
    await page.goto("about:blank")
    return said
  },
}

try {
  for await (const line of createInterface(process.stdin)) {
    const [name, argument] = Object.entries(JSON.parse(line))[0]
    const reply = await commands[name](argument).then(
      (value) => ({ value }),
      (error) => ({ error: String(error) }),
    )
    console.log(JSON.stringify(reply))
  }
} finally {
  await browser.close()
}
