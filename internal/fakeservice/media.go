package fakeservice

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Media makes peers that do at once what they are asked.
type Media struct {
	Mic
	Renderer
	Subscriber *Subscriber
	Publisher  *Publisher
	// OnSubscribe, when set, returns the outcome of a POST to url.
	OnSubscribe func(ctx context.Context, url string) error
	OnPlayable  func(ctx context.Context) (media.Picture, error)
	OnRelease   func(ctx context.Context) // of a viewer
	Stats       media.Stats
	Flowing     bool
	Dead        atomic.Bool // no bytes come
	Deaf        atomic.Bool // the microphone does not connect
	Open        int         // peers not closed
}

func (p *Media) NewSubscriber(notify func(media.Event)) *Subscriber {
	p.Subscriber = &Subscriber{media: p, Notify: notify}
	p.Open++
	return p.Subscriber
}

func (p *Media) NewPublisher(notify func(media.Event)) *Publisher {
	p.Publisher = &Publisher{media: p, Notify: notify}
	p.Open++
	return p.Publisher
}

func (p *Media) NewVoice(func(media.Event)) *Voice { return &Voice{} }
func (p *Media) Close()                            {}

type Subscriber struct {
	media    *Media
	Notify   func(media.Event)
	Posts    []string
	Restarts int
	bytes    atomic.Uint64
	Closed   bool
}

func (d *Subscriber) Subscribe(ctx context.Context, url string) error {
	d.Posts = append(d.Posts, url)
	if d.media.OnSubscribe != nil {
		return d.media.OnSubscribe(ctx, url)
	}
	return nil
}

func (d *Subscriber) Playable(ctx context.Context, _ bool) (media.Picture, error) {
	if d.media.OnPlayable != nil {
		return d.media.OnPlayable(ctx)
	}
	if d.media.Dead.Load() {
		select {
		case <-time.After(6 * time.Second):
		case <-ctx.Done():
			return media.Picture{}, context.Cause(ctx)
		}
		return media.Picture{Missing: true}, nil
	}
	if d.media.Flowing {
		d.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "connected"})
	}
	return media.Picture{Width: 640, Height: 360}, nil
}

func (d *Subscriber) Restart(context.Context) {
	d.Restarts++
	d.bytes.Store(0)
}

// PictureBytes are statistics of a picture of which n bytes have come.
func PictureBytes(n uint64) media.VideoStats {
	return media.VideoStats{InboundStats: media.InboundStats{BytesReceived: n}}
}

// Stats are those of the test. With flowing, bytes of the picture come while it is not dead.
func (d *Subscriber) Stats(context.Context) (media.Stats, error) {
	if !d.media.Flowing {
		return d.media.Stats, nil
	}
	if !d.media.Dead.Load() {
		d.bytes.Add(1000)
	}
	n := d.bytes.Load()
	return media.Stats{Known: n > 0, HasVideo: n > 0, Video: PictureBytes(n)}, nil
}

func (d *Subscriber) Release(ctx context.Context) {
	if d.media.OnRelease != nil {
		d.media.OnRelease(ctx)
	}
	d.Close()
}

func (d *Subscriber) Close() {
	if !d.Closed {
		d.Closed = true
		d.media.Open--
	}
}

func (u *Publisher) Prepare() { u.Prepared.Store(true) }

type Publisher struct {
	media    *Media
	Notify   func(media.Event)
	Restarts int
	Caps     []int // SetBandwidth
	Prepared atomic.Bool
	Closed   bool
}

func (u *Publisher) Offer(_ context.Context, restart bool) (signaling.Description, error) {
	if restart {
		u.Restarts++
	}
	return signaling.Description{Type: "offer", SDP: "v=0"}, nil
}

// Answer after a restart connects, unless the microphone's network is dead.
func (u *Publisher) Answer(context.Context, signaling.Description) error {
	if u.Restarts > 0 && !u.media.Deaf.Load() {
		u.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "connected"})
	}
	return nil
}
func (u *Publisher) AddCandidate(signaling.ServerCandidate)     {}
func (u *Publisher) Stats(context.Context) (media.Stats, error) { return media.Stats{}, nil }

func (u *Publisher) SetBandwidth(_ context.Context, kbps int) error {
	u.media.mu.Lock() // of the microphone
	defer u.media.mu.Unlock()
	u.Caps = append(u.Caps, kbps)
	return nil
}

func (u *Publisher) Close() {
	if !u.Closed {
		u.Closed = true
		u.media.Open--
	}
}

type Voice struct{}

func (*Voice) Accept(context.Context, signaling.Description) (signaling.Description, error) {
	return signaling.Description{Type: "answer", SDP: "v=0"}, nil
}
func (*Voice) AddCandidate(signaling.Candidate) {}
func (*Voice) Close()                           {}

type Mic struct {
	mu      sync.Mutex
	started bool
	MicErr  error
	Stopped int
}

func (m *Mic) StartMic(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = m.MicErr == nil
	return m.MicErr
}
func (m *Mic) SwitchMic(context.Context, string) error { return nil }
func (m *Mic) MicStarted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.started
}
func (m *Mic) SetMicEnabled(bool) {}
func (m *Mic) StopMic() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = false
	m.Stopped++
}

type Renderer struct{}

func (Renderer) SetOutputMuted(bool)                          {}
func (Renderer) SetOutputVolume(float64)                      {}
func (Renderer) SetOutputDevice(context.Context, string) bool { return true }
func (Renderer) ResumePlayback(context.Context) bool          { return true }
func (Renderer) ClearTracks()                                 {}
func (Renderer) WatchSpeech(bool)                             {}
