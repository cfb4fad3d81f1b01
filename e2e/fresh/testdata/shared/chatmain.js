import { begin } from "./chat.js"

begin(document)
