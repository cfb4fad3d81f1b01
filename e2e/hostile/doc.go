// Package hostile has the tests of text conversations with a service that sends invalid
// replies, aborts them or never replies; of pages that call the package with any value at
// any moment, crash its program, or are left and restored; and of two tabs on one thread.
// It must not depend on the implementation of the runtime.
package hostile
