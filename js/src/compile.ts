import { localError } from "./errors.js"

// Browsers stream only this type, without parameters.
const wasmType = "application/wasm"

/** Fetches and compiles the WebAssembly file at url, which messages call name. */
export async function compile(url: URL, name: string): Promise<WebAssembly.Module> {
  const response = await request(url, name)
  const type = (response.headers.get("content-type") ?? "").trim().toLowerCase()
  try {
    if (type === wasmType) return await WebAssembly.compileStreaming(response)
    return await WebAssembly.compile(await response.arrayBuffer())
  } catch (cause) {
    throw compileError(url, type, cause)
  }
}

async function request(url: URL, name: string): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, { credentials: "same-origin" })
  } catch (cause) {
    throw localError("load_failed", `${url.href} cannot be fetched: ${text(cause)}`, { cause, retryable: true })
  }
  if (!response.ok) {
    throw localError(
      "load_failed",
      `${url.href} cannot be fetched: HTTP ${response.status}; is ${name} served there? (option wasmUrl)`,
      { status: response.status, retryable: response.status >= 500 },
    )
  }
  return response
}

function compileError(url: URL, type: string, cause: unknown): Error {
  if (isPolicy(cause)) {
    return localError(
      "load_failed",
      `the page's Content Security Policy forbids WebAssembly: add 'wasm-unsafe-eval' to script-src (${text(cause)})`,
      { cause },
    )
  }
  if (cause instanceof WebAssembly.CompileError) {
    return localError("load_failed", `${url.href} is not a WebAssembly file (its type is "${type}"): ${text(cause)}`, { cause })
  }
  return localError("load_failed", `${url.href} broke off: ${text(cause)}`, { cause, retryable: true })
}

/** Each engine has its own words for a policy's refusal, but all name it. */
function isPolicy(cause: unknown): boolean {
  return /content security policy|\bcsp\b|unsafe-eval/i.test(text(cause))
}

/** The message of whatever was thrown. */
export function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
