// Package site tests what is live in the site of the docs, as `make docs` has made it, in a browser.
package site
