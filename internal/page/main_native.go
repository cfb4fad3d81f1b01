//go:build !js

package page

import (
	"fmt"
	"os"
)

// Main reports that the program was built for something else than a page, and ends it.
func Main(string, any) {
	fmt.Fprintln(os.Stderr, "this program runs in a page: build it with GOOS=js GOARCH=wasm, or all of js/dist with `make build`")
	os.Exit(2)
}
