// Package browsers has the core of the whole-page suites for browsers other than
// Chromium: Firefox, driven by puppeteer-core over WebDriver BiDi, and WebKitGTK, driven
// over WebDriver. `make verify` runs it; docs/browsers.md tells what was run where.
package browsers
