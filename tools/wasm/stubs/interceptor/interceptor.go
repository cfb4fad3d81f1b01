// Package interceptor stands in for pion/interceptor in the programs for the page, where
// the browser does RTCP. It declares what pion/webrtc refers to there.
package interceptor

type Attributes map[any]any

type RTCPReader interface {
	Read([]byte, Attributes) (int, Attributes, error)
}
