package renderer

import (
	"bytes"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

// everyFace runs a test for each face.
func everyFace(t *testing.T, test func(t *testing.T, f Face)) {
	for face := range clip.Faces {
		t.Run(face.String(), func(t *testing.T) { test(t, face) })
	}
}

// A decoder that gets a long random walk through the clips must find nothing to complain about.
func TestH264StreamIsValidAcrossClips(t *testing.T) { everyFace(t, h264StreamIsValid) }

func h264StreamIsValid(t *testing.T, f Face) {
	p := NewPlayer(H264, f, DefaultMotion, 11)
	lastFrameNum, lastIDR := 0, -1
	for i := range 5000 {
		nals := splitNALs(p.Next(voice(i), i%211 == 0))
		if !entered(p) {
			slice := parseSlice(t, nals[0])
			if len(nals) != 1 || slice.idr || slice.frameNum != lastFrameNum+1 {
				t.Fatalf("frame %d: %d units, the slice is %+v after frame_num %d", i, len(nals), slice, lastFrameNum)
			}
			lastFrameNum = slice.frameNum
			continue
		}
		if len(nals) != 3 || nals[0][0] != 0x67 || nals[1][0] != 0x68 {
			t.Fatalf("frame %d: key frame is not parameter sets and one slice", i)
		}
		slice := parseSlice(t, nals[2])
		if !slice.idr || slice.frameNum != 0 || slice.idrPicID == lastIDR {
			t.Fatalf("frame %d: IDR slice is %+v after idr_pic_id %d", i, slice, lastIDR)
		}
		lastFrameNum, lastIDR = 0, slice.idrPicID
	}
}

func TestH264IsConstrainedBaselineAtLevel3(t *testing.T) { everyFace(t, h264IsBaseline) }

func h264IsBaseline(t *testing.T, f Face) {
	sps := splitNALs(NewPlayer(H264, f, DefaultMotion, 1).Next(0, false))[0]
	if profile, constraints, level := sps[1], sps[2], sps[3]; profile != 66 || constraints&0x40 == 0 || level != 30 {
		t.Errorf("profile %d, constraints %#x, level %d", profile, constraints, level)
	}
}

// Both variants of every key frame must differ in idr_pic_id and in nothing else.
func TestH264KeyFrameVariants(t *testing.T) { everyFace(t, h264KeyFrames) }

func h264KeyFrames(t *testing.T, f Face) {
	for id, keys := range footages[H264][f]().keys {
		first, second := splitNALs(keys[0]), splitNALs(keys[1])
		a, b := parseSlice(t, first[2]), parseSlice(t, second[2])
		if a.idrPicID != 1 || b.idrPicID != 2 {
			t.Errorf("clip %d: idr_pic_id %d and %d, want 1 and 2", id, a.idrPicID, b.idrPicID)
		}
		bits := 0
		for i := range keys[0] {
			for changed := keys[0][i] ^ keys[1][i]; changed != 0; changed &= changed - 1 {
				bits++
			}
		}
		if bits != 1 || len(keys[0]) != len(keys[1]) {
			t.Errorf("clip %d: variants differ in %d bits", id, bits)
		}
	}
}

func TestVP8ClipsBeginWithTheirOnlyKeyFrame(t *testing.T) { everyFace(t, vp8Clips) }

func vp8Clips(t *testing.T, f Face) {
	for id, frames := range footages[VP8][f]().set.Clips {
		for i, frame := range frames {
			key := frame[0]&1 == 0 // RFC 6386 §9.1
			shown := frame[0]&0x10 != 0
			if key != (i == 0) || !shown {
				t.Fatalf("clip %d, frame %d: key frame is %v, shown is %v", id, i, key, shown)
			}
		}
		header := frames[0][3:10]
		width, height := int(header[3])|int(header[4])<<8, int(header[5])|int(header[6])<<8
		if !bytes.Equal(header[:3], []byte{0x9d, 0x01, 0x2a}) || width != Width || height != Height {
			t.Errorf("clip %d: key frame of %d×%d with start code % x", id, width, height, header[:3])
		}
	}
}

// slice is the part of a slice header that must fit the stream around it.
type slice struct {
	idr      bool
	frameNum int
	idrPicID int
}

// parseSlice reads a slice header for our parameter sets (ITU-T H.264 §7.3.3).
func parseSlice(t *testing.T, nal []byte) slice {
	t.Helper()
	kind := nal[0] & 0x1f
	if kind != 1 && kind != 5 {
		t.Fatalf("unit of type %d, want a slice", kind)
	}
	r := &bits{data: nal, at: 8}
	if first := r.exp(); first != 0 {
		t.Fatalf("slice begins at macroblock %d: more than one slice", first)
	}
	r.exp() // slice_type
	r.exp() // pic_parameter_set_id
	s := slice{idr: kind == 5, frameNum: r.number(frameNumBits())}
	if s.idr {
		s.idrPicID = r.exp()
	}
	return s
}

// frameNumBits reads log2_max_frame_num from the sequence parameter set.
func frameNumBits() int {
	r := &bits{data: splitNALs(footages[H264][clip.Robin]().set.Prefix)[0], at: 32}
	r.exp() // seq_parameter_set_id
	return r.exp() + 4
}

type bits struct {
	data []byte
	at   int
}

func (r *bits) number(width int) int {
	value := 0
	for range width {
		value = value<<1 | int(r.data[r.at/8]>>(7-r.at%8)&1)
		r.at++
	}
	return value
}

func (r *bits) exp() int {
	zeros := 0
	for r.number(1) == 0 {
		zeros++
	}
	return 1<<zeros + r.number(zeros) - 1
}

func splitNALs(unit []byte) [][]byte {
	return bytes.Split(unit, []byte{0, 0, 0, 1})[1:]
}
