/**
 * agentruntime/scripted: the picture and voice of an avatar whose words come from a server
 * (docs/parts.md#scripted-video). It only plays: no microphone, no socket, no agent. It needs
 * no WebAssembly.
 */
export {
  ScriptedVideoSession, type Relay, type ScriptedConnectivity, type ScriptedState, type ScriptedVideoEvents, type ScriptedVideoOptions, type ScriptedWarning,
} from "./scripted/session.js"
