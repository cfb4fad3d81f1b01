// Knowledge: records of the conversation host, and categories and documents of the media API.
import { MODALITIES } from "../generated/management.js"
import { call, confirm, confirmChecks, fields, isRecordId, list, methods, number, Page, patch, recordOf, type Confirmation, type Json, type ListSettings } from "./calls.js"
import { bad, fault, isObject, isText } from "./fault.js"
import { callChecks, given, settingsOf, type CallSettings, type Checks } from "./given.js"
import type { Http } from "./http.js"
import type { intellects } from "./intellects.js"
import { deleteUnused, form, intellectsThat, type Removed, type UsedDeletion } from "./resources.js"
import { textOfToken, type Ks } from "./token.js"
import type { Intellect, KnowledgeInput, KnowledgeRecord, KnowledgeSource } from "./types.js"

const genie = "genieUrl"

/** What a chapter of a document is made of. */
export const CHAPTER_TYPE = { CAPTION: 1, OCR: 2, DOCUMENT: 3 } as const
/** How it is indexed. */
export const STRATEGY = { CAPTION: "EmbedCaptionV1", OCR: "EmbedOcrV1", DOCUMENT: "EmbedDocumentV1" } as const
export type Modality = (typeof MODALITIES)[number]
/** Type and strategy of each modality. */
export const EMBED = {
  caption: { type: CHAPTER_TYPE.CAPTION, strategy: STRATEGY.CAPTION },
  ocr: { type: CHAPTER_TYPE.OCR, strategy: STRATEGY.OCR },
  document: { type: CHAPTER_TYPE.DOCUMENT, strategy: STRATEGY.DOCUMENT },
} as const satisfies Record<Modality, object>

/** The name of a modality, which may be given as its number. Throws `bad_request`. */
export function normalizeModality(value: unknown): Modality {
  const name = typeof value === "string" ? value.trim().toLowerCase() : value
  const found = MODALITIES.find((modality) => modality === name || EMBED[modality].type === name || String(EMBED[modality].type) === name)
  if (!found) throw bad(`a modality must be one of ${MODALITIES.join(", ")}, or 1, 2, 3`)
  return found
}

/** The indexers for modalities; default: all. Throws `bad_request`. */
export function buildIndexerObjects(modalities: readonly unknown[] = MODALITIES): { indexPosition: number; type: number; strategy: string }[] {
  if (!Array.isArray(modalities)) throw bad("the modalities must be an array")
  const names = modalities.map(normalizeModality)
  if (new Set(names).size < names.length) throw bad("a modality must not be given twice")
  return names.map((name, indexPosition) => ({ indexPosition, ...EMBED[name] }))
}

/** What is looked for. */
export interface SearchInput {
  query: string
  /** Default 5. */
  top_n?: number
  with_line_numbers?: boolean
  /** Default 15. */
  margins_in_seconds?: number
  include_sources?: boolean
  entry_description?: string | boolean
}

const searchChecks: Checks<SearchInput> = { query: "any", top_n: "count", with_line_numbers: "boolean", margins_in_seconds: "number", include_sources: "boolean", entry_description: "any" }

/** How a category is connected to an intellect. */
export interface CategoryLink {
  configId: number
  categoryId: number | string
  /** Default `English`. */
  language?: string
  modalities?: readonly (Modality | number)[]
  documentTypes?: readonly string[]
  /** Characters; default 5000. */
  chunkSize?: number
}

const linkChecks: Checks<CategoryLink> = { configId: "any", categoryId: "any", language: "string", modalities: "array", documentTypes: "array", chunkSize: "any" }

export interface CategoryInput {
  name: string
  parentId?: number
  description?: string
}

export interface Category extends Json {
  id: number
  name: string
  fullName?: string
}

const categoryChecks: Checks<CategoryInput> = { name: "any", parentId: "integer", description: "string" }

interface Upload {
  name: string
  categoryId: number | string
}

const uploadToken = (fileName: string) => ({ service: "uploadtoken", action: "add", uploadToken: { objectType: "KalturaUploadToken", fileName } })
const uploaded = (token: string) => ({ objectType: "KalturaUploadedFileTokenResource", token })

export function knowledge(http: Http, { resource, applyConfig }: ReturnType<typeof intellects>) {
  const records = methods(http, {
    list: list<KnowledgeRecord>(genie, "v1/knowledge/list"),
    addRecord: call<(record: KnowledgeInput, ks: Ks, settings?: CallSettings) => Promise<KnowledgeRecord>>(genie, "v1/knowledge/add", [fields()]),
    getRecord: call<(id: number, ks: Ks, settings?: CallSettings) => Promise<KnowledgeRecord>>(genie, "v1/knowledge/get", [number("id")]),
    /** Changes a record; a `config` replaces the stored one. */
    updateRecord: call<(id: number, changes: Partial<KnowledgeInput>, ks: Ks, settings?: CallSettings) => Promise<KnowledgeRecord>>(genie, "v1/knowledge/update", [number("id"), patch(["name", "description", "config"], ({ name }) => {
      if (name !== undefined && !isText(name)) throw bad("name must be a text that is not empty")
    })]),
    deleteRecord: call<(id: number, ks: Ks, settings: Confirmation) => Promise<unknown>>(genie, "v1/knowledge/delete", [number("id")], { removes: "a knowledge record", key: "random" }),
    /** How far entries of a record are indexed. */
    entryStatus: call<(knowledgeId: number, entryIds: string[], ks: Ks, settings?: CallSettings) => Promise<Json>>(genie, "v1/knowledge/entry_status", [number("knowledge_id"), (ids, body) => {
      if (!Array.isArray(ids) || !ids.every(isText)) throw bad("the entry ids must be an array of texts")
      body["entry_ids"] = ids
    }]),
    indexStatus: call<(ks: Ks, settings?: CallSettings) => Promise<Json>>(genie, "partner-config/stats", [], { body: { filter: {} } }),
  })

  const read = async (id: number, ks: Ks, settings?: CallSettings) => recordOf(await records.getRecord(id, ks, settings), "v1/knowledge/get")
  const createCategory = async (input: CategoryInput, ks: Ks, settings?: CallSettings): Promise<Category> => {
    const { name, parentId, description } = given("a category", input, categoryChecks)
    if (!isText(name)) throw bad("a category needs a name")
    return http.ovp<Category>("category", "add", { category: { objectType: "KalturaCategory", name, ...(parentId !== undefined && { parentId }), ...(description !== undefined && { description }) } }, ks, settings)
  }
  const findCategory = async (fullName: string, ks: Ks, settings?: CallSettings): Promise<Category | null> => {
    if (!isText(fullName)) throw bad("the name of a category is required")
    const found = await http.ovp<{ objects?: Category[] }>("category", "list", { filter: { objectType: "KalturaCategoryFilter", fullNameEqual: fullName }, pager: pagerOf(1, 1) }, ks, settings)
    return found?.objects?.[0] ?? null
  }
  const entries = async (categoryId: number | string, pageIndex: number, pageSize: number, ks: Ks, settings?: CallSettings) =>
    http.ovp<{ objects?: Json[]; totalCount?: number }>("baseentry", "list", {
      filter: { objectType: "KalturaBaseEntryFilter", categoryAncestorIdIn: checkedCategory(categoryId), orderBy: "-createdAt", statusIn: "-1,-2,0,1,2,7,4", typeIn: "1,7,10" },
      pager: pagerOf(pageIndex, pageSize),
    }, ks, settings)
  const attachEntry = async (entryId: string, categoryId: number | string, ks: Ks, settings?: CallSettings) => {
    if (!isText(entryId)) throw bad("the id of the entry is required")
    return http.ovp("categoryentry", "add", { categoryEntry: { objectType: "KalturaCategoryEntry", categoryId: Number(checkedCategory(categoryId)), entryId } }, ks, settings)
  }
  const idsOf = (replies: readonly Json[], ...names: readonly string[]): string[] => replies.map(({ id }, i) => {
    if (typeof id !== "string" && typeof id !== "number") throw fault("server_error", `the reply has no id of the ${names[i]}`, { instance: "/service/multirequest" })
    return String(id)
  })
  const upload = (token: string, file: Blob, fileName: string, ks: Ks, settings?: CallSettings) => {
    const query = `uploadTokenId=${encodeURIComponent(token)}&resume=false&finalChunk=true&resumeAt=0&format=1`
    return http.ovpUpload(`/service/uploadtoken/action/upload?${query}`, (token) => form({ ks: token }, file, fileName, "fileData"), ks, settings)
  }
  const addDocument = async (file: Blob, { name, categoryId }: Upload, content: { service: string; action: string }, ks: Ks, settings?: CallSettings) => {
    if (!isText(name)) throw bad("a document needs a name")
    checkedCategory(categoryId)
    const added = await http.multirequest([{ service: "baseentry", action: "add", entry: { objectType: "KalturaDocumentEntry", name, type: "10", documentType: 11 } }, uploadToken(name)], ks, settings)
    const [entryId, token] = idsOf(added, "entry", "upload token") as [string, string]
    await upload(token, file, name, ks, settings)
    await http.multirequest([
      { ...content, entryId, resource: uploaded(token) },
      { service: "categoryentry", action: "add", categoryEntry: { objectType: "KalturaCategoryEntry", categoryId: Number(categoryId), entryId } },
    ], ks, settings)
    return entryId
  }

  const sources = async (id: number, change: (sources: KnowledgeSource[]) => KnowledgeSource[] | undefined, ks: Ks, settings?: CallSettings) => {
    const { config = {} } = await read(id, ks, settings)
    const changed = change(config.sources ?? [])
    const _meta = http.meta("v1/knowledge/update", { scope: `knowledge:${id}` })
    return changed ? { applied: true, result: await records.updateRecord(id, { config: { ...config, sources: changed } }, ks, settings), _meta } : { applied: false, _meta }
  }
  const same = (a: KnowledgeSource, b: KnowledgeSource) => Object.entries(b).every(([name, value]) => JSON.stringify(a[name]) === JSON.stringify(value))

  const listCategoryEntries = (categoryId: number | string, ks: Ks, settings?: { pageSize?: number } & CallSettings): Page<Json> => {
    const { pageSize = 30, signal } = settingsOf(settings, { ...callChecks, pageSize: "any" })
    return new Page(pageSize, (index) => entries(categoryId, index + 1, pageSize, ks, { signal }))
  }

  /** Lists records. With a category before the token it is `listCategoryEntries`, as in older versions of the reference client. */
  function listRecords(ks: Ks, settings?: ListSettings<Json>): Page<KnowledgeRecord>
  function listRecords(categoryId: number | string, ks: Ks, settings?: { pageSize?: number } & CallSettings): Page<Json>
  function listRecords(first: Ks | number, second?: Ks | ListSettings<Json>, settings?: { pageSize?: number } & CallSettings): Page<Json> {
    if (typeof first === "number" || textOfToken(second) !== "") return listCategoryEntries(first as number | string, second as Ks, settings)
    return records.list(first, second as ListSettings<Json>)
  }

  return {
    ...records,
    list: listRecords,
    createRecord: records.addRecord,
    /** Looks for a text in what the account has indexed. The reply's own `status` says whether something was found. */
    async search(query: string | SearchInput, ks: Ks, settings?: CallSettings): Promise<Json> {
      const { signal } = settingsOf(settings, callChecks)
      const body = typeof query === "string" ? { query } : { ...given("the query", query, searchChecks) }
      if (!isText(body.query)) throw bad("the query must be a text that is not empty")
      return http.request({ at: genie, path: "mcp/search", body, ks, scope: "users", signal, statusInReply: true })
    },
    /** Deletes a record. Rejects with `knowledge_in_use` while intellects have it, unless forced. */
    deleteRecord: (id: number, ks: Ks, settings: UsedDeletion): Promise<Removed> =>
      deleteUnused(http, "knowledge", id, settings, (search) => intellectsThat(({ knowledge_ids: ids }) => Array.isArray(ids) && ids.includes(id), resource, ks, search), (confirmation) => records.deleteRecord(id, ks, confirmation)),
    /** Adds a source to a record, unless it is there. Not safe beside another call for the same record. */
    async addSource(id: number, source: KnowledgeSource, ks: Ks, settings?: CallSettings) {
      if (!isObject(source)) throw bad("the source must be an object")
      return sources(id, (stored) => (stored.some((each) => same(each, source)) ? undefined : [...stored, source]), ks, settings)
    },
    /** Removes the sources that have all properties of the given one. Not safe beside another call for the same record. */
    async removeSource(id: number, source: KnowledgeSource, ks: Ks, settings?: CallSettings) {
      if (!isObject(source) || Object.keys(source).length === 0) throw bad("the source must be an object with at least one property")
      return sources(id, (stored) => (stored.some((each) => same(each, source)) ? stored.filter((each) => !same(each, source)) : undefined), ks, settings)
    },
    /** Whether a record can be found in answers. */
    async isIndexed(id: number, ks: Ks, settings?: CallSettings): Promise<{ ready: boolean; status: string | null; indexPosition: unknown }> {
      const { status, config } = await read(id, ks, settings)
      const indexers = (config?.sources ?? []).flatMap(({ indexers = [] }) => indexers)
      const done = ({ index_position }: { index_position?: unknown }) => index_position != null && index_position !== false
      // The positions say it; a record without any says it with its status.
      const ready = indexers.length > 0 ? indexers.every(done) : status === "READY"
      return { ready, status: status ?? null, indexPosition: indexers.find(done)?.index_position ?? null }
    },
    /** The records of an intellect, and whether it answers from them. */
    async getLinkage(configId: number, ks: Ks, settings?: CallSettings): Promise<{ knowledgeIds: number[]; enabled: boolean }> {
      const { knowledge_ids: knowledgeIds = [], capabilities = {} }: Intellect = recordOf(await resource.get(configId, ks, settings), "v1/intellect/get")
      return { knowledgeIds, enabled: (capabilities["use_knowledge_base"] ?? "on") === "on" }
    },
    async setEnabled(configId: number, enabled: boolean, ks: Ks, settings?: CallSettings) {
      if (typeof enabled !== "boolean") throw bad("enabled must be true or false")
      return resource.setCapability(configId, "use_knowledge_base", enabled ? "on" : "off", ks, settings)
    },
    /** Connects records to an intellect. */
    async linkRecords(configId: number, knowledgeIds: number[], ks: Ks, settings?: CallSettings): Promise<unknown> {
      const { signal } = settingsOf(settings, callChecks)
      if (!isRecordId(configId) || !Array.isArray(knowledgeIds) || !knowledgeIds.every(isRecordId)) throw bad("the configId and the knowledge ids must be integers that are not negative")
      return http.request({ at: genie, path: "partner-config/update", body: { id: configId, config: { knowledge_ids: knowledgeIds, capabilities: { use_knowledge_base: "on" } } }, ks, signal })
    },
    /** Connects a category of the media API to an intellect; `applied` is false when the account may not. */
    async linkCategory(link: CategoryLink, ks: Ks, settings?: CallSettings) {
      const { configId, categoryId, language = "English", modalities, documentTypes, chunkSize = 5000 } = given("the link", link, linkChecks)
      if (!isRecordId(configId)) throw bad("configId must be the number of an intellect")
      if (!(isRecordId(chunkSize) && chunkSize > 0)) throw bad("chunkSize must be a positive integer")
      const indexer = {
        filterType: "categoryEntry", chunkSize, categoryInfo: [{ categoryId: checkedCategory(categoryId), language }],
        ...(modalities && { indexers: buildIndexerObjects(modalities) }), ...(documentTypes && { documentTypes }),
      }
      return applyConfig({ id: configId, config: { indexer, capabilities: { use_knowledge_base: "on" } } }, ks, settings)
    },
    /** Whether the account may connect categories. */
    linkAvailable: resource.brainConfigAvailable,
    /** Lists the entries in a category and in those below it. */
    listCategoryEntries,
    createCategory,
    /** Finds a category by its full name, such as `parent>child`; null if there is none. */
    findCategory,
    async findOrCreateCategory(category: CategoryInput, ks: Ks, settings?: CallSettings): Promise<Category> {
      return (await findCategory(given("a category", category, categoryChecks).name, ks, settings)) ?? createCategory(category, ks, settings)
    },
    attachEntry,
    async detachEntry(entryId: string, categoryId: number | string, ks: Ks, settings: Confirmation): Promise<unknown> {
      confirm("the place of an entry in a category", settings)
      const { signal } = settingsOf(settings, confirmChecks)
      if (!isText(entryId)) throw bad("the id of the entry is required")
      return http.ovp("categoryentry", "delete", { categoryId: Number(checkedCategory(categoryId)), entryId }, ks, { signal })
    },
    /** Adds a document to a category. Rejects with `ovp_error` when a part of it failed. */
    async uploadDocument(document: { file: Blob } & Upload, ks: Ks, settings?: CallSettings) {
      const { file, ...place } = given("the document", document, { file: "any", name: "any", categoryId: "any" })
      if (!(file instanceof Blob)) throw bad("the file must be a Blob or a File")
      return { entryId: await addDocument(file, place, { service: "document_documents", action: "addContent" }, ks, settings), categoryId: place.categoryId }
    },
    /** Adds a Markdown text to a category. Rejects with `ovp_error` when a part of it failed. */
    async uploadMarkdown(document: { markdown: string; name?: string; categoryId: number | string }, ks: Ks, settings?: CallSettings) {
      const { markdown, name = "document.md", categoryId } = given("the document", document, { markdown: "any", name: "any", categoryId: "any" })
      if (!isText(markdown)) throw bad("the markdown must be a text that is not empty")
      const file = new Blob([markdown], { type: "text/markdown" })
      const entryId = await addDocument(file, { name, categoryId }, { service: "baseentry", action: "updateContent" }, ks, settings)
      const [token, asset] = idsOf(await http.multirequest([
        uploadToken(name),
        { service: "attachment_attachmentasset", action: "add", entryId, attachmentAsset: { objectType: "KalturaMarkdownAsset", filename: name, fileExt: "md", format: 5 } },
      ], ks, settings), "upload token", "attachment") as [string, string]
      await upload(token, file, name, ks, settings)
      await http.ovp("attachment_attachmentasset", "setContent", { id: asset, contentResource: uploaded(token) }, ks, settings)
      return { entryId, categoryId, markdownAssetId: asset }
    },
    /** How many entries there are to answer from. */
    async corpusStatus(corpus: { categoryId?: number | string; categoryIds?: readonly (number | string)[]; configId?: number }, ks: Ks, settings?: CallSettings) {
      const { categoryId, categoryIds = [], configId } = given("the corpus", corpus, { categoryId: "id", categoryIds: "array", configId: "count" })
      const { signal } = settingsOf(settings, callChecks)
      const ids = [...(categoryId === undefined ? [] : [categoryId]), ...categoryIds].map(checkedCategory)
      let gate: { retrievalGated?: boolean; reason?: string } = {}
      if (configId !== undefined) {
        const config = await resource.getBrainConfig(configId, ks, { signal }).catch((error: Error) => {
          gate = { retrievalGated: true, reason: error.message }
          return undefined
        })
        const indexer = config?.brainConfig["indexer"]
        const info = isObject(indexer) && Array.isArray(indexer["categoryInfo"]) ? (indexer["categoryInfo"] as Json[]) : []
        ids.push(...info.flatMap(({ categoryId: id }) => (id == null ? [] : [String(id)])))
      }
      if (ids.length === 0 && configId === undefined) throw bad("at least one of categoryId, categoryIds and configId is required")
      const perCategory: Record<string, number> = {}
      for (const id of new Set(ids)) perCategory[id] = (await entries(id, 1, 1, ks, { signal }))?.totalCount ?? 0
      const entryCount = Object.values(perCategory).reduce((sum, count) => sum + count, 0)
      return { entryCount, populated: entryCount > 0, categoryIds: Object.keys(perCategory), perCategory, _meta: http.meta("baseentry/list", { scope: `${ids.length} categories`, ...gate }) }
    },
  }
}

/** The id of a category as a text of digits. Throws `bad_request`. */
function checkedCategory(id: unknown): string {
  if (!(isRecordId(id) || (typeof id === "string" && /^\d+$/.test(id)))) throw bad("the id of a category must be an integer, as a number or a text")
  return String(id)
}

const pagerOf = (pageIndex: number, pageSize: number) => ({ objectType: "KalturaFilterPager", pageIndex, pageSize })

