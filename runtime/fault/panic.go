package fault

import "runtime"

// PanicText is what p, a recovered panic, says: nearly always an error or a string.
// It is for code in a page, which does without fmt.
func PanicText(p any) string {
	switch p := p.(type) {
	case error:
		return p.Error()
	case string:
		return p
	case interface{ String() string }:
		return p.String()
	default:
		return "a value that is no text"
	}
}

// stackSize holds about forty frames; more doesn't help to find the place.
const stackSize = 8 << 10

// Stack returns the calls that led here. Where a panic is recovered, those that led
// to it are among them.
func Stack() string {
	stack := make([]byte, stackSize)
	return string(stack[:runtime.Stack(stack, false)])
}
