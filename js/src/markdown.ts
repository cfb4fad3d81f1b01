/**
 * agentruntime/markdown: the Markdown of `agentruntime/ui` alone. It is a separate entry,
 * and so a separate file, which pages that show no Markdown don't load.
 */
export { GrowingMarkdown, plainMarkdown, renderMarkdown } from "./ui/markdown.js"
