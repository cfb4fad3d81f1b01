// Package rtp stands in for pion/rtp in the programs for the page, where the browser does
// RTP. It declares the one type that pion/webrtc refers to there.
package rtp

type Header struct{}
