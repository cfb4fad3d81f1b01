/** A request as a fake got it. */
export interface FakeRequest {
  readonly url: string
  readonly method: string
  /** By their names in lower case. */
  readonly headers: Record<string, string>
  readonly body: unknown
}

/** A reply: a text or bytes are sent as they are, a stream as it comes, anything else as JSON. */
export interface FakeReply {
  /** Default 200. */
  status?: number | undefined
  body?: unknown
  headers?: Record<string, string> | undefined
}

/** What is answered, and how. A text must be contained in the address. */
export interface FakeRoute {
  match: string | RegExp
  respond: (request: FakeRequest) => FakeReply | Promise<FakeReply>
}

/** A `fetch` with the requests that it got. */
export type FakeFetch = typeof globalThis.fetch & { readonly calls: FakeRequest[] }

/** Makes a `fetch` that answers by the first route that matches, and with 404 without one. A throw or a rejection of `respond` is a failure of the network. */
export function fakeFetch(routes: readonly FakeRoute[]): FakeFetch {
  const calls: FakeRequest[] = []
  const fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const given = input instanceof Request ? input : undefined
    const request: FakeRequest = {
      url: given?.url ?? String(input),
      method: (init.method ?? given?.method ?? "GET").toUpperCase(),
      headers: Object.fromEntries(new Headers(init.headers ?? given?.headers)),
      body: init.body ?? (given ? await given.clone().text() : undefined),
    }
    calls.push(request)
    const signal = init.signal ?? given?.signal
    signal?.throwIfAborted()
    const route = routes.find(({ match }) => (typeof match === "string" ? request.url.includes(match) : request.url.search(match) >= 0))
    const { status = 200, body, headers } = route ? await route.respond(request) : { status: 404 }
    signal?.throwIfAborted()
    const plain = body == null || typeof body === "string" || body instanceof ReadableStream || body instanceof ArrayBuffer || ArrayBuffer.isView(body) || body instanceof Blob
    const empty = [101, 204, 205, 304].includes(status)
    return new Response(empty ? null : plain ? (body as BodyInit | null) : JSON.stringify(body), { status, headers: { ...(!plain && { "content-type": "application/json" }), ...headers } })
  }
  return Object.assign(fetch, { calls })
}

/** The bytes of a text as a stream of one chunk. */
export const streamFrom = (text: string): ReadableStream<Uint8Array> => streamFromChunks([text])

/** The bytes of texts, or bytes, as a stream with one chunk for each. */
export function streamFromChunks(chunks: Iterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const rest = [...chunks]
  return new ReadableStream({
    pull(controller) {
      const chunk = rest.shift()
      if (chunk === undefined) controller.close()
      else controller.enqueue(typeof chunk === "string" ? encoder.encode(chunk) : chunk)
    },
  })
}
