// Package json has the part of encoding/json that code for a page needs, under
// the same names. Natively it is encoding/json itself; in a page it is the
// browser's JSON, with values converted as internal/jsbridge converts them:
// encoding/json and fmt behind it would be a quarter of what a page without media
// downloads.
//
// In a page it differs where a browser does: the names of fields must match
// exactly, numbers beyond 2^53 are rounded, members keep the order of the
// struct, a nil slice or map is written as an empty one, and a time.Duration as
// milliseconds. Packages that are linked into a page import this one; it must not know
// what they do with it.
package json
