//go:build js && wasm

// Package webrtc is completed by this file in the page's copy of pion/webrtc, which lacks
// certificate.go: that makes certificates for pion's own DTLS, and the browser does DTLS.
package webrtc

// Certificate is the type of a field of Configuration that has no effect in a page.
type Certificate struct{}
