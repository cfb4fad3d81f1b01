import { isObject, bad, fault, isText } from "./fault.js"
import { callChecks, given, type CallSettings, type Checks } from "./given.js"
import type { Json } from "./calls.js"
import type { Http } from "./http.js"
import type { intellects } from "./intellects.js"
import type { knowledge } from "./knowledge.js"
import { lintPersonaIdentity } from "./lint.js"
import { findIntellectsReferencingTool, type agents, type application, type avatars, type catalog, type tools } from "./resources.js"
import { uuidv4 } from "../compat/ids.js"
import type { ToolConfig } from "./toolconfig.js"
import type { Ks } from "./token.js"
import type { Capabilities, Profile, PromptBlock } from "./types.js"

/** What an agent is made of. Blocks from `capabilities` on are optional: they never fail the whole. */
export interface ProvisionInput extends CallSettings {
  /** What the agent is for, in a sentence or more. */
  brief: string
  ks: Ks
  /** Catalog items; default: the first of the account's catalog. */
  voiceId?: string
  visualId?: string
  openingPhrase?: string
  /** Default `["provisioned"]`. */
  adminTags?: string[]
  /** Seconds; default 600. */
  maxConversationLength?: number
  /** The same call with the same key makes nothing twice where the service keeps keys. */
  idempotencyKey?: string
  capabilities?: Capabilities
  tools?: readonly ToolConfig[]
  knowledge?: { name?: string; parentId?: number; description?: string; categoryId?: number | string; language?: string; modalities?: readonly ("document" | "caption" | "ocr")[]; autoLink?: boolean }
}

const inputChecks: Checks<ProvisionInput> = {
  ...callChecks, brief: "any", ks: "any", voiceId: "string", visualId: "string", openingPhrase: "string", adminTags: "array", maxConversationLength: "number", idempotencyKey: "string",
  capabilities: "object", tools: "array", knowledge: "any",
}
const knowledgeChecks: Checks<NonNullable<ProvisionInput["knowledge"]>> = {
  name: "string", parentId: "integer", description: "string", categoryId: "id", language: "string", modalities: "array", autoLink: "boolean",
}

/** The outcomes of the optional blocks. */
export interface ProvisionBlocks {
  capabilities?: { applied: boolean; requested: string[]; reason?: string }
  tools?: {
    attached: string[]; failed: { name: string; reason: string }[]; ids: string[]; linked: string[]; applied: boolean
    skippedUpdates?: { name: string; toolId: string; referencedBy: number[] }[]; linkReason?: string
  }
  knowledge?: { categoryId: number | string | null; created: boolean; linked: boolean; gated: boolean; reason?: string }
}

interface Parts {
  application: ReturnType<typeof application>
  intellects: ReturnType<typeof intellects>["resource"]
  intellectConfig: ReturnType<typeof intellects>["config"]
  catalog: ReturnType<typeof catalog>
  avatars: ReturnType<typeof avatars>
  agents: ReturnType<typeof agents>
  tools: ReturnType<typeof tools>
  knowledge: ReturnType<typeof knowledge>
}

const block = (key: string, headerTemplate: string, value: string): PromptBlock => ({ key, label: key, headerTemplate, type: "custom", value })

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Makes an agent from a sentence: profile, intellect, prompts, voice and face, avatar, agent, widget. */
export async function provision(http: Http, parts: Parts, input: ProvisionInput) {
  if (!isText(given("the input", input, inputChecks).brief)) throw bad("a brief is required: a sentence that says what the agent is for")
  if (input.knowledge != null) given("knowledge", input.knowledge, knowledgeChecks)
  if (!(input.tools ?? []).every(isObject)) throw bad("tools must be an array of what the builders of tools have returned")
  const { brief, ks, voiceId, visualId, openingPhrase, adminTags = ["provisioned"], maxConversationLength = 600, idempotencyKey = uuidv4(), signal } = input
  const settings = { signal }
  const createdSoFar: { configId?: number; avatarId?: string; agentId?: string } = {}
  const step = async <T>(failedStep: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (cause) {
      throw fault("provision_failed", `${failedStep}: ${reasonOf(cause)}`, { body: { failedStep, createdSoFar: { ...createdSoFar } }, cause })
    }
  }
  const profile: Profile = await step("generateProfile", () => parts.application.generateProfile(brief, ks, settings))
  const name = profile.name || "Demo agent"
  const opening = openingPhrase ?? (profile.openingPhrase || "Hello!")
  const { id: configId } = await step("intellect.add", () => parts.intellects.add({ type: "internal", status: 2 }, ks, settings))
  createdSoFar.configId = configId
  const baseDirective = `You are ${name}. Keep your answers short, in the way people speak.`
  const prompts = [
    block("goal", "Your goal", profile.goal ?? ""), block("targetAudience", "Who you talk with", profile.targetAudience),
    block("restrictedTopics", "What you don't talk about", profile.restrictedTopics), block("name", "Your name", name),
  ]
  await step("intellect.update", () => parts.intellects.update({ id: configId, type: "internal", status: 2, prompts, base_directive: baseDirective }, ks, settings))
  const pick = async (type: "Voice" | "Visual"): Promise<string> => {
    const [item] = await parts.catalog.list(ks, { type, pageSize: 1, ...settings })
    if (!item) throw fault("catalog_item_not_found", `the catalog has no item of the type ${type}`)
    return item.itemId
  }
  const [voice, visual] = await step("pick catalog", async () => [voiceId ?? (await pick("Voice")), visualId ?? (await pick("Visual"))] as const)
  const { id: avatarId } = await step("avatar.create", () => parts.avatars.create(
    { voice: { id: voice, speed: 1 }, visual: { id: visual, motionControl: { speaking: 0.6, nonSpeaking: 0.2 } }, openingPhrase: opening }, ks, { ...settings, idempotencyKey: `${idempotencyKey}-avatar` },
  ))
  createdSoFar.avatarId = avatarId
  const { agentId } = await step("agent.create", () => parts.agents.create(
    { displayName: name, intellect: { intellectType: "genie", id: configId }, avatarIds: [avatarId], adminTags, maxConversationLength }, ks, { ...settings, idempotencyKey: `${idempotencyKey}-agent` },
  ))
  createdSoFar.agentId = agentId
  const { widgetId } = await step("resolveWidgetId", () => parts.application.resolveWidgetId(agentId, ks, settings))
  const blocks: ProvisionBlocks = {
    ...(input.capabilities && { capabilities: await capabilitiesBlock(parts, configId, input.capabilities, ks, settings) }),
    ...(input.tools && { tools: await toolsBlock(parts, configId, input.tools, ks, settings) }),
    ...(input.knowledge && { knowledge: await knowledgeBlock(parts, configId, name, input.knowledge, ks, settings) }),
  }
  const optionalBlocks = Object.keys(blocks)
  return {
    name, configId, avatarId, agentId, widgetId, profile, personaLint: lintPersonaIdentity({ name, openingPhrase: opening, baseDirective, prompts }),
    ...(optionalBlocks.length > 0 && { blocks }),
    _meta: http.meta("provision", { scope: `agent:${agentId}`, ...(optionalBlocks.length > 0 && { optionalBlocks }) }),
  }
}

async function capabilitiesBlock({ intellects }: Parts, configId: number, capabilities: Capabilities, ks: Ks, settings: CallSettings): Promise<NonNullable<ProvisionBlocks["capabilities"]>> {
  const requested = Object.keys(capabilities)
  try {
    await intellects.setCapabilities(configId, capabilities, ks, settings)
    return { applied: true, requested }
  } catch (error) {
    return { applied: false, requested, reason: reasonOf(error) }
  }
}

/** Adds tools, or links those that exist by their names: one that no intellect uses is updated. */
async function toolsBlock(parts: Parts, configId: number, tools: readonly ToolConfig[], ks: Ks, settings: CallSettings): Promise<NonNullable<ProvisionBlocks["tools"]>> {
  const outcome: NonNullable<ProvisionBlocks["tools"]> = { attached: [], failed: [], ids: [], linked: [], applied: false }
  const existing = await parts.tools.list(ks, settings).all().catch(() => [])
  for (const tool of tools) {
    try {
      const found = existing.find(({ name }) => name === tool.name)
      if (found) {
        const referencedBy = await findIntellectsReferencingTool(parts, found.id, ks, settings)
        if (referencedBy.length === 0) await parts.tools.update(found.id, { config: tool }, ks, settings)
        else (outcome.skippedUpdates ??= []).push({ name: tool.name, toolId: found.id, referencedBy })
        outcome.linked.push(tool.name)
      }
      outcome.ids.push(found?.id ?? (await parts.tools.add(tool, ks, settings)).id)
      outcome.attached.push(tool.name)
    } catch (error) {
      outcome.failed.push({ name: tool.name, reason: reasonOf(error) })
    }
  }
  try {
    if (outcome.ids.length > 0) await parts.intellectConfig.setToolIds(configId, outcome.ids, ks, settings)
    outcome.applied = outcome.ids.length > 0
  } catch (error) {
    outcome.linkReason = reasonOf(error)
  }
  return outcome
}

async function knowledgeBlock({ knowledge }: Parts, configId: number, agentName: string, { name = agentName, parentId, description, categoryId, language, modalities, autoLink = false }: NonNullable<ProvisionInput["knowledge"]>, ks: Ks, settings: CallSettings): Promise<NonNullable<ProvisionBlocks["knowledge"]>> {
  const outcome: NonNullable<ProvisionBlocks["knowledge"]> = { categoryId: categoryId ?? null, created: false, linked: false, gated: false }
  try {
    if (outcome.categoryId === null) {
      const found = await knowledge.findCategory(name, ks, settings)
      const category: Json & { id: number } = found ?? (await knowledge.createCategory({ name, ...(parentId !== undefined && { parentId }), ...(description !== undefined && { description }) }, ks, settings))
      outcome.categoryId = category.id
      outcome.created = found === null
    }
    if (!autoLink) return outcome
    const link = await knowledge.linkCategory({ configId, categoryId: outcome.categoryId, ...(language !== undefined && { language }), ...(modalities && { modalities }) }, ks, settings)
    return link.applied ? { ...outcome, linked: true } : { ...outcome, gated: true, reason: link.reason }
  } catch (error) {
    return { ...outcome, reason: reasonOf(error) }
  }
}
