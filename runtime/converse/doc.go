// Package converse is the brain's side of a conversation: what it is told
// (requests, variables, capabilities), what it says (segments, and what they
// carry: text, tool calls, widgets, errors), and a turn over HTTP.
//
// Segments arrive as lines of a streamed reply or as deltas on the control
// socket, and are the same JSON objects (wire-protocol §4.4 and §9.5): [Decode]
// reads both, and everything made of segments, [ParseCall], [Dispatcher],
// [Assembler], [Collector], works wherever they come from. [Brain] does a turn
// over HTTP in three forms: Open for who reads it himself, Stream to range over,
// Once to wait for.
//
// It keeps no state between turns and must not know sessions, events or the
// socket. It is linked into the page that has text only, so it must not import
// what is heavy there: regexp, net/http, text/template.
package converse
