//go:build !race

package localservice_test

const withRace = false
