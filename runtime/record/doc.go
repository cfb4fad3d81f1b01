// Package record writes a native conversation to a folder: its events, what the agent says and
// shows, what the microphone sends, captions, and the turns. runtime/replay declares the format
// and reads it; in a page the npm package's entry agentruntime/record does this work.
//
// The package must not depend on how a session works: it gets events, and frames of runtime/av.
package record
