// Package weburl reads addresses: natively with net/url, in a page with the
// browser's own URL, which is what will go there, and which spares a small page
// net/url and fmt behind it.
//
// It must not know what an address is for, nor which are allowed.
package weburl
