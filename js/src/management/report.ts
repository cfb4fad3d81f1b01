import { meta, type Meta } from "./small.js"

/** Reads CSV with a header line into one object for each row; every value is a text, a missing one `""`. */
export function parseCsv(text: string): Record<string, string>[] {
  const [header = [], ...rows] = linesOf(typeof text === "string" ? text.replace(/^\ufeff/, "") : "")
  return rows.map((cells) => Object.fromEntries(header.map((name, i) => [name, cells[i] ?? ""])))
}

function linesOf(text: string): string[][] {
  const lines: string[][] = []
  let cells: string[] = []
  let cell = ""
  let quoted = false
  const endOfLine = () => {
    cells.push(cell)
    if (cells.length > 1 || cell !== "") lines.push(cells)
    cells = []
    cell = ""
  }
  for (let i = 0; i < text.length; i++) {
    const letter = text[i]!
    if (quoted) {
      if (letter !== '"') cell += letter
      else if (text[i + 1] === '"') cell += text[++i]
      else quoted = false
    } else if (letter === '"' && cell === "") quoted = true
    else if (letter === ",") {
      cells.push(cell)
      cell = ""
    } else if (letter === "\n" || letter === "\r") {
      if (letter === "\r" && text[i + 1] === "\n") i++
      endOfLine()
    } else cell += letter
  }
  endOfLine()
  return lines
}

/** Figures of a message report. */
export interface ReportSummary {
  totals: { messages: number; threads: number }
  /** `positiveRatio` is the part of the ratings that are positive, 0 to 1; null without ratings. */
  feedback: { positive: number; negative: number; unrated: number; positiveRatio: number | null }
  /** The questions that were asked most often, at most 5. */
  topQuestions: { question: string; count: number }[]
  _meta: Meta
}

/** Computes the figures of a message report, which is CSV. Sends nothing. */
export function summarizeReport(csv: string, partnerId?: string | number): ReportSummary {
  const rows = parseCsv(csv)
  const threads = new Set<string>()
  const questions = new Map<string, number>()
  const counts = { positive: 0, negative: 0, unrated: 0 }
  for (const row of rows) {
    const reaction = (row["Feedback reaction"] ?? "").trim().toLowerCase()
    counts[["1", "true", "positive"].includes(reaction) ? "positive" : ["0", "false", "negative"].includes(reaction) ? "negative" : "unrated"]++
    const thread = row["Thread Id"]
    if (thread) threads.add(thread)
    const question = (row["Question"] ?? "").trim()
    if (question) questions.set(question, (questions.get(question) ?? 0) + 1)
  }
  const rated = counts.positive + counts.negative
  return {
    totals: { messages: rows.length, threads: threads.size },
    feedback: { ...counts, positiveRatio: rated === 0 ? null : Math.round((counts.positive / rated) * 1000) / 1000 },
    // The sort is stable: of those asked equally often, the one that came first.
    topQuestions: Array.from(questions, ([question, count]) => ({ question, count })).sort((a, b) => b.count - a.count).slice(0, 5),
    _meta: meta({ ...(partnerId !== undefined && { partnerId: String(partnerId) }), source: "message/report", scope: `${rows.length} messages` }),
  }
}
