/** The login to a relay. */
export interface RelayLogin {
  readonly username?: string | undefined
  readonly credential?: string | undefined
}

/** A relay as the browser takes it: at the addresses given, otherwise at the four of its host. */
export function relayServer(host: string, { username, credential }: RelayLogin, addresses?: string[]): RTCIceServer & { urls: string[] } {
  const urls = addresses ?? [`turn:${host}:80?transport=udp`, `turn:${host}:443?transport=udp`, `turn:${host}:80?transport=tcp`, `turns:${host}:443?transport=tcp`]
  return { urls, ...(username !== undefined && { username }), ...(credential !== undefined && { credential }) }
}
