// Package shared holds the files that the example pages have in common, for the servers
// of those that have one.
package shared

import "embed"

// Files are the styles and scripts.
//
//go:embed *.css *.js
var Files embed.FS
