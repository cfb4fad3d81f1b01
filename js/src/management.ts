/**
 * agentruntime/management: building agents, minting tokens and reading conversations, for servers.
 * It has no WebAssembly, and throws when it is imported in a page. The names are those of the service's reference client,
 * so that a server moves over by changing its imports.
 */
import { checkServer } from "./management/server.js"

checkServer()

export { CALL_STAGES, EMBED_TYPES, MODALITIES, SKILL_MODES, TOOL_TYPES } from "./generated/management.js"
export { AgentError, AgentError as KalturaError } from "./core/errors.js"
export type { AgentErrorFields } from "./core/errors.js"
export type { ErrorCode } from "./generated/codes.js"
export { redact } from "./compat/safety.js"
export { collectConverse, parseConverseStream, SPIRAL_RECOVERY_PREFIX, type CollectedTurn, type CollectOptions, type ConverseSource, type RawSegment } from "./compat/stream.js"
export { canonicalJson, parseToolCall, parseToolResponseName, segmentKind } from "./compat/tools.js"
export { Management, Sessions, type OneCallInput } from "./management/management.js"
export { inspectKs, type InspectedKs, type Ks, type MintedKind, type MintedToken } from "./management/token.js"
export { type AdminTokenInput, type AgentTokenInput, type ConversationTokenInput, type Restrictions, type UserTokenInput } from "./management/tokens.js"
export type { CallSettings } from "./management/given.js"
export type { AuditEvent, ManagementOptions, ResponseReport } from "./management/http.js"
export type { Confirmation, KeySettings, ListSettings, Page } from "./management/calls.js"
export { randId, uuidv4 } from "./compat/ids.js"
export { meta, type Meta } from "./management/small.js"
export { parseCsv, summarizeReport, type ReportSummary } from "./management/report.js"
export { type ConverseInput, type SendInput, type Turn } from "./management/conversations.js"
export {
  ARG_TYPES, HTTP_METHODS, hubspotContactUpsert, salesforceContactUpsert, tools,
  type ApiToolInput, type ClientToolInput, type CodeToolInput, type CsvToolInput, type ToolArg, type ToolArgType, type ToolAuthentication, type ToolConfig, type ToolRequest,
} from "./management/toolconfig.js"
export {
  findIntellectsReferencingTool, matchProtectedTag, PROTECTED_TAGS, resolveIntellectId,
  type AgentDeletion, type AvatarSessionHandle, type FeedbackFilter, type MessageFilter, type Removed, type UsedDeletion, type VisualAttributes, type VoiceAttributes,
} from "./management/resources.js"
export {
  buildBrainConfigPatch, buildUserPropertiesForms, validateSecretRefs,
  type BrainConfig, type ForceSettings, type PromptSettings, type PropertiesForm, type SecretCheck, type SecretReference, type Snapshot,
} from "./management/intellects.js"
export { buildIndexerObjects, CHAPTER_TYPE, EMBED, normalizeModality, STRATEGY, type CategoryInput, type CategoryLink, type Modality, type SearchInput } from "./management/knowledge.js"
export {
  assembleSystemPrompt, lintGlossary, lintPersonaIdentity, lintPrompts, RESERVED_VARS, SYS_NAMESPACES, SYS_VARS, validatePromptVars,
  type AssembledPrompt, type AssembleInput, type Finding, type LintSummary, type Persona, type PromptLint, type VariableResult, type VariableSettings,
} from "./management/lint.js"
export type { ResolvedCapability } from "./compat/capabilities.js"
export type { AuditFinding, AuditResult, Diagnosis, DoctorSettings } from "./management/doctor.js"
export type { ForcedLanguageInput, ForcedLanguageResult } from "./management/language.js"
export type { ProvisionBlocks, ProvisionInput } from "./management/provision.js"
export { buildSectionsManifest, goToTool, loadSectionsManifest, siteMapPrompt } from "./management/sitenav.js"
export type { SiteManifest, SitePage, SiteSection } from "./navigator/manifest.js"
export type * from "./management/types.js"

export { GENUI_RUNTIMES } from "./compat/runtimes.js"
