import assert from "node:assert/strict"
import { test } from "node:test"
import { english } from "../src/element/labels.js"
import { LANGUAGES, loadLocale } from "../src/locales.js"
import { LAUNCHER_LABELS } from "../src/element/launcherlabels.js"
import { TOOL_LABELS } from "../src/element/toollabels.js"
import { ERROR_MESSAGES, WIDGET_LABELS } from "../src/ui.js"
import { partLabels } from "../src/ui/ownlabels.js"
import { warnUnknown } from "../src/ui/unknownlabels.js"

/** The texts of an object of texts, by their paths. */
function texts(of: object, path = ""): Map<string, string> {
  return new Map(Object.entries(of).flatMap(([name, value]) => (typeof value === "string" ? [[path + name, value] as const] : [...texts(value as object, `${path}${name}.`)])))
}

const placeholders = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort()

test("there are ten languages, two of them from right to left", () => {
  assert.equal(LANGUAGES.length, 10)
  assert.ok(["ar", "he"].every((language) => LANGUAGES.includes(language)))
})

for (const language of LANGUAGES) {
  test(`no text is missing, empty or without its values in ${language}`, async () => {
    const own = texts((await loadLocale(language))!)
    const all = texts({ ...english, errors: ERROR_MESSAGES, launcher: LAUNCHER_LABELS, tools: TOOL_LABELS, widgets: WIDGET_LABELS })
    assert.deepEqual([...own.keys()].sort(), [...all.keys()].sort())
    for (const [path, text] of all) {
      assert.notEqual(own.get(path)!.trim(), "", path)
      assert.deepEqual(placeholders(own.get(path)!), placeholders(text), path)
    }
  })
}

test("a language is found by its primary subtag, in any case", async () => {
  const { de } = { de: await loadLocale("de") }
  assert.equal(await loadLocale("de-AT"), de)
  assert.equal(await loadLocale("DE"), de)
  for (const tag of ["en", "en-GB", "sv", "", "constructor", "d"]) assert.equal(await loadLocale(tag), undefined, tag)
})

test("there is one warning for a label that does not exist, and a translation of the elements fits the parts", async (t) => {
  const lines: string[] = []
  t.mock.method(console, "warn", (line: string) => lines.push(line))
  const de = (await loadLocale("de"))!
  assert.equal(partLabels(de).start, de.start)
  warnUnknown(de.widgets, Object.keys(WIDGET_LABELS))
  assert.deepEqual(lines, [])
  for (let i = 0; i < 2; i++) assert.equal(partLabels({ strat: "Los", activities: { spaeking: "Spricht" }, send: undefined } as object).send, "Send")
  warnUnknown({ nextt: "Weiter", zebra: "Zebra" }, Object.keys(WIDGET_LABELS))
  assert.deepEqual(lines, [
    "agentruntime: there is no label strat: did you mean start?", "agentruntime: there is no label spaeking: did you mean speaking?",
    "agentruntime: there is no label nextt: did you mean next?", "agentruntime: there is no label zebra",
  ])
})
