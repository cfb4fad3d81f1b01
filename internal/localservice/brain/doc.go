// Package brain thinks: it turns a question into pieces of an answer.
//
// Three brains are here. [Demo] is built in and honest about being a demo: it
// remembers its thread, answers from Markdown through a full-text index and calls
// a page's tools on request. [Script] plays what a YAML file says, for tests and
// demos, and leaves the rest to another brain. [Chat] asks an OpenAI-compatible
// chat endpoint.
//
// A brain must not know of transports, of segment numbers, or of the database
// beyond the search it is given: it talks to a [Sink], and the dialogue package
// makes segments of what it says.
package brain
