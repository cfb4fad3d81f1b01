// Package sessionend tells the service that a conversation is over, at once
// and exactly once, also when the page simply goes away (wire-protocol §8.8 to
// §8.10). Without it the service notices only after about ten minutes.
//
// It owns the page's life as far as conversations care: hiding, showing, the
// back-forward cache, online and offline, and the other tabs that hold the same
// thread. It must not know sockets, media or turns.
package sessionend
