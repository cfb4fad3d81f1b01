// Package hostile has the tests of text conversations in a page whose service lies,
// breaks off and never answers, of pages that call the package with anything and at
// any moment, that end its program, go away and come back, and of two tabs on one
// thread.
// It must not know how the runtime does what it tests.
package hostile
