// The language in which an agent answers and listens, set by one call.
import { languages } from "../generated/management.js"
import { isRecordId } from "./calls.js"
import { bad, isText } from "./fault.js"
import { callChecks, given, settingsOf, type CallSettings, type Checks } from "./given.js"
import type { Http } from "./http.js"
import type { intellects } from "./intellects.js"
import type { agents } from "./resources.js"
import type { Meta } from "./small.js"
import type { Ks } from "./token.js"
import type { PromptBlock } from "./types.js"

/** The language of an agent. */
export interface ForcedLanguageInput {
  configId: number
  /** The agent whose speech recognition is set; without it, only the intellect's is. */
  agentId?: string
  /** A tag such as `de` or `en-US`; null removes what an earlier call has set. */
  language: string | null
  /** Its name in the instruction to the model. 28 languages have a default, others need one. */
  languageName?: string
  /** The service's description does not say how it is sent: it has no effect, which `_meta.noEffect` says. */
  asrProvider?: string
}

const inputChecks: Checks<ForcedLanguageInput> = { configId: "any", agentId: "any", language: "any", languageName: "any", asrProvider: "any" }

/** What {@link setForcedLanguage} has set. */
export interface ForcedLanguageResult {
  language: string | null
  languageName: string | null
  _meta: Meta
}

/** The key of the prompt with the instruction. */
const promptKey = "forced_language"

/** Sets the instruction, the intellect's language and that of the agent's speech recognition. */
export async function setForcedLanguage(http: Http, { merge }: ReturnType<typeof intellects>, { update }: ReturnType<typeof agents>, input: ForcedLanguageInput, ks: Ks, settings?: CallSettings): Promise<ForcedLanguageResult> {
  const { configId, agentId, language, languageName, asrProvider } = given("the input", input, inputChecks)
  const { signal } = settingsOf(settings, callChecks)
  if (!isRecordId(configId)) throw bad("configId must be the number of an intellect")
  if (agentId !== undefined && !isText(agentId)) throw bad("agentId must be a text that is not empty")
  const name = language === null ? null : nameOf(language, languageName)
  await merge(configId, ({ prompts = [] }) => {
    const rest = prompts.filter(({ key }) => key !== promptKey)
    return { language, prompts: name === null ? rest : [...rest, instruction(name)] }
  }, ks, { signal })
  if (agentId !== undefined) await update({ agentId, speechLanguage: language }, ks, { signal })
  return { language, languageName: name, _meta: http.meta("v1/intellect/update", { scope: `intellect:${configId}`, ...(asrProvider !== undefined && { noEffect: ["asrProvider"] }) }) }
}

function nameOf(language: unknown, name: unknown): string {
  if (typeof language !== "string" || !/^[a-z]{2,3}(-[a-z\d]{1,8})*$/i.test(language)) throw bad("language must be a tag such as de or en-US, or null")
  if (name !== undefined && !isText(name)) throw bad("languageName must be a text that is not empty")
  const found = name ?? languages[language.split("-")[0]!.toLowerCase()]
  if (found === undefined) throw bad(`the language ${language} needs a languageName; known are ${Object.keys(languages).join(", ")}`)
  return found
}

/** The instruction; braces are removed from the name, because it becomes part of a template. */
const instruction = (name: string): PromptBlock => ({
  key: promptKey, label: "Forced language", headerTemplate: "Forced language", type: "custom",
  value: `Always answer in ${name.replaceAll(/[{}]/g, "")}, whatever language the user writes or speaks, unless the user asks for a translation.`,
})
