// What an agent needs for agentruntime/navigator: its tool, and the pages of the site in its instructions.
import { checkManifest, fetchManifest, type SiteManifest, type SitePage } from "../navigator/manifest.js"
import { bad, isText } from "./fault.js"
import { callChecks, settingsOf } from "./given.js"
import { tools, type ToolConfig } from "./toolconfig.js"
import type { PromptBlock } from "./types.js"

/** The definition of the client tool with which an agent shows a page of the site. */
export function goToTool(settings?: { name?: string; description?: string }): ToolConfig {
  const {
    name = "go_to", description = "Shows the visitor a page of the site, or a section of it. Use it when the visitor asks for something that a page of the site map has.",
  } = settingsOf(settings, { name: "any", description: "any" })
  return tools.client({
    name, description, waitForResponse: true,
    args: {
      path: { prompt: "The path of the page, as the site map has it.", type: "str", required: true },
      section: { prompt: "The id of a section of the page, as the site map has it.", type: "str" },
    },
  })
}

/** Checks the pages of a site and returns the manifest that `SiteNavigator` takes. Throws `bad_manifest`. */
export const buildSectionsManifest = (pages: readonly SitePage[]): SiteManifest => checkManifest(pages)

/**
 * Requests the manifest of a site, at most 512 KiB in 10 s. Rejects with `bad_request` for an address that is not http or
 * https, and with `http_error`, `network_error`, `timeout`, `too_large`, `bad_manifest` or `aborted`.
 */
export async function loadSectionsManifest(url: string | URL, settings?: { signal?: AbortSignal }): Promise<SiteManifest> {
  const { signal = new AbortController().signal } = settingsOf(settings, callChecks)
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw bad("the address of a manifest must begin with http:// or https://")
  return fetchManifest(new URL(url), 512 << 10, 10_000, signal)
}

/** A part of an intellect's instructions that has the pages of a site. Throws `bad_manifest`. */
export function siteMapPrompt(manifest: SiteManifest, settings?: { key?: string }): PromptBlock {
  const { key = "siteMap" } = settingsOf(settings, { key: "any" })
  if (!isText(key)) throw bad("key must be a text that is not empty")
  const said = ({ title, description }: { title?: string | undefined; description?: string | undefined }) => [title, description].filter(isText).join(": ")
  const lines = checkManifest(manifest).pages.flatMap((page) => [
    `- ${page.path} ${said(page)}`,
    ...(page.sections ?? []).map((section) => `  - section ${section.id} ${said(section)}`.trimEnd()),
  ])
  // The text is a template, in which doubled braces would be variables.
  return { key, label: key, headerTemplate: "Pages of the site", type: "custom", value: lines.join("\n").replaceAll(/\{\{|\}\}/g, "") }
}
