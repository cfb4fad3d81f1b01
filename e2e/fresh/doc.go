// Package fresh makes projects like those of the npm package's users: it packs the tarball,
// installs it in projects with Vite, webpack, esbuild and Next, in a page without a bundler
// and in a program for Node.js, builds these, and opens the results with the local service.
// It needs npm's registry, so it is part of `make verify`.
package fresh
