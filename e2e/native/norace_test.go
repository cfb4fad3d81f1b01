//go:build !race

package native

const withRace = false
