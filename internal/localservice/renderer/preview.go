package renderer

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/at-wat/ebml-go"
	"github.com/at-wat/ebml-go/webm"

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

// movie is a WebM file.
type movie struct {
	Header  webm.EBMLHeader `ebml:"EBML"`
	Segment webm.Segment    `ebml:"Segment"`
}

// webM puts VP8 frames into a file. Every clip begins with a key frame, and is a cluster.
func webM(frames [][]byte) []byte {
	const frameMillis = 1000 / FrameRate
	m := movie{Header: *webm.DefaultEBMLHeader}
	m.Segment.Info = webm.Info{
		TimecodeScale: uint64(time.Millisecond), MuxingApp: "agentruntime", WritingApp: "agentruntime", Duration: float64(len(frames) * frameMillis),
	}
	m.Segment.Tracks.TrackEntry = []webm.TrackEntry{{
		TrackNumber: 1, TrackUID: 1, TrackType: 1, CodecID: "V_VP8", Video: &webm.Video{PixelWidth: Width, PixelHeight: Height},
	}}
	begin := 0
	for frames := range slices.Chunk(frames, clip.Frames) {
		cluster := webm.Cluster{Timecode: uint64(begin * frameMillis)}
		for i, frame := range frames {
			cluster.SimpleBlock = append(cluster.SimpleBlock, ebml.Block{TrackNumber: 1, Timecode: int16(i * frameMillis), Keyframe: i == 0, Data: [][]byte{frame}})
		}
		m.Segment.Cluster = append(m.Segment.Cluster, cluster)
		begin += len(frames)
	}
	var file bytes.Buffer
	if err := ebml.Marshal(&m, &file); err != nil {
		panic(err) // the elements are those of the format
	}
	return file.Bytes()
}
