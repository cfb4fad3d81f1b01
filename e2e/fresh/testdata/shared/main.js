import { begin } from "./agent.js"

begin(document)
