// Gives the tab that opened this one access to the module hostile.js.
import * as hostile from "./hostile.js"

globalThis.hostile = hostile
opener.dispatchEvent(new Event("tab"))
