package renderer

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

// Preview is a silent face breathing in and out once, a WebM file of four seconds for
// pages that wait for the picture. It must not be changed.
func Preview(f Face) []byte { return previews[f]() }

// Still is a picture of a face at rest, a PNG file. It must not be changed.
func Still(f Face) []byte {
	file, err := files.ReadFile("clips/" + f.String() + ".png")
	if err != nil {
		panic(err) // the build has no such file
	}
	return file
}

var previews = func() (all [clip.Faces]func() []byte) {
	for face := range clip.Faces {
		all[face] = sync.OnceValue(func() []byte {
			set := footages[VP8][face]().set
			return webM(slices.Concat(set.Clips[clip.Breathing(false, clip.BlinkMiddle)][:], set.Clips[clip.Breathing(true, clip.Still)][:]))
		})
	}
	return all
}()

// webM puts VP8 frames into a file. Every clip begins with a key frame, and is a cluster.
func webM(frames [][]byte) []byte {
	const frameMillis = 1000 / FrameRate
	number := func(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }
	header := element(0x1A45DFA3,
		element(0x4286, number(1)), element(0x42F7, number(1)), element(0x42F2, number(4)), element(0x42F3, number(8)), // versions, lengths
		element(0x4282, []byte("webm")), element(0x4287, number(2)), element(0x4285, number(2)))
	info := element(0x1549A966,
		element(0x2AD7B1, []byte{0x0F, 0x42, 0x40}), // a time code is a millisecond
		element(0x4489, binary.BigEndian.AppendUint64(nil, math.Float64bits(float64(len(frames)*frameMillis)))),
		element(0x4D80, []byte("agentruntime")), element(0x5741, []byte("agentruntime")))
	video := element(0xE0, element(0xB0, number(Width)), element(0xBA, number(Height)))
	tracks := element(0x1654AE6B, element(0xAE,
		element(0xD7, number(1)), element(0x73C5, number(1)), element(0x83, number(1)), element(0x86, []byte("V_VP8")), video))
	body := [][]byte{info, tracks}
	for begin := 0; begin < len(frames); begin += clip.Frames {
		cluster := [][]byte{element(0xE7, number(uint16(begin*frameMillis)))}
		for i, frame := range frames[begin:min(begin+clip.Frames, len(frames))] {
			flags := byte(0)
			if i == 0 {
				flags = 0x80 // a key frame
			}
			block := append([]byte{0x81, byte(i * frameMillis >> 8), byte(i * frameMillis), flags}, frame...)
			cluster = append(cluster, element(0xA3, block))
		}
		body = append(body, element(0x1F43B675, cluster...))
	}
	return append(header, element(0x18538067, body...)...)
}

// element is an EBML element: its id, the length in eight bytes, and what is in it.
func element(id uint32, parts ...[]byte) []byte {
	var out []byte
	length := 0
	for _, p := range parts {
		length += len(p)
	}
	for shift := 24; shift >= 0; shift -= 8 {
		if b := byte(id >> shift); b != 0 || len(out) > 0 {
			out = append(out, b)
		}
	}
	out = binary.BigEndian.AppendUint64(out, 1<<56|uint64(length))
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
