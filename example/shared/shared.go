// Package shared embeds the files that the example pages have in common, for the pages
// that have a server of their own.
package shared

import "embed"

// Files are the styles and scripts.
//
//go:embed *.css *.js
var Files embed.FS
