/** Where the agent is: of .env, or of the agent on your machine with npm run dev. */
export const agent = JSON.parse(process.env.NEXT_PUBLIC_AGENT)
