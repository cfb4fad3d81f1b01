//go:build !js

package browsertest

import (
	"bytes"
	"context"
	"image"
	"image/png"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// inFlight is how many frames of a screencast may wait to be received. Later ones are dropped.
const inFlight = 60

// Screencast returns the frames that the page shows while act runs, which are those that differ
// from the frame before.
func (p *Page) Screencast(ctx context.Context, act func()) ([]image.Image, error) {
	var frames [][]byte
	p.mu.Lock()
	p.framed = func(frame []byte) { frames = append(frames, frame) }
	p.mu.Unlock()
	params := page.StartScreencastParams{Format: page.StartScreencastFormatPng, EveryNthFrame: 1, MaxFramesInFlight: inFlight}
	if _, err := Call(ctx, p, page.StartScreencast, params); err != nil {
		return nil, err
	}
	act()
	_, err := Call(ctx, p, page.StopScreencast, cdp.Empty{})
	p.mu.Lock()
	p.framed = nil
	p.mu.Unlock()
	var images []image.Image
	for _, frame := range frames {
		i, decodeErr := png.Decode(bytes.NewReader(frame))
		if decodeErr != nil {
			return nil, decodeErr
		}
		images = append(images, i)
	}
	return images, err
}

// frame receives a frame of a screencast.
func (p *Page) frame(ev *page.EventScreencastFrame) {
	p.mu.Lock()
	if p.framed != nil {
		p.framed(ev.Data)
	}
	p.mu.Unlock()
	go Call(p.life, p, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: ev.SessionID})
}
