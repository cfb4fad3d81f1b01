// Package datachannel stands in for pion/datachannel in the programs for the page, where
// the browser does SCTP. It declares the one type that pion/webrtc refers to there.
package datachannel

import "io"

type ReadWriteCloser interface {
	io.ReadWriteCloser
	ReadDataChannel([]byte) (int, bool, error)
	WriteDataChannel([]byte, bool) (int, error)
}
