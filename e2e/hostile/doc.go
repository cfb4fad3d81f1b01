// Package hostile has the tests of text conversations in a page whose service lies,
// breaks off and never answers, and of pages that call the package with anything.
// It must not know how the runtime does what it tests.
package hostile
