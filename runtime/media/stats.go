package media

import (
	"encoding/json"
)

// Stats is what one peer has carried (session-api A.1.5, connectionQuality).
type Stats struct {
	// Known is false while the peer reports nothing to judge by.
	Known bool
	// HasVideo is set once video came in, or went out.
	HasVideo bool
	// VideoBytes and AudioBytes count what came in, or went out on the uplink.
	VideoBytes, AudioBytes uint64
	FramesDecoded          uint64
	RTTMs                  float64 // round trip of the selected pair, milliseconds
	PacketsLost            int64
	Packets                uint64
	JitterMs               float64 // milliseconds, the larger of both kinds
	// Path is the kind of the selected local candidate: host, srflx, prflx or
	// relay.
	Path string
	// Picture is the size that the decoder reports.
	Picture Picture
}

// row is one object of an RTCStatsReport. Browsers and pion leave out what they
// don't have, and a page's polyfill may have anything in a field.
type row map[string]any

func (r row) text(name string) string {
	s, _ := r[name].(string)
	return s
}

func (r row) number(name string) float64 {
	n, _ := r[name].(float64)
	return n
}

func (r row) count(name string) uint64 {
	// Not the conversion of a negative or enormous number, which is undefined.
	if n := r.number(name); n > 0 && n < 1<<53 {
		return uint64(n)
	}
	return 0
}

// parseStats reads the JSON of a report's rows. What is missing or of another
// type stays zero.
func parseStats(report []byte) Stats {
	var rows []row
	if json.Unmarshal(report, &rows) != nil {
		return Stats{}
	}
	var s Stats
	byID := map[string]row{}
	for _, r := range rows {
		if id := r.text("id"); id != "" {
			byID[id] = r
		}
	}
	for _, r := range rows {
		switch r.text("type") {
		case "inbound-rtp":
			s.addInbound(r)
		case "outbound-rtp":
			s.addOutbound(r)
		case "remote-inbound-rtp":
			// What the other side says of our packets.
			s.addLoss(r)
			s.RTTMs = max(s.RTTMs, 1000*r.number("roundTripTime"))
		}
	}
	if pair := selectedPair(rows, byID); pair != nil {
		s.Path = byID[pair.text("localCandidateId")].text("candidateType")
		if rtt := pair.number("currentRoundTripTime"); rtt > 0 {
			s.RTTMs = 1000 * rtt
		}
	}
	return s
}

func (s *Stats) addInbound(r row) {
	s.addBytes(r, "bytesReceived")
	s.addLoss(r)
	s.Packets += r.count("packetsReceived")
	s.FramesDecoded += r.count("framesDecoded")
	if w := r.count("frameWidth"); w > 0 {
		s.Picture = Picture{Width: int(w), Height: int(r.count("frameHeight"))}
	}
}

func (s *Stats) addOutbound(r row) {
	s.addBytes(r, "bytesSent")
	s.Packets += r.count("packetsSent")
}

func (s *Stats) addBytes(r row, name string) {
	s.Known = true
	if r.text("kind") == "video" {
		s.HasVideo = true
		s.VideoBytes += r.count(name)
	} else {
		s.AudioBytes += r.count(name)
	}
}

func (s *Stats) addLoss(r row) {
	s.PacketsLost += int64(r.count("packetsLost"))
	s.JitterMs = max(s.JitterMs, 1000*r.number("jitter"))
}

// selectedPair is the candidate pair in use: the transport names it, except in
// Firefox and pion, where it is the nominated one that succeeded.
func selectedPair(rows []row, byID map[string]row) row {
	for _, r := range rows {
		if r.text("type") == "transport" {
			if pair := byID[r.text("selectedCandidatePairId")]; pair != nil {
				return pair
			}
		}
	}
	for _, r := range rows {
		if nominated, _ := r["nominated"].(bool); nominated && r.text("type") == "candidate-pair" && r.text("state") == "succeeded" {
			return r
		}
	}
	return nil
}
