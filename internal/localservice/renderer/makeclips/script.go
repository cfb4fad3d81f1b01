package main

import (
	"math"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

// lidsAt is how far open the eyes are in each of the positions.
var lidsAt = [clip.EyePositions]float64{clip.EyesOpen: 1, clip.EyesHalf: 0.45, clip.EyesClosed: 0}

// blinkLids are the lids in the frames of a blink: 200 ms, quicker to close than to open, as people do.
var blinkLids = []float64{0.45, 0, 0, 0.3, 0.75}

// The frames in which a glance aside starts, has arrived, starts to return, and has returned.
const (
	glanceOut  = 10
	glanceAway = 13
	glanceBack = 36
	glanceHome = 39
)

// scripts are the poses of each frame of each clip.
func scripts() [clip.Count][clip.Frames]pose {
	var all [clip.Count][clip.Frames]pose
	for mouth := range clip.Mouths {
		for eyes := range clip.EyePositions {
			poses := &all[clip.Talking(mouth, eyes)]
			for i := range poses {
				poses[i] = pose{mouth: mouth, lids: lidsAt[eyes]}
			}
		}
	}
	for idle := range clip.Idles {
		for _, out := range []bool{false, true} {
			poses := &all[clip.Breathing(out, idle)]
			for i := range poses {
				poses[i] = idlePose(idle, out, i)
			}
		}
	}
	return all
}

func idlePose(idle clip.Idle, out bool, frame int) pose {
	p := pose{mouth: clip.Closed, lids: 1, breath: breathAt(out, frame)}
	if start, blinks := idle.BlinkFrame(); blinks && frame >= start && frame < start+len(blinkLids) {
		p.lids = blinkLids[frame-start]
	}
	if idle == clip.Glance {
		p.look = glanceAt(frame)
		if out {
			p.look = -p.look
		}
	}
	return p
}

// breathAt is half a wave, so that the shoulders stand still where clips meet.
func breathAt(out bool, frame int) float64 {
	depth := (1 - math.Cos(math.Pi*float64(frame)/clip.Frames)) / 2
	if out {
		return 1 - depth
	}
	return depth
}

func glanceAt(frame int) float64 {
	switch {
	case frame <= glanceOut || frame >= glanceHome:
		return 0
	case frame < glanceAway:
		return float64(frame-glanceOut) / (glanceAway - glanceOut)
	case frame <= glanceBack:
		return 1
	default:
		return float64(glanceHome-frame) / (glanceHome - glanceBack)
	}
}
