/** The known name that differs in the fewest letters, if they are few. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let limit = Math.min(4, name.length / 2)
  let best: string | undefined
  for (const each of known) {
    if (Math.abs(each.length - name.length) >= limit) continue
    const letters = distance(name.toLowerCase(), each.toLowerCase())
    if (letters < limit) [best, limit] = [each, letters]
  }
  return best
}

/** How many letters must be added, removed or replaced to make one text of the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++) next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + Number(from[i] !== to[j])))
    row = next
  }
  return row.at(-1)!
}
