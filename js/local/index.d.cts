/** The path of the local service's program on this platform. Throws where there is none. */
export function programPath(): string
/** The directory with the example pages, for the flag `-pages`. */
export const pages: string
