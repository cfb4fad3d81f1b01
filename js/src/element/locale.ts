import type { WidgetLabels } from "../ui/labels.js"
import type { Labels } from "./labels.js"
import type { LauncherLabels } from "./launcherlabels.js"
import type { ToolLabels } from "./toollabels.js"

/** All texts of the elements in one language. */
export type Locale = Omit<Labels, "launcher" | "tools" | "widgets"> & { launcher: LauncherLabels; tools: ToolLabels; widgets: WidgetLabels }
