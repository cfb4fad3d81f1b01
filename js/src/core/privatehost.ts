/** Like PrivateHost of internal/fetch, for a hostname that URL has normalized. Both are tested with internal/fetch/testdata/hosts.json. */
export function isPrivate(hostname: string): boolean {
  const host = hostname.replace(/\.$/, "")
  if (host.startsWith("[")) return isPrivateIPv6(host.slice(1, -1))
  return privateIPv4.test(host) || !host.includes(".") || /\.local(host)?$/.test(host)
}

const privateIPv4 = /^(0|10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.(\d+\.)*\d+$/

function isPrivateIPv6(address: string): boolean {
  const [head = [], tail] = address.split("::").map((part) => (part === "" ? [] : part.split(":").map((group) => parseInt(group, 16))))
  const groups = tail ? [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail] : head
  const ipv4At = (i: number) => groups.slice(i, i + 2).flatMap((group) => [group >> 8, group & 255]).join(".")
  const prefix = groups.slice(0, 6).map((group) => group.toString(16)).join(":")
  if (["0:0:0:0:0:0", "0:0:0:0:0:ffff", "64:ff9b:0:0:0:0"].includes(prefix)) return privateIPv4.test(ipv4At(6))
  if (prefix.startsWith("2002:")) return privateIPv4.test(ipv4At(1))
  return /^(f[cd]\w\w|fe[89ab]\w|64:ff9b:1):/.test(prefix)
}
