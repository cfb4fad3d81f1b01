// Package fresh makes the projects that users of the npm package would: it packs the
// tarball, installs it beside Vite, webpack, esbuild, Next and in a page
// without any of them, builds them, and opens what they made against the
// local service. It needs npm's registry, so it is part of `make verify`.
package fresh
