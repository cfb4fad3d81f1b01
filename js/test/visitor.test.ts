import assert from "node:assert/strict"
import { test } from "node:test"
import { converse, converseOnce } from "../src/session/converse.js"
import { localError } from "../src/core/errors.js"
import { visitor, type VisitorAccess } from "../src/session/visitor.js"
import { FakeProgram, FakeSource, refusal, settle } from "./fake.js"

const init = { ks: "t", kind: "widget" as const, genieUrl: new URL("https://genie.example/base"), avatars: [], widgetConfig: {} }

test("access that can't be right is refused at once, and nothing is loaded", () => {
  const refused: [object, string][] = [
    [{}, "bad_request"],
    [{ token: "" }, "bad_request"],
    [{ token: "t", kind: "ticket" }, "bad_request"],
    [{ token: "t", region: "moon" }, "bad_request"],
    [{ token: "t", genieUrl: "genie" }, "bad_request"],
    [{ token: "t", genieUrl: "http://genie.example" }, "insecure_transport"],
    [{ token: "t", onResponse: "log" }, "bad_request"],
    [{ token: "t", kind: "admin" }, ""],
    [init, ""],
  ]
  for (const [access, code] of refused) assert.equal(refusal(() => visitor(access as VisitorAccess)), code, JSON.stringify(access))
})

test("every call of a visitor reaches the program", async () => {
  const program = await new FakeProgram().load("chat")
  const { threads, messages, feedback, followups, status } = visitor(init)
  const { signal } = new AbortController()
  const calls: [() => Promise<unknown>, string, object][] = [
    [() => threads.list({ filter: { orderBy: "-createdAt" } }, { signal }), "threadList", { filter: { orderBy: "-createdAt" } }],
    [() => threads.get("a", { signal }), "threadGet", { id: "a" }],
    [() => threads.rename("a", "T", { signal }), "threadRename", { id: "a", title: "T" }],
    [() => threads.delete("a", "b", { signal }), "threadDelete", { ids: ["a", "b"] }],
    [() => threads.delete(["a", "b"], { signal }), "threadDelete", { ids: ["a", "b"] }],
    [() => threads.transcript("a", { signal }), "threadTranscript", { id: "a" }],
    [() => threads.setAnalysis("a", { mood: 1 }, { signal }), "threadSetAnalysis", { id: "a", values: { mood: 1 } }],
    [() => threads.clearAnalysis("a", { signal }), "threadClearAnalysis", { id: "a" }],
    [() => messages.list({ threadId: "a" }, { signal }), "messageList", { threadId: "a" }],
    [() => messages.get("m", { signal }), "messageGet", { id: "m" }],
    [() => messages.share("m", "T", { signal }), "messageShare", { id: "m", title: "T" }],
    [() => feedback.add("m", false, "no", { signal }), "feedbackAdd", { messageId: "m", positive: false, comment: "no" }],
    [() => feedback.add("m", true, { signal }), "feedbackAdd", { messageId: "m", positive: true, comment: undefined }],
    [() => feedback.add("m", true, undefined, { signal }), "feedbackAdd", { messageId: "m", positive: true, comment: undefined }],
    [() => followups.suggested({ signal }), "followupsSuggested", {}],
    [() => status({ signal }), "assistantStatus", {}],
  ]
  for (const [call, name, about] of calls) {
    program.results[name] = () => Promise.resolve(name)
    assert.equal(await call(), name === "feedbackAdd" ? undefined : name)
    const [called, until, access, given] = program.calls.at(-1) as [string, unknown, { token: string; genieUrl: string; kind: string }, object]
    assert.deepEqual([called, until, given], [name, signal, about])
    assert.deepEqual([access.token, access.genieUrl, access.kind], ["t", "https://genie.example/base", "widget"])
  }
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  for (const ids of [[proxy], ["a", proxy], [proxy, {}]]) await assert.rejects(threads.delete(...(ids as string[])), { code: "bad_request" })
  program.results["threadDelete"] = () => Promise.reject(localError("bad_request", "no thread to delete"))
  await assert.rejects(threads.delete(), { code: "bad_request" })
  assert.deepEqual(program.calls.at(-1)?.[3], { ids: [] })
})

test("a date that is none is no missing condition", async () => {
  const program = await new FakeProgram().load("chat")
  const { threads, messages } = visitor(init)
  for (const when of [new Date("soon"), NaN, Infinity]) {
    const filter = { createdAtLessThanOrEqual: when }
    for (const call of [threads.list({ filter }), messages.list({ filter }), threads.all({ filter }).next(), messages.all({ filter }).next()]) {
      await assert.rejects(call, { code: "validation_error", message: "filter.createdAtLessThanOrEqual must be a valid date or a finite number" })
    }
  }
  const unreadable = Object.defineProperty({}, "filter", { get: () => assert.fail("secret") })
  await assert.rejects(threads.list(unreadable), { code: "bad_request", message: "the query cannot be read" })
  assert.deepEqual(program.calls, [])
})

test("a query that would be no condition is refused", async () => {
  const program = await new FakeProgram().load("chat")
  const { threads, messages } = visitor(init)
  const refused: [query: unknown, messages: string, threads: string][] = [
    [{ filters: {} }, "the query has no filters; the keys are filter, pager, threadId", "the query has no filters; the keys are filter, pager"],
    [{ threadID: "a" }, "the query has no threadID; the keys are filter, pager, threadId", "the query has no threadID; the keys are filter, pager"],
    [{ pager: { size: 5 } }, "pager has no size; the keys are pageIndex, pageSize", "pager has no size; the keys are pageIndex, pageSize"],
    [{ threadId: "" }, "threadId must not be empty; leave it out for the messages of all threads", "the query has no threadId; the keys are filter, pager"],
    ["a", "the query must be an object", "the query must be an object"],
  ]
  for (const [query, ofMessages, ofThreads] of refused) {
    for (const call of [messages.list(query as object), messages.all(query as object).next()]) await assert.rejects(call, { code: "validation_error", message: ofMessages })
    for (const call of [threads.list(query as object), threads.all(query as object).next()]) await assert.rejects(call, { code: "validation_error", message: ofThreads })
  }
  assert.deepEqual(program.calls, [])
})

test("lists are read as the loop goes on", async () => {
  const program = await new FakeProgram().load("chat")
  const sources: FakeSource[] = []
  program.results["threadAll"] = program.results["messageAll"] = () => {
    sources.push(new FakeSource([{ id: "a" }, { id: "b" }]))
    return sources.at(-1)
  }
  const { threads, messages } = visitor(init)
  const ids: string[] = []
  const list = threads.all({ pager: { pageSize: 1 } })
  assert.deepEqual(program.names(), [])
  for await (const { id } of list) ids.push(id)
  for await (const { id } of messages.all({ threadId: "a" })) {
    ids.push(id)
    break
  }
  await settle()
  assert.deepEqual(ids, ["a", "b", "a"])
  assert.deepEqual(sources.map(({ left }) => left), [true, true])
  assert.deepEqual(program.calls.map(([name, , about]) => [name, about]), [
    ["threadAll", { pager: { pageSize: 1 } }],
    ["messageAll", { threadId: "a" }],
  ])
  program.results["threadAll"] = () => localError("validation_error", "no such key")
  await assert.rejects(threads.all().next(), { code: "validation_error" })
  const controller = new AbortController()
  controller.abort()
  await assert.rejects(threads.all({}, { signal: controller.signal }).next(), { code: "aborted" })
})

const turn = { token: "t", userMessage: "Hi" }

test("a turn that can't be right is refused at once", async () => {
  const refused: [object, string][] = [
    [{ userMessage: "Hi" }, "bad_request"],
    [{ ...turn, userMessage: " " }, "bad_request"],
    [{ ...turn, kind: "admin" }, "wrong_token_scope"],
    [{ ...turn, region: "moon" }, "bad_request"],
    [{ ...turn, genieUrl: "http://genie.example" }, "insecure_transport"],
    [{ ...turn, requestVars: { sys__ks: "x" } }, "validation_error"],
    [{ ...turn, capabilities: { fly: "on" } }, "unknown_capability"],
    [{ ...turn, modelType: "slow" }, "validation_error"],
    [{ ...turn, forceExperience: "table" }, "validation_error"],
    [{ ...turn, onErrorSegment: "warn" }, "bad_request"],
  ]
  for (const [options, code] of refused) {
    assert.equal(refusal(() => converse(options as typeof turn)), code, JSON.stringify(options))
    await assert.rejects(converseOnce(options as typeof turn), { code }, JSON.stringify(options))
  }
  assert.equal(refusal(() => converse(turn)), "")
})

test("a turn without a session, as it comes and complete", async () => {
  const program = await new FakeProgram().load("chat")
  const source = new FakeSource([{ content: "a" }, { content: "b" }])
  program.results["converse"] = () => source
  program.results["converseOnce"] = () => Promise.resolve({ text: "ab" })
  const { signal } = new AbortController()
  const contents: unknown[] = []
  for await (const { content } of converse({ ...turn, ...init, threadId: "th", sse: true, signal })) contents.push(content)
  await settle()
  assert.deepEqual(contents, ["a", "b"])
  assert.equal(source.left, true)
  assert.equal((await converseOnce({ ...turn, onErrorSegment: "return", signal })).text, "ab")
  const streamed = program.calls[0]?.[1] as Record<string, unknown>
  const [until, once] = program.calls[1]?.slice(1) as [unknown, Record<string, unknown>]
  assert.deepEqual([streamed["token"], streamed["genieUrl"], streamed["threadId"], streamed["sse"]], ["t", "https://genie.example/base", "th", true])
  assert.deepEqual([until, once["userMessage"], once["onErrorSegment"]], [signal, "Hi", "return"])
})

test("a turn waits for the runtime, unless it is aborted", async () => {
  const program = new FakeProgram()
  program.loading("chat")
  const controller = new AbortController()
  const { signal } = controller
  const next = converse({ ...turn, signal }).next()
  const once = converseOnce({ ...turn, signal })
  const list = visitor(init).status({ signal })
  await settle()
  controller.abort()
  for (const call of [next, once, list]) await assert.rejects(call, { code: "aborted" })
  assert.deepEqual(program.calls, [])
})
