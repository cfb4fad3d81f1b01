package media

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/peerstate"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
)

// viewer is the peer that watches a stream.
type viewer struct {
	id     string
	stream *Stream

	// Owned by the stream's goroutine.
	connected bool
	pictures  *pictures // nil when the offer has no video that we can send
	voice     *voice    // nil when the offer has no audio that we can send

	mu      sync.Mutex
	pc      *webrtc.PeerConnection // nil before connect
	closed  bool
	timeout *time.Timer
}

func newViewer(s *Stream) *viewer {
	return &viewer{id: rand.Text(), stream: s}
}

// connect answers o, unless ctx ends before. After an error v is to be closed.
func (v *viewer) connect(ctx context.Context, o offer) (string, error) {
	codecs := make([]codec, 0, 2)
	video, hasVideo := chooseVideo(o.video)
	audio, hasAudio := chooseAudio(o.audio)
	// A section without a codec that we can send stays in the session, inactive (protocol §6.8), for which its first codec is
	// needed.
	if hasVideo {
		video.RTCPFeedback = []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}, {Type: "ccm", Parameter: "fir"}}
		codecs = append(codecs, video)
	} else if len(o.video) > 0 {
		codecs = append(codecs, o.video[0])
	}
	if hasAudio {
		codecs = append(codecs, audio)
	} else if len(o.audio) > 0 {
		codecs = append(codecs, o.audio[0])
	}
	text, err := o.text(codecs...)
	if err != nil {
		return "", err
	}
	// Passive in the DTLS handshake, as the remote service is (protocol §6.8).
	pc, err := v.newPeer(webrtc.DTLSRoleServer, codecs...)
	if err != nil {
		return "", err
	}
	return answer(ctx, pc, text, func() error {
		if hasVideo {
			if err := v.addPictures(video); err != nil {
				return err
			}
		}
		if hasAudio {
			if err := v.addVoice(audio); err != nil {
				return err
			}
		}
		return stopIdle(pc)
	})
}

func (v *viewer) seat() seat { return seat{server: v.stream.server, by: v.stream.by} }

// newPeer makes the viewer's peer.
func (v *viewer) newPeer(role webrtc.DTLSRole, codecs ...codec) (*webrtc.PeerConnection, error) {
	pc, err := v.stream.server.newPeer(v.seat(), role, codecs...)
	if err != nil {
		return nil, err
	}
	if !v.adopt(pc) {
		v.stream.server.closePeer(v.seat(), pc)
		return nil, errGone
	}
	peerstate.Watch(pc, v.stateChanged)
	return pc, nil
}

// stopIdle makes the sections without a track inactive; pion would otherwise answer that it sends in them.
func stopIdle(pc *webrtc.PeerConnection) error {
	for _, transceiver := range pc.GetTransceivers() {
		if sender := transceiver.Sender(); sender == nil || sender.Track() == nil {
			if err := transceiver.Stop(); err != nil {
				return err
			}
		}
	}
	return nil
}

// adopt sets pc as the viewer's peer, unless the viewer was closed meanwhile.
func (v *viewer) adopt(pc *webrtc.PeerConnection) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return false
	}
	v.pc = pc
	v.timeout = time.AfterFunc(v.stream.server.cfg.ConnectTimeout, func() {
		var late bool
		v.stream.do(func() { late = !v.connected })
		if late {
			v.gone("not connected in time")
		}
	})
	return true
}

func (v *viewer) addPictures(c codec) error {
	pictures, err := newPictures(c, v.stream.pictures(c.MimeType), v.stream.server.separate.Load())
	if err != nil {
		return err
	}
	return v.add(&pictures.track, func() { v.pictures = pictures })
}

func (v *viewer) addVoice(c codec) error {
	voice, err := newVoice(c, v.stream.server.separate.Load())
	if err != nil {
		return err
	}
	return v.add(&voice.track, func() { v.voice = voice })
}

// add sends a track; set runs on the stream's goroutine.
func (v *viewer) add(t *track, set func()) error {
	sender, err := v.pc.AddTrack(t.local)
	if err != nil {
		return err
	}
	go v.listen(sender)
	v.stream.do(set)
	return nil
}

// listen reads the viewer's RTCP of a track until the peer is closed; reading also runs the interceptor that resends lost packets.
func (v *viewer) listen(sender *webrtc.RTPSender) {
	for {
		packets, _, err := sender.ReadRTCP()
		if err != nil {
			return
		}
		for _, p := range packets {
			switch p.(type) {
			case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
				v.stream.do(func() {
					v.stream.stats.KeyFramesDemanded++
					if v.pictures != nil {
						v.pictures.wantKey = true
					}
				})
			}
		}
	}
}

func (v *viewer) stateChanged(state webrtc.PeerConnectionState) {
	v.stream.server.log.Debug("viewer", "stream", v.stream.id, "state", state.String())
	switch state {
	case webrtc.PeerConnectionStateConnected:
		v.stream.do(func() {
			if !v.connected {
				v.connected = true
				v.stream.stats.Viewers++
			}
			if v.stream.viewer == v {
				v.stream.alone = time.Time{}
			}
		})
	case webrtc.PeerConnectionStateDisconnected: // it may come back
		v.stream.do(func() {
			if v.stream.viewer == v {
				v.stream.unwatch()
			}
		})
	case webrtc.PeerConnectionStateFailed, webrtc.PeerConnectionStateClosed:
		v.gone(state.String())
	}
}

// gone frees the viewer's place and closes its peer; why is logged.
func (v *viewer) gone(why string) {
	if v.stream.release(v) {
		v.stream.server.log.Debug("viewer gone", "stream", v.stream.id, "why", why)
	}
	v.close()
}

// close closes the peer in the background: its own goroutines may be the caller. It may be called more than once.
func (v *viewer) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.closed = true
	if v.pc != nil {
		v.timeout.Stop()
		go v.stream.server.closePeer(v.seat(), v.pc)
	}
}

// kill stops the transport below DTLS, so that the viewer gets no close message.
func (v *viewer) kill() {
	v.mu.Lock()
	pc := v.pc
	v.mu.Unlock()
	if pc != nil {
		for _, sender := range pc.GetSenders() {
			_ = sender.Transport().ICETransport().Stop()
		}
	}
	v.close()
}
