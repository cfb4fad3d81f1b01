//go:build race

package localservice_test

import "time"

// answerTime is longer than without the race detector, with which everything takes several
// times as long, beside the other packages' tests.
const answerTime = time.Minute
