/** What is used of the modules of Node.js. */
export interface Node {
  fs: { promises: { readFile(path: string): Promise<BufferSource> } }
  url: { fileURLToPath(url: string): string }
}

/**
 * Returns a module of Node.js (20.16 or later), undefined elsewhere. Without an import, so that
 * bundlers for pages find nothing to resolve.
 */
export function node<Name extends keyof Node>(name: Name): Node[Name] | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => Node[Name] | undefined } }
  return process?.getBuiltinModule?.(`node:${name}`)
}
