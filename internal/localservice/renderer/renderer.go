// Package renderer is the picture of a session: one of four drawn faces, which blinks, breathes, and moves its mouth with the
// loudness of its voice, as encoded video at 25 frames a second.
//
// No encoder runs here. Every state of the face is a clip that was encoded ahead of time (see the package clip and the
// program makeclips); a Player only chooses, for each frame, whether to go on in its clip or to enter another by its
// key frame. It owns neither clock nor track: the caller of Next does, and packetises the frames. The package is
// independent of sessions, peers and speech.
package renderer

import (
	"embed"
	"encoding/gob"
	"fmt"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

//go:generate go run ./makeclips -out clips

// The picture format of a player.
const (
	Width     = clip.Width
	Height    = clip.Height
	FrameRate = clip.FrameRate // frames a second: call Next every 40 ms
)

// Codec is a video codec of the clips.
type Codec int

// The codecs. H264 is constrained baseline, level 3.0 (local-service-choices D9).
const (
	H264 Codec = iota
	VP8
)

// Face is one of the faces that can be shown.
type Face = clip.Face

// FaceNamed returns the face with that name, as in "Ada", or the first one for any other name.
func FaceNamed(name string) Face {
	for face := range clip.Faces {
		if strings.EqualFold(face.String(), name) {
			return face
		}
	}
	return clip.Robin
}

//go:embed clips
var files embed.FS

// footage is what all players of a face and a codec share.
type footage struct {
	set *clip.Set
	// keys are the first frames of all clips, in two variants that must alternate: see clip.Set.Toggle.
	keys [clip.Count][2][]byte
}

// footages are loaded when a face is first shown in a codec.
var footages = func() (all [2][clip.Faces]func() *footage) {
	for codec, name := range []string{H264: "h264", VP8: "vp8"} {
		for face := range clip.Faces {
			all[codec][face] = sync.OnceValue(func() *footage { return load(fileOf(face, name)) })
		}
	}
	return all
}()

func fileOf(face Face, codec string) string { return "clips/" + face.String() + "-" + codec + ".bin" }

// load reads an embedded clip file. It panics on an error, which can only be a fault of the build.
func load(name string) *footage {
	file, err := files.Open(name)
	if err != nil {
		panic(fmt.Sprintf("renderer: %v", err))
	}
	defer file.Close()
	set := new(clip.Set)
	if err := gob.NewDecoder(file).Decode(set); err != nil {
		panic(fmt.Sprintf("renderer: %s: %v", name, err))
	}
	shared := &footage{set: set}
	for id, frames := range set.Clips {
		for variant := range shared.keys[id] {
			key := append(append([]byte(nil), set.Prefix...), frames[0]...)
			if set.Toggle > 0 && variant == 1 {
				key[len(set.Prefix)+set.Toggle/8] ^= 0x80 >> (set.Toggle % 8)
			}
			shared.keys[id][variant] = key
		}
	}
	return shared
}
