// Package parts tests the parts of a page (docs/parts.md), and the example pages that use them, in a browser.
package parts
