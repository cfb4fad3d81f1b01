package media

// Microphone x.
type Microphone struct{}

// Close y.
func (*Microphone) Close() {}
