// The docs as a site: the Markdown files of docs/ as they are, with a search that needs no
// service. A link to a page that is not there fails the build.
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs"
import { join, normalize } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitepress"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const repository = "https://github.com/agentruntime/agentruntime"

/** The groups of the menu; a page that is in none is in the last one. */
const groups = {
  Start: ["start", "playground", "examples", "elements", "react", "javascript", "chat", "ui", "parts", "pagetests", "recording", "moving"],
  Reference: ["options", "events", "errors"],
  Service: ["local-service", "management", "agentctl"],
  "In production": ["hosting", "security", "resilience", "performance", "tracing", "scaling", "load", "browsers"],
  Project: ["architecture", "protocol", "session", "service", "testing"],
}
const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md")).map((name) => name.slice(0, -3))
const listed = Object.values(groups).flat()
groups.Project.push(...pages.filter((page) => !listed.includes(page)))

/** The package as built, of which the playground gets what pages load. */
const built = join(root, "js/dist")
if (!existsSync(join(built, "element.js"))) throw new Error("js/dist has no package: `make build` makes it")

const titleOf = (page) => /^# (.+)$/m.exec(readFileSync(join(root, "docs", `${page}.md`), "utf8"))?.[1].replaceAll("`", "") ?? page

export default defineConfig({
  title: "agentruntime",
  description: "A live, talking AI agent in any web page.",
  srcDir: "pages",
  srcExclude: ["upstream/**"],
  outDir: "../../build/docs",
  // pages is a link to docs/; under this name its files find the packages of this folder.
  vite: { resolve: { preserveSymlinks: true } },
  cleanUrls: true,
  ignoreDeadLinks: "localhostLinks", // the local service, which may run
  rewrites: { "start.md": "index.md" },
  head: [["link", { rel: "icon", href: "/icon.svg", type: "image/svg+xml" }]],
  buildEnd({ outDir }) {
    cpSync(join(root, "example/avatar/icon.svg"), join(outDir, "icon.svg"))
    cpSync(built, join(outDir, "agentruntime/dist"), { recursive: true, filter: (file) => !/\.(ts|map)(\.\w+)?$/.test(file) })
  },
  // The playground is as wide as the window lets it be.
  transformPageData: (page) => page.relativePath === "playground.md" ? { frontmatter: { ...page.frontmatter, aside: false } } : undefined,
  themeConfig: {
    search: { provider: "local" },
    sidebar: Object.entries(groups).map(([text, list]) => ({ text, items: list.filter((page) => pages.includes(page)).map((page) => ({ text: titleOf(page), link: page === "start" ? "/" : `/${page}` })) })),
    socialLinks: [{ icon: "github", link: repository }],
    outline: [2, 3],
  },
  markdown: {
    // Links to what is no page lead to the repository.
    config(md) {
      // Braces are text in the docs, and not expressions of the site's components.
      const { renderer } = md
      const render = renderer.render.bind(renderer)
      renderer.render = (...args) => render(...args).replaceAll("{{", "&#123;&#123;")
      md.core.ruler.push("repository-links", (state) => {
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.type === "link_open" ? token.attrGet("href") : null
          if (!/^(\.\.\/|upstream\/)/.test(href ?? "")) continue
          const [path, anchor = ""] = href.split(/(?=#)/)
          const file = normalize(join("docs", path))
          if (!existsSync(join(root, file))) throw new Error(`${state.env.relativePath}: there is no ${file}`)
          token.attrSet("href", `${repository}/blob/main/${file}${anchor}`)
        }
      })
    },
  },
})
