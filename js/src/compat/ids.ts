/** A random UUID. */
export function uuidv4(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16)) // randomUUID is missing in pages without TLS
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

/** A random id of n lower-case letters and digits; default 16. It is no secret. */
export function randId(n = 16): string {
  let id = ""
  while (id.length < n) {
    // Bytes beyond the last multiple of 36 would make the first letters more frequent.
    for (const byte of crypto.getRandomValues(new Uint8Array(n))) if (byte < 252 && id.length < n) id += letters[byte % letters.length]
  }
  return id
}
