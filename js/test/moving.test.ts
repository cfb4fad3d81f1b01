import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import * as compat from "../src/compat.js"
import * as index from "../src/index.js"

const text = readFileSync(new URL("../../../docs/moving.md", import.meta.url), "utf8") // seen from the bundled test

/** The names in the first column of the table under a heading. */
function namesUnder(heading: string): string[] {
  const section = text.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? ""
  const rows = section.split("\n").filter((line) => line.startsWith("| `"))
  return rows.flatMap((row) => [...row.split("|")[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
}

test("docs/moving.md names each export of agentruntime/compat once, and nothing else", () => {
  const own = Object.keys(compat).filter((name) => !(name in index))
  assert.deepEqual(namesUnder("Names").sort(), own.sort())
  for (const name of namesUnder("What is not here")) assert.ok(!(name in compat), name)
})

test("each export of the reference is here, or docs/moving.md says why not", () => {
  // spec: page-helpers G.1
  const reference = `KalturaAvatarSession KalturaScriptedVideoSession CaptionService TranscriptTracker Emitter KalturaError
    apportion thumbnailUrl playerEmbedUrl externalEmbedUrl parseToolCall parseToolResponseName segmentKind validateToolArgs turnServers iceConfig
    buildJoin buildStvNewSession whepUrl whepUrlHasPrivateIp buildTextEntered isAudioMode modelTypeWire classifyAgentAction redact safeText safeUrl
    renderSafeLink sanitizeJson clampInbound assertCapability assertCapabilityState validateCapabilities mergeCapabilityWrite resolveCapabilities
    EMBED_HOSTS CAPACITY_BACKOFF DEFAULT_CM_URL EXPERIENCES MODEL_TYPES CAPABILITIES CAPABILITY_STATE CAPABILITY_DEFAULTS CAPABILITY_INFO
    Management Sessions inspectKs summarizeReport parseCsv parseSlideNumber uuidv4 randId meta collectConverse parseConverseStream`
  const absent = namesUnder("What is not here")
  for (const name of reference.split(/\s+/)) assert.ok(name in compat || absent.includes(name), name)
})
