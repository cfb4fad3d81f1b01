// Package agent tests whole pages whose conversation changes between text and an avatar: a
// headless Chromium opens a page with js/dist/ as built, and talks to the local service
// over HTTP and over real sockets, pictures and voices. Each test checks what a person
// would see and hear, and what the service received.
//
// It must not depend on the implementation of either side: it uses the package's public
// interface, the service's addresses and its control address.
package agent
