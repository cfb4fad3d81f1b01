// Package dialogue owns threads and turns for both transports: the HTTP converse
// route and the live session. A turn is the same thing on either of them.
//
// It decides who may talk on a thread, lets one turn at a time run on it, keeps
// what was said, makes numbered segments of what a brain says, and holds the tool
// calls that wait for a page's answer.
//
// It is independent of HTTP, sockets, speech and pictures.
package dialogue
