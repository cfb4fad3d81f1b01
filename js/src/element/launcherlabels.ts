/** The texts of `<agent-launcher>` besides those of its agent, in English. `labels.launcher` replaces any of them. */
export const LAUNCHER_LABELS = {
  open: "Open the conversation",
  /** The same while an answer came that was not seen. */
  unread: "Open the conversation, there is a new answer",
  /** The name of the panel, when the agent has no name. */
  title: "Conversation",
  /** Ends the conversation and forgets its thread. */
  fresh: "New conversation",
  close: "Close",
  loading: "Getting ready…",
  /** The agent's module could not be downloaded. */
  failed: "The agent could not be loaded. Please check your connection.",
  retry: "Try again",
}

/** The texts of a launcher. */
export type LauncherLabels = typeof LAUNCHER_LABELS
