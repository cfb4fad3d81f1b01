import assert from "node:assert/strict"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test, type TestContext } from "node:test"
import { JSDOM } from "jsdom"
import { SiteNavigator, type SitePlace, type SiteNavigatorOptions } from "../src/navigator.js"
import { ToolEvents } from "./page.js"

const manifest = {
  pages: [
    { path: "/", title: "Home" },
    { path: "/pricing", title: "Pricing", description: "What it costs", sections: [{ id: "plans", title: "Our plans" }, { id: "late" }] },
  ],
}

class Session extends ToolEvents {
  call(args: Record<string, unknown>): Promise<any> {
    return this.callTool("go_to", args)
  }
}

function make(t: TestContext, more: Partial<SiteNavigatorOptions> = {}) {
  const { window } = new JSDOM("<!doctype html><main></main>", { url: "https://site.example/shop/" })
  const session = new Session()
  const log: unknown[] = []
  const places: SitePlace[] = []
  const main = window.document.querySelector("main")!
  const navigate = (path: string) => {
    log.push(`navigate ${path}`)
    window.history.pushState(null, "", path)
    main.innerHTML = path.endsWith("/pricing") ? `<section id="plans"></section>` : ""
  }
  const navigator = new SiteNavigator({
    session, navigate, window: window as unknown as Window, pathPrefix: "/shop", ...(more.manifestUrl === undefined && { manifest }),
    scrollTo: (element) => log.push(`scroll ${element.id}`), point: (element) => log.push(`point ${element.id}`), onNavigate: (place) => places.push(place), warn: (text) => log.push(`warn ${text}`),
    ...more,
  })
  t.after(() => navigator.destroy())
  return { session, navigator, log, places, window, main }
}

test("bad options are refused before anything is requested", () => {
  const session = new Session()
  const navigate = () => {}
  const window = new JSDOM("").window as unknown as Window
  const good = { session, navigate, manifest, window }
  for (const options of [undefined, { ...good, session: {} }, { ...good, navigate: "/" }, { ...good, manifest: undefined }, { ...good, manifestUrl: "/m" }, { ...good, settleMs: -1 }, { ...good, toolCallName: " " }, { ...good, pathPrefix: "//evil" }, { ...good, warn: 1 }]) {
    assert.throws(() => new SiteNavigator(options as SiteNavigatorOptions), { code: "bad_arg" })
  }
  assert.equal(session.tools.size, 0)
})

test("the agent goes to pages and sections of the manifest", async (t) => {
  const { session, navigator, log, places } = make(t)
  assert.deepEqual(await navigator.ready, manifest)
  assert.deepEqual(await session.call({ path: "/pricing" }), { status: "done", path: "/shop/pricing", title: "Pricing" })
  assert.deepEqual(await session.call({ path: "/pricing#plans" }), { status: "done", path: "/shop/pricing#plans", title: "Our plans" })
  assert.deepEqual(log, ["navigate /shop/pricing", "scroll plans", "point plans"], "the page that is shown is not shown again")
  assert.deepEqual(await session.call({ page: "home" }), { status: "done", path: "/shop/", title: "Home" })
  assert.deepEqual(await session.call({ page: "Pricing", section: "our PLANS" }), { status: "done", path: "/shop/pricing#plans", title: "Our plans" })
  assert.deepEqual(places.map(({ path }) => path), ["/shop/pricing", "/shop/pricing#plans", "/shop/", "/shop/pricing#plans"])
})

test("a page whose path the address has percent-encoded is not shown again", async (t) => {
  for (const path of ["/über", "/%C3%BCber"]) {
    const { session, log } = make(t, { manifest: { pages: [{ path, title: "About" }] } })
    for (let i = 0; i < 2; i++) assert.deepEqual(await session.call({ path }), { status: "done", path: `/shop${path}`, title: "About" })
    assert.deepEqual(log, [`navigate /shop${path}`])
  }
})

test("nothing outside of the manifest is shown", async (t) => {
  const { session, log } = make(t)
  for (const path of ["/admin", "https://evil.example/", "//evil.example", "javascript:alert(1)", "/pricing/../admin", "/pricing?x=1", "", undefined, 7, "__proto__"]) {
    const reply = await session.call({ path })
    assert.ok("error" in reply && reply.pages.length === 2, String(path))
  }
  assert.ok("error" in (await session.call({ path: "/pricing", section: "none" })))
  assert.deepEqual(log.filter((line) => String(line).startsWith("navigate")), [])
})

test("a section may come a little after its page, and is reported when it does not", async (t) => {
  const { session, log, main, window } = make(t, { settleMs: 40, updateHash: true })
  const outcome = session.call({ path: "/pricing", section: "late" })
  await new Promise<void>((resolve) => {
    new window.MutationObserver(() => resolve()).observe(main, { childList: true })
  })
  main.insertAdjacentHTML("beforeend", `<p id="late"></p>`)
  assert.deepEqual(await outcome, { status: "done", path: "/shop/pricing#late", title: "Pricing" })
  assert.equal(window.location.hash, "#late")
  main.replaceChildren()
  assert.deepEqual(await session.call({ path: "/pricing", section: "plans" }), { error: "the page /pricing is shown, but its section plans is not there" })
  assert.match(String(log.at(-1)), /warn .*no element with the id plans/)
})

test("one place in a turn, when the page says so, and a failure of the router is told", async (t) => {
  const { session } = make(t, { oncePerTurn: true })
  assert.equal((await session.call({ path: "/pricing" })).status, "done")
  assert.ok("error" in (await session.call({ path: "/" })))
  session.emit("turnStart", { speechId: null, turnId: "t", isNewTurn: true })
  assert.equal((await session.call({ path: "/" })).status, "done")
  const broken = make(t, { navigate: async () => Promise.reject(new Error("no route")) })
  assert.deepEqual(await broken.session.call({ path: "/pricing" }), { error: "the page /pricing could not be shown" })
  assert.deepEqual(broken.log, ["warn navigate failed for /shop/pricing: no route"])
})

test("an agent that waits for a place is told that the page failed", async (t) => {
  const fail = () => assert.fail("no effect")
  for (const name of ["scrollTo", "point", "onNavigate"] as const) {
    const { session, log } = make(t, { scrollTo: () => {}, point: () => {}, [name]: fail })
    const answers: unknown[] = []
    Object.assign(session, { respondToTool: async (...answer: unknown[]) => void answers.push(answer) })
    await assert.rejects(session.callTool("go_to", { path: "/pricing#plans" }, "call-1"), { message: "no effect" })
    assert.deepEqual(answers, [["call-1", { error: "the page failed to do this" }]], name)
    assert.deepEqual(log, ["navigate /shop/pricing", "warn the tool go_to failed: no effect"], name)
  }
})

test("a newer call ends an older one", async (t) => {
  let release = () => {}
  const wait = new Promise<void>((resolve) => (release = resolve))
  const paths: string[] = []
  const { session, places } = make(t, { navigate: (path) => (paths.push(path), path.endsWith("/pricing") ? wait : undefined), currentPath: () => "/elsewhere" })
  const older = session.call({ path: "/pricing" })
  assert.equal((await session.call({ path: "/" })).status, "done")
  release()
  assert.ok("error" in (await older))
  assert.deepEqual([paths, places.length], [["/shop/pricing", "/shop/"], 1])
})

test("manifests are checked", async (t) => {
  const bad = [
    null, {}, { pages: "x" }, { pages: [1] }, { pages: [{ path: "/x" }] }, { pages: [{ path: "x", title: "X" }] }, { pages: [{ path: "//x", title: "X" }] }, { pages: [{ path: "/../x", title: "X" }] },
    { pages: [{ path: "/x?y", title: "X" }] }, { pages: [{ path: "/x", title: "X" }, { path: "/x", title: "Y" }] }, { pages: [{ path: "/x", title: "X", sections: [{}] }] }, { pages: [{ path: "/\\x", title: "X" }] },
  ]
  for (const value of bad) {
    const { navigator, log, session } = make(t, { manifest: value as never })
    await assert.rejects(navigator.ready, { code: "bad_manifest" }, JSON.stringify(value))
    assert.equal(log.length, 1)
    assert.deepEqual(await session.call({ path: "/x" }), { error: "the pages of the site are not known" })
  }
})

test("a manifest is fetched within its bounds", async (t) => {
  const server = createServer((request, reply) => {
    const path = request.url!
    if (path === "/missing") return void reply.writeHead(404).end()
    if (path === "/text") return void reply.end("<html>")
    if (path === "/large") return void reply.end(JSON.stringify({ pages: [], pad: "x".repeat(5000) }))
    if (path === "/slow") return void reply.write(" ")
    reply.end(JSON.stringify(manifest))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  t.after(() => (server.closeAllConnections(), server.close()))
  const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ready = (path: string, more: Partial<SiteNavigatorOptions> = {}) => make(t, { manifestUrl: site + path, ...more }).navigator.ready
  assert.deepEqual(await ready("/good"), manifest)
  await assert.rejects(ready("/missing"), { code: "http_error", status: 404 })
  await assert.rejects(ready("/text"), { code: "bad_manifest" })
  await assert.rejects(ready("/large", { manifestMaxBytes: 1000 }), { code: "too_large" })
  await assert.rejects(ready("/slow", { manifestTimeoutMs: 20 }), { code: "timeout" })
  await assert.rejects(make(t, { manifestUrl: "http://127.0.0.1:1/" }).navigator.ready, { code: "network_error" })
  await assert.rejects(make(t, { manifestUrl: "data:application/json,{}" }).navigator.ready, { code: "bad_arg" })
  const gone = make(t, { manifestUrl: site + "/slow" })
  gone.navigator.destroy()
  await assert.rejects(gone.navigator.ready, { code: "aborted" })
  assert.deepEqual([gone.session.tools.size, gone.log], [0, []])
})
