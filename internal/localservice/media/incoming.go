package media

import (
	"io"
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/transport/v4/packetio"
	"github.com/pion/webrtc/v4"
)

// Bounds of what a client sends to its peer. pion keeps a buffer for each synchronisation source that it has received a packet of, for
// as long as the peer is open, and resends every packet as often as it is asked to.
const (
	// maxSources is how many sources a client may use, of RTP and RTCP together. A browser has up to four.
	maxSources = 32
	// sourceBuffer is how many bytes of one source may wait to be read: half a second of a microphone, or of RTCP.
	sourceBuffer = 32 << 10
	// resendRate is how many packets a second are resent to one viewer, and resendBurst how many at once. A picture with its voice has
	// about 200 packets a second.
	resendRate  = 400
	resendBurst = 2 * resendable
)

// incoming makes the buffers for what a peer receives, and closes a peer that receives too many sources.
type incoming struct {
	mu      sync.Mutex
	sources int
	pc      *webrtc.PeerConnection
}

func newIncoming() *incoming { return &incoming{} }

// guard sets the peer that is closed.
func (i *incoming) guard(pc *webrtc.PeerConnection) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pc = pc
}

// serve has pion take its buffers from i. Kind is a type of the module pion/transport, whose major version is not the same in every
// version of pion/webrtc v4.
func serve[Kind any](i *incoming, factory *func(Kind, uint32) io.ReadWriteCloser) {
	*factory = func(Kind, uint32) io.ReadWriteCloser { return i.buffer() }
}

// buffer returns the buffer for a new source.
func (i *incoming) buffer() io.ReadWriteCloser {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.sources++; i.sources == maxSources+1 {
		go i.pc.Close() // its owner gets the change of state
	}
	b := packetio.NewBuffer()
	b.SetLimitSize(sourceBuffer)
	return b
}

// nackLimit is the interceptor that removes requests for packets beyond resendRate.
type nackLimit struct{ interceptor.NoOp }

// NewInterceptor implements [interceptor.Factory].
func (nackLimit) NewInterceptor(string) (interceptor.Interceptor, error) {
	return &nackLimiter{left: resendBurst, filled: time.Now()}, nil
}

// nackLimiter is the nackLimit of one peer.
type nackLimiter struct {
	interceptor.NoOp

	mu     sync.Mutex
	left   float64 // packets that may be resent now
	filled time.Time
}

// BindRTCPReader implements [interceptor.Interceptor]. The packets that it shortens are those that later interceptors get, because
// attributes keep what was parsed.
func (n *nackLimiter) BindRTCPReader(reader interceptor.RTCPReader) interceptor.RTCPReader {
	return interceptor.RTCPReaderFunc(func(b []byte, a interceptor.Attributes) (int, interceptor.Attributes, error) {
		size, attributes, err := reader.Read(b, a)
		if err != nil {
			return 0, nil, err
		}
		if attributes == nil {
			attributes = interceptor.Attributes{}
		}
		packets, err := attributes.GetRTCPPackets(b[:size])
		if err != nil {
			return 0, nil, err
		}
		for _, p := range packets {
			if request, ok := p.(*rtcp.TransportLayerNack); ok {
				n.shorten(request)
			}
		}
		return size, attributes, nil
	})
}

// shorten removes what exceeds the rate from a request.
func (n *nackLimiter) shorten(request *rtcp.TransportLayerNack) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.left = min(resendBurst, n.left+now.Sub(n.filled).Seconds()*resendRate)
	n.filled = now
	for i := range request.Nacks {
		if n.left -= float64(len(request.Nacks[i].PacketList())); n.left < 0 {
			n.left = 0
			request.Nacks = request.Nacks[:i]
			return
		}
	}
}
