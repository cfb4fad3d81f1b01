// Package fresh makes the projects that users of the npm package would: it packs the
// tarball, installs it beside Vite, webpack, esbuild, Next, in a page
// without any of them and in a program for Node.js, builds them, and opens what they made against the
// local service. It needs npm's registry, so it is part of `make verify`.
package fresh
