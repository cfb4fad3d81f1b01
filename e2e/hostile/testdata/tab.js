// What a tab lends to the one that opened it.
import * as hostile from "./hostile.js"

globalThis.hostile = hostile
opener.dispatchEvent(new Event("tab"))
