import { bad, fault, isObject, isText } from "./fault.js"
import { callChecks, settingsOf, type CallSettings, type Checks } from "./given.js"
import type { Host, Http } from "./http.js"
import type { Ks, Scope } from "./token.js"
import { uuidv4 } from "../compat/ids.js"

export type Json = Record<string, unknown>

/** Confirms a call that removes something; without it the call rejects with `confirmation_required`. */
export interface Confirmation extends CallSettings {
  confirmPermanent: true
}

export const confirmChecks: Checks<Confirmation> = { ...callChecks, confirmPermanent: "boolean" }

/** A create with this key is done once; a repetition gets the first reply. */
export interface KeySettings extends CallSettings {
  /** Default: a random one. */
  idempotencyKey?: string
}

export const keyChecks: Checks<KeySettings> = { ...callChecks, idempotencyKey: "string" }

/** Puts one argument of a method into the body of its request, or throws `bad_request`. */
export type Param = (value: unknown, body: Json) => void

/** An argument that is a text. */
export const text = (name: string): Param => (value, body) => {
  if (!isText(value)) throw bad(`${name} must be a text that is not empty`)
  body[name] = value
}

/** An argument that is the number of an intellect or a knowledge record. */
export const number = (name: string): Param => (value, body) => {
  if (!isRecordId(value)) throw bad(`${name} must be an integer that is not negative`)
  body[name] = value
}

export const isRecordId = (value: unknown): value is number => typeof value === "number" && Number.isSafeInteger(value) && value >= 0

/** An argument whose properties are the body; those named must be there, and `check` throws for bad ones. */
export const fields = (required: readonly string[] = [], check?: (body: Json) => void): Param => (value, body) => {
  if (!isObject(value)) throw bad("the first argument must be an object")
  for (const name of required) {
    const given = value[name]
    if (given == null || (typeof given === "string" && given.trim() === "")) throw bad(`${name} is required`)
  }
  check?.(value)
  Object.assign(body, value)
}

/** An argument whose properties change a record: at least one of the names. */
export const patch = (names: readonly string[], check?: (body: Json) => void): Param => (value, body) => {
  if (!isObject(value)) throw bad("the changes must be an object")
  const changes = Object.entries(value).filter(([name, given]) => names.includes(name) && given !== undefined)
  if (changes.length === 0) throw bad(`the changes must have at least one of ${names.join(", ")}`)
  check?.(value)
  Object.assign(body, Object.fromEntries(changes))
}

/** What makes a call different from the usual one: an admin's, that only reads. */
interface Kind {
  scope?: Scope
  /** A create: `random` sends a key of its own, `given` takes one from the settings. */
  key?: "random" | "given"
  /** What is removed, for a call that must be confirmed. */
  removes?: string
  method?: "GET"
  /** What is in every body. */
  body?: Json
  /** Reads the result from the reply. */
  result?: (reply: unknown, path: string) => unknown
}

/** A call of the service, declared: where, with which arguments. The type of its method is Method. */
export interface Call<Method> extends Kind {
  readonly at: Host
  readonly path: string
  readonly params: readonly Param[]
  readonly method_?: Method
}

/** Declares a call, whose method takes the arguments of params, then a token, then settings. */
export const call = <Method extends (...args: never[]) => Promise<unknown>>(at: Host, path: string, params: readonly Param[] = [], kind: Kind = {}): Call<Method> => ({ ...kind, at, path, params })

/** A list of the service, declared. */
export interface List<Row, Filter, Short = unknown> {
  readonly at: Host
  readonly path: string
  readonly scope?: Scope
  /** The default size of a page; 30 if it is missing. */
  readonly size?: number
  /** The type that a filter must name. A list of `"none"` sends no filter unless one is given. */
  readonly filter?: { readonly objectType: string } | "none"
  /** Names of settings that are short for one condition of the filter. */
  readonly short?: Readonly<Record<string, string>>
  /** The values of `orderBy`; any if they are missing. */
  readonly orders?: readonly string[]
  /** Throws for a bad filter. */
  readonly check?: (filter: Json) => void
  readonly row_?: Row
  readonly filter_?: Filter
  readonly short_?: Short
}

export const list = <Row, Filter extends object = Json, Short = unknown>(at: Host, path: string, more: Omit<List<Row, Filter>, "at" | "path" | "row_" | "filter_" | "short_"> = {}): List<Row, Filter, Short> => ({ ...more, at, path })

/** Settings of a list. */
export interface ListSettings<Filter extends object> extends CallSettings {
  filter?: Filter
  /** How many objects a request gets, 1 to 500. */
  pageSize?: number
  orderBy?: string
}

const listChecks: Checks<ListSettings<object>> = { ...callChecks, filter: "any", pageSize: "any", orderBy: "string" }

/** The methods of a table of calls and lists. */
export type Methods<Table> = {
  [Name in keyof Table]: Table[Name] extends Call<infer Method> ? Method : Table[Name] extends List<infer Row, infer Filter extends object, infer Short> ? (ks: Ks, settings?: ListSettings<Filter> & Short) => Page<Row> : never
}

/** Makes the methods of a table. */
export function methods<Table extends Readonly<Record<string, Call<never> | List<unknown, object>>>>(http: Http, table: Table): Methods<Table> {
  return Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, "params" in entry ? (...args: unknown[]) => run(http, entry, args) : (ks: Ks, settings?: ListSettings<object>) => page(http, entry, ks, settings)])) as Methods<Table>
}

async function run(http: Http, { at, path, params, scope = "admin", key, removes, method, body: fixed, result }: Call<never>, args: unknown[]): Promise<unknown> {
  const body: Json = { ...fixed }
  for (const [i, param] of params.entries()) param(args[i], body)
  const [ks, settings] = args.slice(params.length) as [Ks, KeySettings?]
  if (removes !== undefined) confirm(removes, settings)
  const { signal, idempotencyKey: own } = settingsOf<KeySettings>(settings, { ...(removes === undefined ? callChecks : confirmChecks), ...(key === "given" && keyChecks) } as typeof keyChecks)
  const idempotencyKey = key && (own ?? uuidv4())
  const reply = await http.request({ at, path, body, ks, scope, signal, idempotencyKey, ...(method && { method }) })
  return result ? result(reply, path) : reply
}

/** Throws `confirmation_required` unless the settings confirm. */
export function confirm(what: string, settings: unknown): void {
  if (!isObject(settings) || settings["confirmPermanent"] !== true) throw fault("confirmation_required", `deleting ${what} is permanent: pass { confirmPermanent: true } to do it`)
}

/** The property of a reply that a method returns. */
export const property = (name: string) => (reply: unknown, path: string): unknown => {
  if (!isObject(reply) || reply[name] === undefined) throw fault("invalid_response", `the reply has no ${name}`, { instance: `/${path}` })
  return reply[name]
}

/** A record that the client itself reads; anything else in its place is `invalid_response`. */
export function recordOf<T>(reply: T, path: string): T {
  if (!isObject(reply)) throw fault("invalid_response", "the reply is no record", { instance: `/${path}` })
  return reply
}

/** The largest page. */
const maxPageSize = 500

/** Throws `bad_request` for a size that no page can have. */
export function checkedSize(size: number): number {
  if (!Number.isInteger(size) || size < 1 || size > maxPageSize) throw bad(`pageSize must be an integer from 1 to ${maxPageSize}`)
  return size
}

/** How many pages in succession may begin with the same object, since objects may be added between requests; more mean that the service ignores the pager. */
const samePages = 2

/** The objects of a declared list. */
function page<Row>(http: Http, { at, path, scope = "admin", size = 30, filter: kind, short = {}, orders, check }: List<Row, object>, ks: Ks, settings?: ListSettings<object>): Page<Row> {
  const checks = { ...listChecks, ...Object.fromEntries(Object.keys(short).map((name) => [name, "string" as const])) }
  const { filter, pageSize = size, orderBy, signal } = settingsOf(settings, checks)
  if (filter != null && !isObject(filter)) throw bad("filter must be an object")
  const chosen: Json = { ...filter }
  for (const [name, condition] of Object.entries(short)) {
    const value = (settings as Json | undefined)?.[name]
    if (value !== undefined) chosen[condition] = value
  }
  check?.(chosen)
  if (orderBy !== undefined && orders && !orders.includes(orderBy)) throw bad(`orderBy must be one of ${orders.join(", ")}`)
  const body: Json = { ...(kind === "none" ? Object.keys(chosen).length > 0 && { filter: chosen } : { filter: { ...chosen, ...kind } }), ...(orderBy !== undefined && { orderBy }) }
  const offsets = at === "agenticUrl" || at === "messagingUrl"
  return new Page(pageSize, (index, seen) => http.request({ at, path, ks, scope, signal, body: { ...body, pager: offsets ? { offset: seen, limit: pageSize } : { pageIndex: index + 1, pageSize } } }))
}

/**
 * A list. Await it for its first page, loop over it with `for await` for all of its objects, or call `all()`.
 * A further page is requested when the loop gets there.
 */
export class Page<Row> implements PromiseLike<Row[]>, AsyncIterable<Row> {
  readonly #size: number
  readonly #request: (index: number, seen: number) => Promise<unknown>
  #first: Promise<{ objects: Row[]; total: number }> | undefined

  /** @internal */
  constructor(size: number, request: (index: number, seen: number) => Promise<unknown>) {
    this.#size = checkedSize(size)
    this.#request = request
  }

  /** Resolves with the first page, which is requested once. */
  then<A = Row[], B = never>(done?: ((rows: Row[]) => A | PromiseLike<A>) | null, failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    return this.#page(0, 0).then(({ objects }) => objects).then(done, failed)
  }

  /** Handles the error of the first page. */
  catch<B>(failed: (reason: unknown) => B | PromiseLike<B>): Promise<Row[] | B> {
    return this.then(undefined, failed)
  }

  /** Resolves with the objects of all pages. A loop needs less memory. */
  async all(): Promise<Row[]> {
    const rows: Row[] = []
    for await (const row of this) rows.push(row)
    return rows
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    let begins: string | undefined
    for (let index = 0, seen = 0, same = 0; ; index++) {
      const { objects, total } = await this.#page(index, seen)
      const first = JSON.stringify(objects[0])
      same = first === begins ? same + 1 : 1
      begins = first
      if (same > samePages) throw fault("invalid_response", "the service returns the same page again and again")
      yield* objects
      seen += objects.length
      if (objects.length < this.#size || seen >= total) return
    }
  }

  #page(index: number, seen: number): Promise<{ objects: Row[]; total: number }> {
    const read = async () => {
      const reply = await this.#request(index, seen)
      const { objects, totalCount } = (isObject(reply) ? reply : {}) as { objects?: Row[]; totalCount?: number }
      if (Array.isArray(objects) && !objects.every(isObject)) throw fault("invalid_response", "an object of the list is no record")
      return { objects: Array.isArray(objects) ? objects : [], total: typeof totalCount === "number" ? totalCount : Infinity }
    }
    return index === 0 ? (this.#first ??= read()) : read()
  }
}

