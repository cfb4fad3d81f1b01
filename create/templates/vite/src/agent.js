/** Where the agent is: of .env, or of the agent on your machine with npm run dev. */
export const agent = JSON.parse(import.meta.env.VITE_AGENT)
