// What the headers of the example pages share, in the place of this script: the links to the pages, and the choice of an
// agent, which service.js fills. It is no module, so that the browser runs it before it draws what follows, and nothing moves.
{
  const pages = {
    "avatar/": "Face",
    "chat/": "Text",
    "agent/": "Both",
    "element/": "Tag",
    "element/launcher.html": "Launcher",
    "experience/": "Widgets",
    "deck/": "Deck",
    "playground/": "Playground",
  }
  const here = location.pathname.replace(/index\.html$/, "")
  const nav = document.createElement("nav")
  nav.ariaLabel = "Examples"
  for (const [path, name] of Object.entries(pages)) {
    const link = document.createElement("a")
    link.href = `../${path}`
    link.text = name
    if (link.pathname === here) link.ariaCurrent = "page"
    // The launcher is a page beside the tag's.
    if (path !== "element/launcher.html" || here.includes("/element/")) nav.append(link)
  }
  const agent = document.createElement("label")
  agent.innerHTML = `<span>Agent</span> <select id="agent" disabled><option aria-label="loading">…</option></select>`
  document.currentScript.replaceWith(nav, agent)
}
