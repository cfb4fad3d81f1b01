/** Whether the host of an address is on this machine or in a private network. */
export function whepUrlHasPrivateIp(address: unknown): boolean {
  if (typeof address !== "string" || !URL.canParse(address)) return false
  const { hostname } = new URL(address)
  const mapped = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(hostname)
  const host = mapped ? mapped.slice(1).map((group) => parseInt(group, 16)).flatMap((group) => [group >> 8, group & 255]).join(".") : hostname
  return /^(.+\.)?localhost$/.test(host) || host === "[::1]" || /^\[(f[cd][\da-f]{2}|fe[89ab][\da-f]):/.test(host) || /^(10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01]))\.[\d.]+$/.test(host)
}
