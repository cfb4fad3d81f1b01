//go:build !race

package localservice_test

import "time"

// answerTime is how long an answer may take, to an attack and to others beside it.
const answerTime = 10 * time.Second
