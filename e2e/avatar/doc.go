// Package avatar tests whole pages: a headless Chromium opens a page with
// js/dist/ as built, and talks to the local service over real sockets, pictures
// and voices, through the relay only. Each test checks what a person would see and
// hear, and what the service received.
//
// Most tests wait for speech most of the time and run in parallel. Tests that measure
// time run before them, one at a time.
//
// It must not depend on the implementation of either side: it uses the package's public
// interface, the service's addresses and its control address.
package avatar
