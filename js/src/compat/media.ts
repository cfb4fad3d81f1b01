// Addresses of videos, in the reference client's form.
import { EMBED_HOSTS as hosts, externalEmbedUrl as embedOf, playerEmbedUrl as playerOf, thumbnailUrl as pictureOf } from "../ui/widgets.js"

/** The hosts whose players may be in a frame of the page. */
export const EMBED_HOSTS: string[] = [...hosts]

/** The address of a picture of an entry; `""` for ids that are none. The width is in pixels. */
export const thumbnailUrl = (entryId: unknown, partnerId: unknown, options?: { width?: number | undefined }): string =>
  pictureOf(entryId as string, partnerId as string, options) ?? ""

/** The address of the service's player for an entry; `""` for ids that are none. */
export const playerEmbedUrl = (entryId: unknown, partnerId: unknown, options?: { uiConfId?: string | number | undefined }): string =>
  playerOf(entryId as string, partnerId as string, options) ?? ""

/** The address at which a video of YouTube or Vimeo plays inside a page; both texts are `""` for any other address. */
export function externalEmbedUrl(url: unknown): { embedUrl: string; provider: "YouTube" | "Vimeo" | "" } {
  const embedUrl = embedOf(url, EMBED_HOSTS) ?? ""
  return { embedUrl, provider: embedUrl === "" ? "" : embedUrl.includes("youtube") ? "YouTube" : "Vimeo" }
}

/** Whether an address may be in a frame. */
export function isEmbeddable(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, host } = new URL(url)
  return protocol === "https:" && EMBED_HOSTS.includes(host)
}
