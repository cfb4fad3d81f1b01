// Package chat tests whole pages that talk in text: a headless Chromium opens a
// page with js/dist/ as built, and talks to the local service over HTTP. Each test
// looks at what a person would see, and at what the service saw.
//
// It must not know how either side works inside: it uses the package's public
// surface, the service's addresses and its control address.
package chat
