// Package jsontree is JSON for values without a declared type: [Parse] and
// [Encode] know JSON's own types and nothing else. Natively it is encoding/json,
// in a page the browser's JSON, because encoding/json with fmt behind it is a
// quarter of what a page without media would download.
//
// It is what errors are made of, so it must not import anything of the project.
// For structs there is internal/json.
package jsontree
