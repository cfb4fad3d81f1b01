// Package loader tests the npm package's loader in whole pages of a headless
// Chromium: what it leaves on a page, what it says when loading fails, and how it
// behaves when the Go program ends or crashes. It tests js/dist/ as built, and
// knows nothing of sessions.
package loader
