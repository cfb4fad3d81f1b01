package media

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/peerstate"
	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
	"github.com/thesyncim/gopus"
)

const (
	// MicrophoneRate is the sample rate of a microphone's sound.
	MicrophoneRate = 16000
	// microphoneSlot is how many samples are handed out at a time.
	microphoneSlot = MicrophoneRate / int(time.Second/slotTime)
	// longestPacket is what an Opus packet decodes to at most, in samples: 120 ms (RFC 6716 §2.1.4).
	longestPacket = MicrophoneRate * 120 / 1000
	// dryAfter is the time without packets after which silence is handed out for it. A sender that stopped and one that is late look
	// the same until then; when the packets of a late one arrive, their timestamps tell what was missing. Silence handed out too early
	// would be a pause between two words, which may end a turn.
	dryAfter = time.Second
	// longestGap is the longest time between the timestamps of two packets that is filled with silence; a longer one is a new
	// beginning. Encoders that send nothing in pauses send a packet every 400 ms.
	longestGap = 2 * time.Second
	// timestampStep is by how much the RTP timestamp grows for one sample: that of Opus counts at 48 kHz (RFC 7587 §4.1).
	timestampStep = 48000 / MicrophoneRate
	// headStart is how far the sound of packets may be ahead of the clock, which runs a quarter too fast here because clocks differ.
	// Packets beyond that are dropped undecoded, so that a client can't make the decoder do more than its share of work.
	headStart   = 2 * time.Second
	receiveSize = 1600 // bytes, larger than what arrives in one packet
)

var (
	errNoOpus = errors.New("media: the offer has no Opus")
	errClosed = errors.New("media: the microphone is closed")
)

// Microphone is the peer that carries a user's voice up (protocol §5). Its methods may be called concurrently.
type Microphone struct {
	server *Server
	by     quota.Client
	onPCM  func(pcm []int16)

	mu      sync.Mutex
	closed  bool
	pc      *webrtc.PeerConnection // nil before the first offer, and after one that did not connect
	timeout *time.Timer            // of pc, until it is connected for the first time
	stats   MicrophoneStats
}

// MicrophoneStats are counts since the microphone was made.
type MicrophoneStats struct {
	Connected bool
	Packets   int // that were decoded
	Lost      int
	Refused   int // that could not be decoded or came too fast
}

// NewMicrophone makes a microphone that waits for an offer. While sound arrives, onPCM is called with 20 ms of mono PCM at
// [MicrophoneRate] at a time; when it stops arriving, with silence, so that the sound keeps time. onPCM is called from
// one goroutine at a time, possibly until shortly after Close; it must not wait and must not keep pcm. The microphone counts for the
// client from its first offer on. It must be closed.
func (s *Server) NewMicrophone(by quota.Client, onPCM func(pcm []int16)) *Microphone {
	m := &Microphone{server: s, by: by, onPCM: onPCM}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		m.closed = true
	} else {
		s.microphones[m] = true
	}
	return m
}

// Offer answers an offer. With restart, the offer renegotiates the same peer (protocol §5.6); otherwise the peer of an earlier
// offer is closed. The answer accepts Opus only and has the candidates, which are also returned for callers that send them singly. A
// peer that does not connect in time is closed.
func (m *Microphone) Offer(sdp string, restart bool) (description string, candidates []string, err error) {
	if !m.server.offers.Take(m.by, 1) {
		return "", nil, errBusy
	}
	o, err := parseOffer(sdp)
	if err != nil {
		return "", nil, err
	}
	opusCodec, ok := first(o.audio, func(c codec) bool { return c.is(webrtc.MimeTypeOpus) })
	if !ok {
		return "", nil, errNoOpus
	}
	text, err := o.text(opusCodec)
	if err != nil {
		return "", nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return "", nil, errClosed
	}
	if !restart || m.pc == nil {
		if err := m.replace(opusCodec); err != nil {
			return "", nil, err
		}
	}
	description, err = answer(context.Background(), m.pc, text, func() error { return nil })
	if err == nil && len(m.pc.GetTransceivers()) > maxSections { // each renegotiation may add some
		m.drop()
		err = errSections
	}
	if err != nil {
		return "", nil, err
	}
	return description, candidatesIn(description), nil
}

// candidatesIn lists the candidates of the first section of a description; all sections are bundled.
func candidatesIn(description string) []string {
	var candidates []string
	for line := range strings.SplitSeq(description, "\r\n") {
		// Component 2 would be RTCP on a port of its own.
		if rest, ok := strings.CutPrefix(line, "a="); ok && strings.HasPrefix(rest, "candidate:") && strings.Contains(rest, " 1 udp ") {
			candidates = append(candidates, rest)
		}
	}
	return candidates
}

func (m *Microphone) seat() seat { return seat{server: m.server, by: m.by, microphone: true} }

// replace makes a new peer in place of the old one.
func (m *Microphone) replace(c codec) error {
	m.drop()
	c.MimeType = webrtc.MimeTypeOpus
	c.RTCPFeedback = nil
	// Active in the DTLS handshake, as the remote service is (protocol §5.5).
	pc, err := m.server.newPeer(m.seat(), webrtc.DTLSRoleClient, c)
	if err != nil {
		return err
	}
	m.pc = pc
	m.timeout = time.AfterFunc(m.server.cfg.ConnectTimeout, func() { m.lost(pc, "not connected in time") })
	var once sync.Once // a microphone has one track; further tracks of a client are not read
	pc.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		once.Do(func() { m.listen(pc, track) })
	})
	peerstate.Watch(pc, func(state webrtc.PeerConnectionState) {
		m.server.log.Debug("microphone", "state", state.String())
		m.count(pc, func(stats *MicrophoneStats) {
			if stats.Connected = state == webrtc.PeerConnectionStateConnected; stats.Connected {
				m.timeout.Stop() // a connection that is lost later may be repaired by a restart
			}
		})
		if state == webrtc.PeerConnectionStateClosed {
			m.lost(pc, state.String())
		}
	})
	return nil
}

// lost closes pc, unless it has been replaced; why is logged.
func (m *Microphone) lost(pc *webrtc.PeerConnection, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pc == pc {
		m.server.log.Debug("microphone gone", "why", why)
		m.drop()
	}
}

// drop closes the peer in the background.
func (m *Microphone) drop() {
	if m.pc != nil {
		m.timeout.Stop()
		go m.server.closePeer(m.seat(), m.pc)
		m.pc = nil
		m.stats.Connected = false
	}
}

// count changes the statistics, unless pc has been replaced.
func (m *Microphone) count(pc *webrtc.PeerConnection, change func(*MicrophoneStats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pc == pc {
		change(&m.stats)
	}
}

// Stats returns the counts so far.
func (m *Microphone) Stats() MicrophoneStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// Close closes the peer.
func (m *Microphone) Close() {
	m.server.mu.Lock()
	delete(m.server.microphones, m)
	m.server.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.drop()
}

// listen decodes a track until its peer is closed.
func (m *Microphone) listen(pc *webrtc.PeerConnection, track *webrtc.TrackRemote) {
	decoder, err := newTrackDecoder(m.onPCM)
	if err != nil {
		m.server.log.Error("no decoder", "err", err)
		return
	}
	decoder.read(track, func(payload int) {
		m.server.receivedAudio.Add(int64(payload))
		m.count(pc, func(stats *MicrophoneStats) {
			decoder.stats.Connected = stats.Connected
			*stats = decoder.stats
		})
	})
}

// trackDecoder turns the packets of one track into slots of sound.
type trackDecoder struct {
	decoder *gopus.Decoder
	onPCM   func(pcm []int16)
	started time.Time
	next    uint16 // sequence number
	due     uint32 // timestamp of what comes after the sound that was handed out
	brought int    // samples that packets were handed out as, with the silence before them
	pcm     [longestPacket]int16
	slot    [microphoneSlot]int16
	filled  int // of slot
	stats   MicrophoneStats
}

func newTrackDecoder(onPCM func(pcm []int16)) (*trackDecoder, error) {
	decoder, err := gopus.NewDecoder(gopus.DefaultDecoderConfig(MicrophoneRate, 1))
	return &trackDecoder{decoder: decoder, onPCM: onPCM}, err
}

// packets is what is used of a [webrtc.TrackRemote].
type packets interface {
	SetReadDeadline(t time.Time) error
	Read(b []byte) (n int, attributes interceptor.Attributes, err error)
}

// read decodes the packets of a track until it ends. After each, taken is called with the length of its payload, in bytes.
func (e *trackDecoder) read(track packets, taken func(payload int)) {
	buf := make([]byte, receiveSize)
	wait := dryAfter
	for {
		if track.SetReadDeadline(time.Now().Add(wait)) != nil {
			return
		}
		n, _, err := track.Read(buf)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			e.silence(audio.Samples(wait, MicrophoneRate))
			wait = slotTime
			continue
		}
		if err != nil {
			return
		}
		wait = dryAfter
		var p rtp.Packet
		if p.Unmarshal(buf[:n]) == nil {
			e.take(&p)
			taken(len(p.Payload))
		}
	}
}

// take decodes a packet, unless it arrives after its successor. What is missing before it becomes silence.
func (e *trackDecoder) take(p *rtp.Packet) {
	now := time.Now()
	if e.started.IsZero() {
		e.started, e.next, e.due = now, p.SequenceNumber, p.Timestamp
	}
	lost := p.SequenceNumber - e.next
	if lost >= 1<<15 || len(p.Payload) == 0 {
		return
	}
	if passed := now.Sub(e.started); audio.Duration(e.brought, MicrophoneRate) > passed+passed/4+headStart {
		e.stats.Refused++
		return
	}
	e.next = p.SequenceNumber + 1
	e.stats.Lost += int(lost)
	n, err := e.decoder.DecodeInt16(p.Payload, e.pcm[:])
	if err != nil {
		e.stats.Refused++ // and the next packet finds a gap
		return
	}
	e.stats.Packets++
	// The gap is below zero if silence was handed out for packets that were late.
	if gap := int(int32(p.Timestamp-e.due)) / timestampStep; gap > 0 && audio.Duration(gap, MicrophoneRate) <= longestGap {
		e.silence(gap)
		e.brought += gap
	}
	e.give(e.pcm[:n])
	e.brought += n
	e.due = p.Timestamp + uint32(n*timestampStep)
}

// silence hands out that many samples of silence.
func (e *trackDecoder) silence(samples int) {
	e.due += uint32(samples * timestampStep)
	var quiet [microphoneSlot]int16
	for ; samples > 0; samples -= microphoneSlot {
		e.give(quiet[:min(samples, microphoneSlot)])
	}
}

// give hands pcm out in slots.
func (e *trackDecoder) give(pcm []int16) {
	for len(pcm) > 0 {
		n := copy(e.slot[e.filled:], pcm)
		pcm = pcm[n:]
		if e.filled += n; e.filled == microphoneSlot {
			e.filled = 0
			e.onPCM(e.slot[:])
		}
	}
}
