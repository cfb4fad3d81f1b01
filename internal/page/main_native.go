//go:build !js

package page

import (
	"fmt"
	"os"
)

// Refuse ends a program that was built for something else than a page.
func Refuse() {
	fmt.Fprintln(os.Stderr, "this program runs in a page: build it with GOOS=js GOARCH=wasm, or all of js/dist with `make build`")
	os.Exit(2)
}
