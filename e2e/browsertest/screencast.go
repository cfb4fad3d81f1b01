//go:build !js

package browsertest

import (
	"bytes"
	"context"
	"image"
	"image/png"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
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
	err := p.call(ctx, func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.StartScreencast, page.StartScreencastParams{Format: page.StartScreencastFormatPng, EveryNthFrame: 1, MaxFramesInFlight: inFlight})
		return err
	})
	if err != nil {
		return nil, err
	}
	act()
	err = p.call(ctx, func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.StopScreencast, cdp.Empty{})
		return err
	})
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
	go p.call(p.life, func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: ev.SessionID})
		return err
	})
}
