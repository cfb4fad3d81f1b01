/**
 * agentruntime/markdown: the Markdown of `agentruntime/ui` alone. As an entry of its own it
 * is a file of its own too, which pages that show no Markdown don't load.
 */
export { GrowingMarkdown, plainMarkdown, renderMarkdown } from "./ui/markdown.js"
