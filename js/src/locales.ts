/**
 * The texts of the elements in ten languages. The elements load them by themselves, by the
 * language of the page (docs/elements.md); this module is for pages that show texts of their own
 * beside them, or draw with `agentruntime/ui`.
 *
 * @module
 */
export { LANGUAGES, loadLocale, type Locale } from "./element/locales.js"
