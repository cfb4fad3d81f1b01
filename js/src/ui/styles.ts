import text from "./ui.css"

/** The text of ui.css without what the agent sends, for the shadow trees of elements. */
export const styles: string = text
