// Package lifecycle does what follows from the events of threads: it sums up a finished
// conversation, and runs the partner's rules, which find out more about it.
//
// Its input are the events that the store keeps until every rule has seen them. It is
// independent of HTTP and sockets; what needs a language model goes to a [Model].
package lifecycle
