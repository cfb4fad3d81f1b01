package avatar

import "github.com/agentruntime/agentruntime/runtime/media"

// OnMedia returns p as the [Plane] of a session.
func OnMedia(p *media.Plane) Plane { return mediaPlane{p} }

// mediaPlane gives the methods of a [media.Plane] the results that [Plane] names.
type mediaPlane struct{ *media.Plane }

func (p mediaPlane) NewDownlink(notify func(media.Event)) Downlink {
	return p.Plane.NewDownlink(notify)
}
func (p mediaPlane) NewUplink(notify func(media.Event)) Uplink { return p.Plane.NewUplink(notify) }
func (p mediaPlane) NewVoice(notify func(media.Event)) Voice   { return p.Plane.NewVoice(notify) }
func (p mediaPlane) Microphone() Microphone                    { return p.Plane.Microphone() }
func (p mediaPlane) Screen() Screen                            { return p.Plane.Screen() }
