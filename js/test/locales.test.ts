import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
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
    const file = `js/src/element/locales/${language}.ts`
    for (const path of all.keys()) assert.ok(own.has(path), `${file} has no ${path}`)
    for (const path of own.keys()) assert.ok(all.has(path), `${file} has ${path}, which is no text of the elements`)
    for (const [path, text] of all) {
      assert.notEqual(own.get(path)!.trim(), "", path)
      assert.deepEqual(placeholders(own.get(path)!), placeholders(text), path)
    }
  })
}

/** The codes that an element shows no sentence of: pages, servers and logs get them. */
const unseen = [
  "catalog_item_not_found", "conflict", "empty_turn_with_request_vars", "ended", "error", "handler_failed", "invalid_filter", "invalid_insight_settings", "kickoff_failed",
  "media_attach_failed", "method_not_allowed", "missing_discriminator", "noise_processor_failed", "ovp_error", "playback_blocked", "prepare_expired",
  "recording_failed", "reserved_user_attr_unresolved", "voice_not_found_cartesia", "voice_not_found_elevenlabs", "voice_not_found_provider_a",
  "voice_not_found_provider_b", "whep_delete_failed",
]

test("each code has a sentence for visitors, or is one that they don't see", () => {
  const codes = readFileSync(new URL("../../src/generated/codes.ts", import.meta.url), "utf8") // seen from the bundled test
  const [, list = ""] = /export type ErrorCode =\n(.*?)\n\n/s.exec(codes) ?? []
  const [, warnings = ""] = /export type WarningCode =\n(.*?)\n\n/s.exec(codes) ?? []
  const groups = [...list.split("  // "), warnings].filter((group) => !group.startsWith("Management"))
  const all = groups.flatMap((group) => [...group.matchAll(/\| "(\w+)"/g)].map(([, code]) => code!))
  assert.ok(all.length > 60, `only ${all.length} codes`)
  const undecided = all.filter((code) => code in ERROR_MESSAGES === unseen.includes(code))
  assert.deepEqual(undecided, [], "give each a row in js/src/ui/samemessages.ts, a sentence in messages.ts there, or a place in unseen of this test; only one of these")
  for (const code of unseen) assert.ok(all.includes(code), `${code} is no code any more: remove it from unseen`)
})

test("a language is found by its primary subtag, in any case", async () => {
  const de = await loadLocale("de")
  for (const tag of ["de-AT", "DE"]) assert.deepEqual(await loadLocale(tag), de)
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
