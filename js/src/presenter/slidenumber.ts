const ones = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(" ")
const tens = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ")

/**
 * The number of a slide as a model may write it: a whole number, its digits, or an English
 * word up to ninety-nine, also after "slide", "page" or "number". Null for anything else, below
 * 1 and above `max` (default: no limit).
 */
export function parseSlideNumber(raw: unknown, max = Infinity): number | null {
  const found = typeof raw === "number" ? raw : typeof raw === "string" && raw.length <= 80 ? numberIn(raw) : NaN
  return Number.isInteger(found) && found >= 1 && found <= max ? found : null
}

function numberIn(raw: string): number {
  const text = raw.trim().toLowerCase().replace(/[.!?]$/, "").replace(/^(?:(?:slide|page|number)[\s:#]*)+/, "").replace(/^#/, "")
  if (/^\d+$/.test(text)) return Number(text)
  if (ones.includes(text)) return ones.indexOf(text)
  const ten = tens.find((word) => text.startsWith(word))
  if (ten === undefined) return NaN
  const rest = text.slice(ten.length).replace(/^(?:\s*-\s*|\s+)/, "")
  const one = rest === "" ? 0 : ones.indexOf(rest)
  return one >= 0 && one <= 9 && (one > 0 || rest === "") ? 20 + 10 * tens.indexOf(ten) + one : NaN
}
