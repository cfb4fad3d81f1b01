import type { Region } from "../generated/settings.js"

/** A record may have more properties than those that are declared. */
interface Open {
  [more: string]: unknown
}

/** Which intellect an agent has. */
export interface AgentIntellect extends Open {
  intellectType: "genie"
  id: number
}

export interface AgentInput extends Open {
  displayName: string
  /** The intellect's id, or a whole intellect. */
  intellect: AgentIntellect | Open
  avatarIds?: string[]
  adminTags?: string[]
  /** Whether visitors may show their screen to the agent. */
  screenShare?: { enabled: boolean }
  /** Seconds, 1 to 3600; default of the service 540. */
  maxConversationLength?: number
  widgetConfig?: Open
  embedConfig?: Open
}

export interface Agent extends AgentInput {
  agentId: string
}

export interface AgentFilter {
  agentId?: string
  adminTagsIn?: string[]
  adminTagsNotIn?: string[]
  /** A part of the name or the id, in upper or lower case. */
  searchValue?: string
}

/** How much a face moves: 0 to 1. */
export interface MotionControl {
  speaking?: number
  nonSpeaking?: number
}

export interface AvatarInput extends Open {
  /** A catalog item; speeds of about 0.7 to 1.2 have an effect. */
  voice: { id: string; speed?: number }
  visual?: { id: string; motionControl?: MotionControl }
  /** Together with `background`. */
  face?: { id: string }
  background?: { type: "color" | "visual"; value?: string }
  templateId?: string
  name?: string
  /** `<blank>` is silent. */
  openingPhrase?: string
}

export interface Avatar extends AvatarInput {
  /** 24 hexadecimal digits. */
  id: string
}

export interface CatalogItem extends Open {
  itemId: string
  type?: "Visual" | "Voice" | "Face" | "Background" | (string & {})
  adminTags?: string[]
  attributes?: Open
}

/** A suggestion for an agent, made from a sentence; nothing is stored. */
export interface Profile {
  goal: string
  targetAudience: string
  restrictedTopics: string
  name: string
  openingPhrase: string
}

/** A part of an intellect's instructions. A blank header or value leaves it out. */
export interface PromptBlock {
  key: string
  label: string
  headerTemplate: string
  type?: "custom" | (string & {})
  value: string
}

export type CapabilityState = "on" | "off" | "disabled"
export type Capabilities = Record<string, CapabilityState>

export interface IntellectFields extends Open {
  /** 0 for deletion, 1 pending, 2 active. */
  status?: number
  name?: string
  description?: string
  tags?: string[]
  prompts?: PromptBlock[]
  base_directive?: string | null
  glossary?: string | null
  capabilities?: Capabilities
  tool_ids?: string[]
  skill_ids?: SkillReference[]
  knowledge_ids?: number[]
  allow_client_variables?: boolean
  /** Values can be written and never read: a stored one is `***`. */
  secrets?: Record<string, string>
  mcp_servers?: Record<string, { url: string } & Open>
  user_properties_forms?: Open[] | null
  opening_phrase?: string | null
  thread_start_tools?: string[]
  model_configuration?: ModelConfiguration | null
  avatar_summary_config?: SummaryConfig | null
  /** The language of speech recognition, BCP 47 as in `en-US`. */
  language?: string | null
  /** Values of your own, which the service does not read. */
  metadata?: Record<string, string>
}

export interface Intellect extends IntellectFields {
  id: number
  type?: "internal" | "external" | (string & {})
}

export interface SkillReference {
  id: string
  mode: "adhoc" | "adhoc-save" | "preloaded"
  /** A bare expression such as `sys__avatar_enabled`. */
  condition?: string
}

export interface ModelConfiguration extends Open {
  model_id?: string
  max_output_tokens?: number
  thinking_level?: string
  /** 0 to 1. */
  temperature?: number
}

export interface SummaryConfig extends Open {
  prompt?: string
  analysis?: Open
  template?: string
  content_type?: string
}

export interface ToolRecord extends Open {
  id: string
  name: string
  config: Open
}

export interface SkillInput {
  name: string
  description: string
  instructions?: string
}

export interface Skill extends Open {
  id: string
  name: string
  description: string
  instructions: string | null
}

export interface Thread extends Open {
  id: string
  title?: string
  created_at?: string
  updated_at?: string
  status?: string
  agent_id?: string
  thread_metadata?: Open
}

export interface ThreadFilter {
  agentIdEquals?: string
  contextIdEqual?: string
  createdAtGreaterThanOrEqual?: string | number
  createdAtLessThanOrEqual?: string | number
  idEquals?: string
  idsIn?: string[]
  isEverywhere?: boolean
  orderBy?: string
  partnerIdEquals?: number
  statusEquals?: string
  statusIn?: string[]
  updatedAtGreaterThanOrEqual?: string | number
  updatedAtLessThanOrEqual?: string | number
  userIdEquals?: string
}

/** What was said in a thread, one turn per line, each after `human:` or `ai:`. */
export interface Transcript extends Open {
  status: string
  data: string
}

export interface Message extends Open {
  id: string
  thread_id?: string
}

export interface FeedbackInput {
  message_id: string
  is_positive: boolean
  comment?: string
}

export interface FeedbackRow extends Open {
  message_id: string
  thread_id?: string
  is_positive: boolean
  comment?: string
}

export interface KnowledgeInput extends Open {
  name: string
  description?: string
  config?: Open
}

export interface KnowledgeRecord extends Open {
  id: number
  name: string
  status?: string
  config?: { sources?: KnowledgeSource[] } & Open
}

export interface KnowledgeSource extends Open {
  indexers?: ({ index_position?: unknown } & Open)[]
}

export interface InsightInput {
  key: string
  title: string
  prompt: string
  valueType: string
}

export interface InsightSetting extends InsightInput, Open {
  id: string
  status?: "active" | "disabled" | (string & {})
}

/** What must hold for a rule to run. */
export interface RuleCondition extends Open {
  field?: string
  operator?: string
  value?: unknown
}

export interface RuleAction extends Open {
  /** `triggerInsightSettingsKai` or `sendEmail`. */
  type?: string
  insightSettingIds?: string[]
  emailTemplateId?: string
  to?: string
}

export interface LifecycleRule extends Open {
  id: string
  name?: string
  status?: string
  eventType?: string
  conditions?: RuleCondition[]
  actions?: RuleAction[]
}

export interface EmailTemplateInput extends Open {
  appGuid: string
  name: string
  subject: string
  body: string
  from: string
  language: string
}

export interface EmailTemplate extends EmailTemplateInput {
  id: string
}

/** What a page needs to connect, for its options. It has a token, for this page's visitor. */
export interface AppInit extends Open {
  partnerId: number
  ks: string
  conversationManagerUrl?: string
  srsBaseUrl?: string
  turnServerUrl?: string
  avatars?: Open[]
}

/** The addresses of a client. */
export interface Endpoints {
  region: Region
  agenticUrl: string
  genieUrl: string
  ovpUrl: string
  /** Null where the region does not have the service. */
  messagingUrl: string | null
}
