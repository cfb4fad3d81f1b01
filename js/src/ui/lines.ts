// Breaks texts of any script into lines, with the browser's Intl.Segmenter.

/** Characters that are two columns wide: Chinese, Japanese, Korean, and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
/** Scripts without spaces between words. A line may end inside of them. */
export const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
/** A line must not begin with these. */
const closing = /^[\p{Pe}\p{Pf}.,:;!?%、。，．：；！？・…ー々〻ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ゛゜\u0e2f\u0e46]/u
/** A line must not end with these. */
const opening = /[\p{Ps}\p{Pi}]$/u
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

type Granularity = "grapheme" | "word" | "sentence"

const segmenters = new Map<Granularity, Intl.Segmenter>()

function segments(text: string, granularity: Granularity): string[] {
  let segmenter = segmenters.get(granularity)
  if (!segmenter) segmenters.set(granularity, (segmenter = new Intl.Segmenter(undefined, { granularity })))
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

const graphemes = (text: string): string[] => segments(text, "grapheme")

/** The width of a text in columns: a Chinese, Japanese or Korean character and an emoji take two. */
export function columns(text: string): number {
  let count = 0
  for (const grapheme of graphemes(text)) count += wide.test(grapheme) ? 2 : 1
  return count
}

/** The direction of a text: that of its first letter. */
export function directionOf(text: string): "ltr" | "rtl" {
  const letter = text.match(/\p{L}/u)?.[0]
  return letter !== undefined && rightToLeft.test(letter) ? "rtl" : "ltr"
}

/** The text without white space: chunks of speech may have other spaces than the sentences. */
export const compact = (text: string): string => text.replace(/\s+/gu, "")

/** Two texts one after the other, with a space between them where the script has spaces. */
export function join(first: string, second: string): string {
  if (first === "" || second === "" || /\s$/u.test(first) || /^\s/u.test(second)) return first + second
  return unspaced.test(first.at(-1) ?? "") || /[。！？、，]$/u.test(first) ? first + second : `${first} ${second}`
}

/** Splits a text where a line may end; the white space that follows a piece is part of it. */
function pieces(text: string): string[] {
  const found: string[] = []
  for (const part of segments(text, "word")) {
    const last = found.at(-1)
    const apart =
      last !== undefined &&
      !/^\s/u.test(part) &&
      (/\s$/u.test(last) || ((unspaced.test(last.at(-1) ?? "") || unspaced.test(part[0] ?? "")) && !closing.test(part) && !opening.test(last)))
    if (last === undefined || apart) found.push(part)
    else found[found.length - 1] = last + part
  }
  return found
}

function fill(parts: readonly string[], width: number): string[] {
  const lines: string[] = []
  let line = ""
  for (let part of parts) {
    if (line !== "" && columns((line + part).trimEnd()) > width) {
      lines.push(line.trimEnd())
      line = ""
    }
    while (columns(part.trimEnd()) > width) {
      // A word that is longer than a line, such as an address.
      let head = ""
      for (const grapheme of graphemes(part)) {
        if (head !== "" && columns(head + grapheme) > width) break
        head += grapheme
      }
      lines.push(head)
      part = part.slice(head.length)
    }
    line += part
  }
  if (line.trim() !== "") lines.push(line.trimEnd())
  return lines
}

/**
 * The text in lines of no more than `width` columns, about equally long. A line ends
 * between words; in scripts without spaces also inside of a text, but never before a
 * closing mark or after an opening one.
 */
export function breakLines(text: string, width: number): string[] {
  const parts = pieces(text.trim().replace(/\s+/gu, " "))
  const lines = fill(parts, width)
  if (lines.length < 2 || lines.length > 20) return lines // a long text is not worth the search
  let narrow = Math.ceil(columns(text) / lines.length)
  for (; narrow < width; narrow++) {
    const balanced = fill(parts, narrow)
    if (balanced.length === lines.length) return balanced
  }
  return lines
}

// A full stop after these does not end a sentence, in English.
const abbreviation = /(?:^|[\s(])(?:Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|vs|e\.g|i\.e|etc|approx|No|Fig|[A-Z])\.\s*$/u

/** The sentences of a text, each with the white space that follows it. */
export function splitSentences(text: string): string[] {
  const sentences: string[] = []
  for (const part of segments(text, "sentence")) {
    const last = sentences.at(-1)
    if (last !== undefined && (abbreviation.test(last) || part.trim() === "")) sentences[sentences.length - 1] = last + part
    else sentences.push(part)
  }
  return sentences
}
