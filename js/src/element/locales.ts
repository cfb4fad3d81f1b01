import { withSame } from "../ui/samemessages.js"
import { same, type Locale, type LocaleTexts } from "./locale.js"

export type { Locale } from "./locale.js"

/** Each language is a module of its own, which is downloaded when it is needed. */
const locales: Readonly<Record<string, () => Promise<LocaleTexts>>> = {
  ar: async () => (await import("./locales/ar.js")).ar,
  de: async () => (await import("./locales/de.js")).de,
  es: async () => (await import("./locales/es.js")).es,
  fr: async () => (await import("./locales/fr.js")).fr,
  he: async () => (await import("./locales/he.js")).he,
  it: async () => (await import("./locales/it.js")).it,
  ja: async () => (await import("./locales/ja.js")).ja,
  nl: async () => (await import("./locales/nl.js")).nl,
  pt: async () => (await import("./locales/pt.js")).pt,
  zh: async () => (await import("./locales/zh.js")).zh,
}

/** The languages that have texts, without English, which the elements contain: primary subtags of BCP 47. */
export const LANGUAGES: readonly string[] = Object.keys(locales)

/**
 * Downloads the texts of a language, such as `"de"` or `"pt-BR"`; the region and the script of
 * the tag are ignored. Undefined for English, and for a language that has no texts. Rejects
 * when the module can't be downloaded.
 */
export async function loadLocale(tag: string): Promise<Locale | undefined> {
  const language = tag.toLowerCase().split("-")[0]!
  return Object.hasOwn(locales, language) ? complete(await locales[language]!()) : undefined
}

/** Adds the texts that are the same as others. */
function complete(texts: LocaleTexts): Locale {
  const groups = Object.entries(same).map(([group, names]) => {
    const others = Object.entries(names).map(([name, other]) => [name, texts[other]])
    return [group, { ...Object.fromEntries(others), ...texts[group as keyof typeof same] }]
  })
  return { ...texts, ...Object.fromEntries(groups), errors: withSame(texts.errors) }
}
