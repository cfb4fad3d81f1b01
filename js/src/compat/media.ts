// Addresses of videos, in the reference client's form.
import { externalEmbedUrl as embedOf } from "../ui/widgets.js"

/** The hosts whose players may be in a frame of the page. */
export const EMBED_HOSTS: string[] = ["www.youtube-nocookie.com", "player.vimeo.com", "www.kaltura.com", "cdnapisec.kaltura.com"]

const isEntry = (id: unknown): id is string => typeof id === "string" && /^[01]_[a-z0-9]{1,30}$/i.test(id)
const isNumber = (id: unknown): boolean => /^\d{1,12}$/.test(String(id))

/** The address of a picture of an entry; `""` for ids that are none. The width is in pixels. */
export function thumbnailUrl(entryId: unknown, partnerId: unknown, { width }: { width?: number | undefined } = {}): string {
  if (!isEntry(entryId) || !isNumber(partnerId)) return ""
  const sized = Number.isFinite(width) && width! > 0 ? `/width/${Math.round(width!)}` : ""
  return `https://cfvod.kaltura.com/p/${partnerId}/sp/${partnerId}00/thumbnail/entry_id/${entryId}${sized}`
}

/** The address of the service's player for an entry; `""` for ids that are none. */
export function playerEmbedUrl(entryId: unknown, partnerId: unknown, { uiConfId }: { uiConfId?: string | number | undefined } = {}): string {
  if (!isEntry(entryId) || !isNumber(partnerId)) return ""
  const player = isNumber(uiConfId) ? `/uiconf_id/${uiConfId}` : ""
  return `https://www.kaltura.com/index.php/extwidget/preview/partner_id/${partnerId}${player}/entry_id/${entryId}/embed/iframe`
}

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
