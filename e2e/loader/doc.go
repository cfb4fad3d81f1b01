// Package loader tests the npm package's loader in whole pages of a headless
// Chromium: its traces in the page, its errors when loading fails, and its behaviour
// when the Go program ends or crashes. It tests js/dist/ as built, and must not depend
// on sessions.
package loader
