// Package chat tests whole pages that talk in text: a headless Chromium opens a
// page with js/dist/ as built, and talks to the local service over HTTP. Each test
// checks what a person would see, and what the service received.
//
// It must not depend on the implementation of either side: it uses the package's public
// interface, the service's addresses and its control address.
package chat
