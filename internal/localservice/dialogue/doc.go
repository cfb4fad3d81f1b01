// Package dialogue owns threads and turns for both transports: the HTTP converse
// route and the live session. A turn is the same on both.
//
// It checks who may talk on a thread, runs one turn at a time on it, stores the
// conversation, makes numbered segments of a brain's answer, and keeps the tool calls
// that wait for a page's answer.
//
// It is independent of HTTP, sockets, speech and pictures.
package dialogue
