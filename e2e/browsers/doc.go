// Package browsers runs the most important tests of whole pages in browsers other than
// Chromium: Firefox, driven by puppeteer-core over WebDriver BiDi, and WebKitGTK, driven
// over WebDriver. `make verify` runs it; docs/browsers.md lists what was run where.
package browsers
