// Package agent tests whole pages whose conversation is in text and with a face: a
// headless Chromium opens a page with js/dist/ as built, and talks to the local
// service over HTTP, and over real sockets, pictures and voices. Each test looks at
// what a person would see and hear, and at what the service saw.
//
// It must not know how either side works inside: it uses the package's public
// surface, the service's addresses and its control address.
package agent
