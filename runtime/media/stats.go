package media

import (
	"encoding/json"
	"errors"
)

// Stats are the statistics of one peer (session-api A.1.5, connectionQuality).
type Stats struct {
	// Known is false while the peer reports no received or sent media.
	Known bool
	// HasVideo is set once the peer reports video.
	HasVideo bool
	// VideoBytes and AudioBytes count received bytes, on the uplink sent bytes.
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

// row has the properties that are read of one object of an RTCStatsReport. Browsers and pion
// leave out values that they don't have, and a page's polyfill may have anything in a field.
type row struct {
	ID                      string  `json:"id"`
	Type                    string  `json:"type"`
	Kind                    string  `json:"kind"`
	BytesReceived           float64 `json:"bytesReceived"`
	BytesSent               float64 `json:"bytesSent"`
	PacketsReceived         float64 `json:"packetsReceived"`
	PacketsSent             float64 `json:"packetsSent"`
	PacketsLost             float64 `json:"packetsLost"`
	FramesDecoded           float64 `json:"framesDecoded"`
	FrameWidth              float64 `json:"frameWidth"`
	FrameHeight             float64 `json:"frameHeight"`
	Jitter                  float64 `json:"jitter"`
	RoundTripTime           float64 `json:"roundTripTime"`
	CurrentRoundTripTime    float64 `json:"currentRoundTripTime"`
	SelectedCandidatePairID string  `json:"selectedCandidatePairId"`
	LocalCandidateID        string  `json:"localCandidateId"`
	CandidateType           string  `json:"candidateType"`
	Nominated               bool    `json:"nominated"`
	State                   string  `json:"state"`
}

// count returns n, or 0 for a negative or enormous number, whose conversion would be
// undefined.
func count(n float64) uint64 {
	if n > 0 && n < 1<<53 {
		return uint64(n)
	}
	return 0
}

// parseStats reads the JSON of a report's rows. What is missing or of another
// type stays zero.
func parseStats(report []byte) Stats {
	var rows []row
	var otherType *json.UnmarshalTypeError
	if err := json.Unmarshal(report, &rows); err != nil && !errors.As(err, &otherType) {
		return Stats{}
	}
	var s Stats
	byID := map[string]*row{}
	for i := range rows {
		if id := rows[i].ID; id != "" {
			byID[id] = &rows[i]
		}
	}
	for _, r := range rows {
		switch r.Type {
		case "inbound-rtp":
			s.addInbound(r)
		case "outbound-rtp":
			s.addOutbound(r)
		case "remote-inbound-rtp":
			// The other side's report about the packets that this side has sent.
			s.addLoss(r)
			s.RTTMs = max(s.RTTMs, 1000*r.RoundTripTime)
		}
	}
	if pair := selectedPair(rows, byID); pair != nil {
		if local := byID[pair.LocalCandidateID]; local != nil {
			s.Path = local.CandidateType
		}
		if pair.CurrentRoundTripTime > 0 {
			s.RTTMs = 1000 * pair.CurrentRoundTripTime
		}
	}
	return s
}

func (s *Stats) addInbound(r row) {
	s.addBytes(r, r.BytesReceived)
	s.addLoss(r)
	s.Packets += count(r.PacketsReceived)
	s.FramesDecoded += count(r.FramesDecoded)
	if w := count(r.FrameWidth); w > 0 {
		s.Picture = Picture{Width: int(w), Height: int(count(r.FrameHeight))}
	}
}

func (s *Stats) addOutbound(r row) {
	s.addBytes(r, r.BytesSent)
	s.Packets += count(r.PacketsSent)
}

func (s *Stats) addBytes(r row, bytes float64) {
	s.Known = true
	if r.Kind == "video" {
		s.HasVideo = true
		s.VideoBytes += count(bytes)
	} else {
		s.AudioBytes += count(bytes)
	}
}

func (s *Stats) addLoss(r row) {
	s.PacketsLost += int64(count(r.PacketsLost))
	s.JitterMs = max(s.JitterMs, 1000*r.Jitter)
}

// selectedPair is the candidate pair in use: the transport names it, except in
// Firefox and pion, where it is the nominated one that succeeded.
func selectedPair(rows []row, byID map[string]*row) *row {
	for _, r := range rows {
		if r.Type == "transport" {
			if pair := byID[r.SelectedCandidatePairID]; pair != nil {
				return pair
			}
		}
	}
	for i, r := range rows {
		if r.Nominated && r.Type == "candidate-pair" && r.State == "succeeded" {
			return &rows[i]
		}
	}
	return nil
}
