package renderer

import (
	"bytes"
	"testing"

	"github.com/at-wat/ebml-go"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestPreviewIsAWebMFile reads the file back.
func TestPreviewIsAWebMFile(t *testing.T) {
	var got movie
	must.Do(t, ebml.Unmarshal(bytes.NewReader(Preview(clip.Robin)), &got))
	var frames [][]byte
	for i, cluster := range got.Segment.Cluster {
		expect.Equal(t, cluster.Timecode, uint64(i*2000), "cluster %d begins at ms", i)
		for i, block := range cluster.SimpleBlock {
			frame := block.Data[0]
			if block.Timecode != int16(i*40) || block.Keyframe != (frame[0]&1 == 0) { // the frame's own bit
				t.Errorf("frame %d: at %d ms, marked as a key frame: %t", i, block.Timecode, block.Keyframe)
			}
			frames = append(frames, frame)
		}
	}
	tracks := got.Segment.Tracks.TrackEntry
	if len(frames) != 2*clip.Frames || len(tracks) != 1 || tracks[0].CodecID != "V_VP8" || got.Segment.Info.Duration != 4000 {
		t.Errorf("%d frames, tracks %+v, %v ms", len(frames), tracks, got.Segment.Info.Duration)
	}
	if !bytes.Equal(frames[0], footages[VP8][clip.Robin]().set.Clips[clip.Breathing(false, clip.BlinkMiddle)][0]) {
		t.Error("the first frame is not that of the clip")
	}
}
