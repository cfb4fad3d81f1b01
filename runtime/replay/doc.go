// Package replay reads a recorded conversation (runtime/record) and plays it: to a listener, in
// real or virtual time; as a script of the local service; and against a new session, whose events
// are compared with the recorded ones. It also declares the format of the files, which both
// packages and the recorder of pages use.
//
// The package must not depend on how sound and pictures are recorded, nor on the local service.
package replay
