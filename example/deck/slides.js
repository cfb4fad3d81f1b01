/** The deck. `content.visual` is for the page; everything else is told to the agent. */
export const slides = [
  {
    title: "An agent in your page",
    talking_points: ["A face, a voice and a text field", "No account and no network to try it"],
    narrator_guidance: "Welcome the visitor.",
    content: { visual: "Hello" },
  },
  {
    title: "One runtime",
    talking_points: ["Session logic is plain Go", "In a page it is WebAssembly", "The same code runs natively"],
    content: { visual: "Go" },
  },
  {
    title: "What it costs",
    category: "financial",
    talking_points: ["A download of about one megabyte", "Nothing before the visitor starts"],
    content: { downloadMB: 1, visual: "1 MB" },
  },
  {
    title: "When the network fails",
    talking_points: ["The conversation goes on where it was", "No typed turn is lost silently"],
    content: { visual: "Again" },
  },
  {
    title: "Your turn",
    talking_points: ["Ask anything about these slides", "Say: go to page 2"],
    narrator_guidance: "Ask for questions.",
    content: { visual: "?" },
  },
]
