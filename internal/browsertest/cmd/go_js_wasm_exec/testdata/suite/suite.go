// Package suite is a test suite for js/wasm that the runner's tests run in
// every way a suite can go.
package suite

// Double is here to be covered by TestPass.
func Double(n int) int {
	if n < 0 {
		return -2 * -n
	}
	return 2 * n
}
