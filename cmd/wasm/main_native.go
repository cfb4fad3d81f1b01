//go:build !js

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "this program runs in a page: build it with GOOS=js GOARCH=wasm, or all of js/dist with `make build`")
	os.Exit(2)
}
