//go:build !js

package page

import (
	"fmt"
	"os"
)

// Main exits with an error: the program works only in a page.
func Main(string, any) {
	fmt.Fprintln(os.Stderr, "this program runs in a page: build it with GOOS=js GOARCH=wasm, or all of js/dist with `make build`")
	os.Exit(2)
}
