// Package screenshots takes the pictures of the README and the docs: `make screenshots`.
package screenshots
