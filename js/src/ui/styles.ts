import text from "./ui.css"

/** The text of ui.css, for the shadow trees of elements. */
export const styles: string = text
