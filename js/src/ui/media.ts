import { safeUrl } from "./dom.js"

/** The hosts whose videos {@link drawWidget} plays in the page, once the visitor asks for it. Videos of other hosts become links. */
export const EMBED_HOSTS: readonly string[] = ["www.youtube-nocookie.com", "player.vimeo.com", "www.kaltura.com", "cdnapisec.kaltura.com"]

/** What the frame of a player may do. */
export const playerFrame = {
  allow: "autoplay; fullscreen; picture-in-picture; encrypted-media",
  referrerpolicy: "strict-origin-when-cross-origin",
  sandbox: "allow-scripts allow-same-origin allow-presentation allow-popups",
} as const

/** An account, or a player, by its number. */
type Id = string | number | undefined

const isNumber = (id: unknown): boolean => /^\d{1,12}$/u.test(String(id))

/** Whether both are ids of the service: only those may become parts of an address. */
const areIds = (entryId: unknown, partnerId: Id): boolean => typeof entryId === "string" && /^[01]_[a-z\d]{1,30}$/iu.test(entryId) && isNumber(partnerId)

/**
 * Returns the address of a picture of one of the service's own videos (page-helpers G.3);
 * undefined for ids that are none. `width` is in pixels; without it, the picture has the
 * size that the service chooses.
 */
export function thumbnailUrl(entryId: string | undefined, partnerId: Id, { width }: { width?: number | undefined } = {}): string | undefined {
  if (!areIds(entryId, partnerId)) return undefined
  const size = width !== undefined && width > 0 && Number.isFinite(width) ? `/width/${Math.round(width)}` : ""
  return `https://cfvod.kaltura.com/p/${partnerId}/sp/${partnerId}00/thumbnail/entry_id/${entryId}${size}`
}

/**
 * Returns the address at which one of the service's own videos plays inside a page
 * (page-helpers G.3); undefined for ids that are none. `uiConfId` chooses a player of the
 * account; without it, the service chooses.
 */
export function playerEmbedUrl(entryId: string | undefined, partnerId: Id, { uiConfId }: { uiConfId?: Id } = {}): string | undefined {
  if (!areIds(entryId, partnerId)) return undefined
  const player = isNumber(uiConfId) ? `/uiconf_id/${uiConfId}` : ""
  return `https://www.kaltura.com/index.php/extwidget/preview/partner_id/${partnerId}${player}/entry_id/${entryId}/embed/iframe`
}

/**
 * Returns the address at which a video of YouTube or Vimeo plays inside a page; undefined
 * for other videos, and when the host of that address is not in `hosts`.
 */
export function externalEmbedUrl(value: unknown, hosts: readonly string[] = EMBED_HOSTS): string | undefined {
  const href = safeUrl(value)
  if (href === undefined) return undefined
  const { host, pathname, searchParams } = new URL(href)
  const name = host.replace(/^(www|m)\./u, "")
  let embed: string | undefined
  const path = pathname.split("/").filter(Boolean)
  if (["youtube.com", "youtube-nocookie.com", "youtu.be"].includes(name)) {
    const id = name === "youtu.be" ? path[0] : path[0] === "watch" ? searchParams.get("v") : ["embed", "shorts", "live"].includes(path[0] ?? "") ? path[1] : undefined
    if (/^[\w-]{6,20}$/u.test(id ?? "")) embed = `https://www.youtube-nocookie.com/embed/${id}`
  } else if (["vimeo.com", "player.vimeo.com"].includes(name)) {
    const id = path[0] === "video" ? path[1] : path[0]
    if (/^\d+$/u.test(id ?? "")) embed = `https://player.vimeo.com/video/${id}`
  }
  return allowed(embed, hosts)
}

/** An address, if its host is one of these. */
export const allowed = (embed: string | undefined, hosts: readonly string[]): string | undefined =>
  embed !== undefined && hosts.includes(new URL(embed).host) ? embed : undefined
