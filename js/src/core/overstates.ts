/** The states of sessions of all kinds after their end. */
export const overStates: readonly string[] = ["closed", "disconnected", "error", "failed"]
