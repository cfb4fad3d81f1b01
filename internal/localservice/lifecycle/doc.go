// Package lifecycle processes the events of threads: it summarises a finished
// conversation, and runs the partner's rules, which extract further values from it.
//
// Its input is the events, which the store keeps until every rule has seen them. It is
// independent of HTTP and sockets; a [Model] does the work that needs a language model.
package lifecycle
