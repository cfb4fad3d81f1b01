// Package localservice is the whole remote side of a live agent in one process:
// HTTP, control sockets, pictures and voices over WebRTC through a TURN relay,
// a brain, and a database. [Start] runs it, for the command cmd/localservice and
// in the process of a test.
//
// The package puts the parts together and configures their addresses. It contains no
// session logic (live), no routes of the API (api) and no media (media); and it must
// not be linked into a page.
package localservice
