/** The functions of Node.js modules that are used. */
export interface Node {
  fs: { promises: { readFile(path: string): Promise<BufferSource> } }
  url: { fileURLToPath(url: string): string }
}

/**
 * Returns a module of Node.js (20.16 or later), undefined elsewhere. It uses no import
 * statement, so that bundlers for pages find nothing to resolve.
 */
export function node<Name extends keyof Node>(name: Name): Node[Name] | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => Node[Name] | undefined } }
  return process?.getBuiltinModule?.(`node:${name}`)
}
