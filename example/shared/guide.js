/** The pages of the guide, which an agent can show with a client tool. */
export const guide = [
  {
    title: "Ask",
    text: [
      "Type a question and press Enter; Shift and Enter begin a new line. Below an answer are questions that may come next.",
      "The conversation stays when you reload this page. A new one begins with the button beside the agent's name.",
    ],
  },
  {
    title: "Stop",
    text: [
      "The stop button and Escape end an answer, wherever the focus is. What was said until then stays.",
      "The service stops too: it does not go on writing what nobody will read.",
    ],
  },
  {
    title: "More than words",
    text: [
      "Some answers come with flashcards, sources, links or a form. Try: Make flashcards about threads. Or: Show the gallery.",
      "Each answer can be copied and rated.",
    ],
  },
  {
    title: "Tools",
    text: [
      "The agent called tools can use this page. It saves notes, turns the pages of this guide, highlights words in it, and asks you about the weather.",
      "Try: Save a note: call back tomorrow. Or: Connect my calendar, which needs your permission first.",
    ],
  },
  {
    title: "Text and face",
    text: [
      "On the page called Text and face, one conversation goes on with a face and a voice, and back in text.",
      "What you said in one of them is known in the other.",
    ],
  },
]
