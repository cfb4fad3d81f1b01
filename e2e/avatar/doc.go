// Package avatar tests whole pages: a headless Chromium opens a page with
// js/dist/ as built, and talks to the local service over real sockets, pictures
// and voices, through the relay alone. Each test looks at what a person would
// see and hear, and at what the service saw.
//
// Most tests wait for speech most of the time and run side by side. Those that
// measure time, or count what is left, run alone before them.
//
// It must not know how either side works inside: it uses the package's public
// surface, the service's addresses and its control address.
package avatar
