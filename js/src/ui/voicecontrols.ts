/** What a visitor can turn on and off, of the session that carries the voice. */
export interface VoiceControls {
  readonly micStarted?: boolean
  readonly micEnabled?: boolean
  startMic?(): Promise<unknown>
  mute?(): void
  unmute?(): void
  readonly audioOutputMuted?: boolean
  muteAudioOutput?(): void
  unmuteAudioOutput?(): void
}

/** Turns the microphone on, or mutes it. */
export async function toggleMicrophone(face: VoiceControls): Promise<void> {
  if (face.micStarted && face.micEnabled) return face.mute?.()
  if (!face.micEnabled) face.unmute?.() // it may be muted before it is started
  if (!face.micStarted) await face.startMic?.()
}

/** Mutes or unmutes the agent. */
export function toggleSound(face: VoiceControls): void {
  if (face.audioOutputMuted) face.unmuteAudioOutput?.()
  else face.muteAudioOutput?.()
}
