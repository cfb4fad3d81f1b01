//go:build !js

package media

import (
	"context"
	"sync"

	"github.com/pion/webrtc/v4"
)

// Platform is what a native program has in place of elements and devices.
type Platform struct {
	// OnTrack receives the agent's tracks, on a goroutine of its own each.
	// What it leaves unread when it returns is read and thrown away; nil leaves
	// everything. The track ends with the peer.
	OnTrack func(*webrtc.TrackRemote)
	// OpenMicrophone opens what is sent as the visitor's voice, "" being the
	// default device. Without it there is no microphone. The source is closed
	// by Stop if it is an io.Closer.
	OpenMicrophone func(deviceID string) (Source, error)
}

type housekeeper struct{ tasks sync.WaitGroup }

func (p *Plane) begin() {
	p.mic = newMicrophone(p)
	p.screen = &Screen{}
}

func (p *Plane) spawn(fn func()) { p.tasks.Go(fn) }

// guard runs fn; natively a panic is a program's to handle.
func (p *Plane) guard(fn func()) { fn() }

// Close stops the microphone and waits for what the closed peers leave behind.
// It must not be called from OnTrack.
func (p *Plane) Close() {
	p.mic.Stop()
	p.tasks.Wait()
}

func isFirefox() bool { return false }

// ListDevices lists nothing: what OpenMicrophone can open, its owner knows.
func (p *Plane) ListDevices(context.Context) (Devices, error) {
	return Devices{Mics: []Device{}, Speakers: []Device{}}, nil
}

// Screen stands for the elements of a page. Natively nobody looks or listens:
// tracks go to [Platform].OnTrack, and the settings have nothing to set.
type Screen struct{}

// attach leaves the tracks to OnTrack, and tells the gate that frames are seen:
// the peer reports the first key frame.
func (s *Screen) attach(_ Track, _ bool, g *gate, _ func(Event)) {
	g.learn(func(f *facts) { f.element, f.frames = true, true })
}

// SetMuted does nothing.
func (s *Screen) SetMuted(bool) {}

// SetVolume does nothing.
func (s *Screen) SetVolume(float64) {}

// SetOutput is refused: there is no speaker.
func (s *Screen) SetOutput(context.Context, string) bool { return false }

// Resume reports that nothing waits for a click.
func (s *Screen) Resume(context.Context) bool { return true }

// Clear does nothing.
func (s *Screen) Clear() {}
