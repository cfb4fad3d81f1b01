// Package converse holds what the brain says: the segments that arrive as lines
// of a streamed HTTP reply or as deltas on the control socket, which are the
// same JSON objects (wire-protocol §4.4 and §9.5).
//
// It must not know which transport carried a segment, nor anything of sessions.
package converse
