package media

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"
)

// Stats are what a session's media has received and sent since the session began, or the same
// of one peer. Names, units and meanings are those of the W3C's "Identifiers for WebRTC's
// Statistics API". What is not measured is 0: natively nothing decodes, so the figures of frames are 0.
type Stats struct {
	Video      VideoStats      `json:"video"`
	Audio      InboundStats    `json:"audio"`
	Microphone MicrophoneStats `json:"microphone"`
	// CurrentRoundTripTime is that of the picture's and the voice's connection to the service,
	// otherwise that of the microphone's, in seconds.
	CurrentRoundTripTime float64 `json:"currentRoundTripTime"`
	// CandidateType is how that connection reaches the service: host, srflx, prflx or relay.
	CandidateType string `json:"candidateType"`

	// Known is false while no peer has reported received or sent media.
	Known bool `json:"-"`
	// HasVideo is set once video was reported.
	HasVideo bool `json:"-"`
}

// InboundStats are what was received of one kind of media.
type InboundStats struct {
	BytesReceived   uint64 `json:"bytesReceived"` // without headers
	PacketsReceived uint64 `json:"packetsReceived"`
	PacketsLost     int64  `json:"packetsLost"`
	// Jitter of the packets, in seconds; the latest value.
	Jitter float64 `json:"jitter"`
}

// VideoStats are what was received of the picture.
type VideoStats struct {
	InboundStats
	FramesDecoded uint64 `json:"framesDecoded"`
	FramesDropped uint64 `json:"framesDropped"`
	FreezeCount   uint64 `json:"freezeCount"`
	// TotalFreezesDuration is in seconds.
	TotalFreezesDuration float64 `json:"totalFreezesDuration"`
	// FrameWidth and FrameHeight are the size of the latest frame, in pixels.
	FrameWidth  int `json:"frameWidth"`
	FrameHeight int `json:"frameHeight"`
}

// MicrophoneStats are what was sent of the microphone. Loss, jitter and round trip are what the
// service has reported about it.
type MicrophoneStats struct {
	BytesSent   uint64 `json:"bytesSent"` // without headers
	PacketsSent uint64 `json:"packetsSent"`
	PacketsLost int64  `json:"packetsLost"`
	// Jitter and RoundTripTime are in seconds; the latest values.
	Jitter        float64 `json:"jitter"`
	RoundTripTime float64 `json:"roundTripTime"`
}

// Picture is the size that the decoder reports.
func (s *Stats) Picture() Picture {
	return Picture{Width: s.Video.FrameWidth, Height: s.Video.FrameHeight}
}

// add adds the counters of another peer, later than s, whose latest values replace those of s.
func (s *Stats) add(o Stats) {
	if !o.Known {
		return
	}
	s.Known, s.HasVideo = true, s.HasVideo || o.HasVideo
	s.Video.InboundStats.add(o.Video.InboundStats)
	s.Audio.add(o.Audio)
	v := &s.Video
	v.FramesDecoded += o.Video.FramesDecoded
	v.FramesDropped += o.Video.FramesDropped
	v.FreezeCount += o.Video.FreezeCount
	v.TotalFreezesDuration += o.Video.TotalFreezesDuration
	if o.Video.FrameWidth > 0 {
		v.FrameWidth, v.FrameHeight = o.Video.FrameWidth, o.Video.FrameHeight
	}
	m := &s.Microphone
	m.BytesSent += o.Microphone.BytesSent
	m.PacketsSent += o.Microphone.PacketsSent
	m.PacketsLost += o.Microphone.PacketsLost
	if o.Microphone.PacketsSent > 0 {
		m.Jitter, m.RoundTripTime = o.Microphone.Jitter, o.Microphone.RoundTripTime
	}
	if o.receives() || !s.receives() {
		s.CurrentRoundTripTime, s.CandidateType = o.CurrentRoundTripTime, o.CandidateType
	}
}

func (s *Stats) receives() bool { return s.Video.PacketsReceived+s.Audio.PacketsReceived > 0 }

func (i *InboundStats) add(o InboundStats) {
	i.BytesReceived += o.BytesReceived
	i.PacketsReceived += o.PacketsReceived
	i.PacketsLost += o.PacketsLost
	if o.PacketsReceived > 0 {
		i.Jitter = o.Jitter
	}
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
	FramesDropped           float64 `json:"framesDropped"`
	FreezeCount             float64 `json:"freezeCount"`
	TotalFreezesDuration    float64 `json:"totalFreezesDuration"`
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
			s.Known = true
			s.Microphone.BytesSent += count(r.BytesSent)
			s.Microphone.PacketsSent += count(r.PacketsSent)
		case "remote-inbound-rtp":
			// The other side's report about the packets that this side has sent.
			s.Microphone.PacketsLost += int64(count(r.PacketsLost))
			s.Microphone.Jitter = max(s.Microphone.Jitter, r.Jitter)
			s.Microphone.RoundTripTime = max(s.Microphone.RoundTripTime, r.RoundTripTime)
		}
	}
	s.CurrentRoundTripTime = s.Microphone.RoundTripTime
	if pair := selectedPair(rows, byID); pair != nil {
		if local := byID[pair.LocalCandidateID]; local != nil {
			s.CandidateType = local.CandidateType
		}
		if pair.CurrentRoundTripTime > 0 {
			s.CurrentRoundTripTime = pair.CurrentRoundTripTime
		}
	}
	return s
}

func (s *Stats) addInbound(r row) {
	s.Known = true
	in := &s.Audio
	if r.Kind == "video" {
		s.HasVideo = true
		v := &s.Video
		in = &v.InboundStats
		v.FramesDecoded += count(r.FramesDecoded)
		v.FramesDropped += count(r.FramesDropped)
		v.FreezeCount += count(r.FreezeCount)
		v.TotalFreezesDuration += max(0, r.TotalFreezesDuration)
		if w := count(r.FrameWidth); w > 0 {
			v.FrameWidth, v.FrameHeight = int(w), int(count(r.FrameHeight))
		}
	}
	in.BytesReceived += count(r.BytesReceived)
	in.PacketsReceived += count(r.PacketsReceived)
	in.PacketsLost += int64(count(r.PacketsLost))
	in.Jitter = max(in.Jitter, r.Jitter)
}

// selectedPair is the candidate pair in use: the transport names it, except in
// Firefox, where it is the nominated one that succeeded.
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

// finalReport bounds the wait for the last statistics of a peer that is being closed.
const finalReport = time.Second

// totals are the statistics of an engine's peers, also of those that have ended.
type totals struct {
	mu    sync.Mutex
	ended Stats
	peers []*peer // in the order of their beginning
}

func (t *totals) begin(p *peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.peers = append(t.peers, p)
}

// end adds the last statistics of a peer that is being closed.
func (t *totals) end(p *peer) {
	ctx, cancel := context.WithTimeout(context.Background(), finalReport)
	defer cancel()
	_, _ = p.measure(ctx) // otherwise those of before remain
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended.add(p.last)
	t.peers = slices.DeleteFunc(t.peers, func(o *peer) bool { return o == p })
	close(p.counted)
}

// Stats are the totals of all peers, also of those that a recovery has replaced. The error is
// the end of ctx.
func (e *Engine) Stats(ctx context.Context) (Stats, error) {
	e.totals.mu.Lock()
	peers := slices.Clone(e.totals.peers)
	e.totals.mu.Unlock()
	for _, p := range peers {
		// A peer without a report counts with the one before.
		if _, err := p.stats(ctx); err != nil && p.ctx.Err() != nil {
			select {
			case <-p.counted:
			case <-ctx.Done():
			}
		}
	}
	if ctx.Err() != nil {
		return Stats{}, context.Cause(ctx)
	}
	e.totals.mu.Lock()
	defer e.totals.mu.Unlock()
	sum := e.totals.ended
	for _, p := range e.totals.peers {
		sum.add(p.last)
	}
	return sum, nil
}

// stats are the peer's statistics, until it is closed.
func (p *peer) stats(ctx context.Context) (Stats, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	st, err := p.measure(ctx)
	if err != nil && p.ctx.Err() != nil {
		err = ErrClosed
	}
	return st, err
}

// measure reads the peer's statistics and keeps them for the totals. It reads one report after the other: the totals would
// shrink when an older one is kept after a newer one.
func (p *peer) measure(ctx context.Context) (Stats, error) {
	select {
	case p.measuring <- struct{}{}:
		defer func() { <-p.measuring }()
	case <-ctx.Done():
		return Stats{}, context.Cause(ctx)
	}
	report, err := p.report(ctx)
	if err != nil {
		return Stats{}, err
	}
	st := parseStats(report)
	if st.Known {
		t := &p.engine.totals
		t.mu.Lock()
		last := st
		if last.CandidateType == "" { // no pair is in use any more: the latest one counts
			last.CurrentRoundTripTime, last.CandidateType = p.last.CurrentRoundTripTime, p.last.CandidateType
		}
		p.last = last
		t.mu.Unlock()
	}
	return st, nil
}
