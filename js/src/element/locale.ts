import type { WidgetLabels } from "../ui/labels.js"
import type { Labels } from "./labels.js"
import type { LauncherLabels } from "./launcherlabels.js"
import type { ToolLabels } from "./toollabels.js"

/** All texts of the elements in one language. */
export type Locale = Omit<Labels, "launcher" | "tools" | "widgets"> & { launcher: LauncherLabels; tools: ToolLabels; widgets: WidgetLabels }

/** Texts that are the same as another in every language, by their group and name, with the name of the other. */
export const same = {
  activities: { connecting: "connecting" },
  launcher: { title: "controls", close: "dismiss", loading: "loading", retry: "retry" },
  tools: { file: "controls" },
  widgets: { send: "send" },
} as const

/** The texts of a language without those. */
export type LocaleTexts = { [Name in keyof Locale]: Name extends keyof typeof same ? Omit<Locale[Name], keyof (typeof same)[Name]> : Locale[Name] }
