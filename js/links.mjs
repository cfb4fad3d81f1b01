// The published package does not contain the repository: links to its files become absolute.

import { readFileSync, statSync } from "node:fs"
import { join, dirname } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
const { repository } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"))
const address = repository.url.replace(/^git\+|\.git$/g, "")

/** The address of a file or folder of the repository; throws when there is none. Pictures get the address of the file itself. */
function addressOf(path) {
  const stat = statSync(join(here, "..", path), { throwIfNoEntry: false })
  if (!stat) throw new Error(`a link leads to ${path}, which is not in the repository`)
  return `${address}/${stat.isDirectory() ? "tree" : /\.(png|svg)$/.test(path) ? "raw" : "blob"}/main/${path}`
}

/** Makes the links of a document in the repository's root absolute. */
export const absoluteLinks = (markdown) =>
  markdown.replaceAll(/\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)/g, (_, path, anchor = "") => `](${addressOf(path)}${anchor})`)

/** Replaces the names of documents in comments, such as `docs/errors.md`, by their addresses. */
export const absoluteNames = (code) => code.replaceAll(/(?<![\w/])docs\/[\w/]+\.md/g, addressOf)
