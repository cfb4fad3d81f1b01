package renderer

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

// TestPreviewIsAWebMFile reads the file back, element by element.
func TestPreviewIsAWebMFile(t *testing.T) {
	count := map[uint32]int{}
	var frames [][]byte
	var walk func([]byte)
	walk = func(data []byte) {
		for len(data) > 0 {
			width := 1
			for mask := byte(0x80); data[0]&mask == 0; mask >>= 1 {
				width++
			}
			var id uint32
			for _, b := range data[:width] {
				id = id<<8 | uint32(b)
			}
			length := binary.BigEndian.Uint64(data[width:]) &^ (1 << 56)
			body := data[width+8:][:length]
			data = data[width+8+int(length):]
			count[id]++
			switch id {
			case 0x1A45DFA3, 0x18538067, 0x1654AE6B, 0xAE, 0xE0, 0x1F43B675:
				walk(body)
			case 0xA3:
				frames = append(frames, body[4:])
				if key := body[3] == 0x80; key != (body[4]&1 == 0) { // the frame's own bit
					t.Errorf("frame %d: marked as a key frame: %t", len(frames), key)
				}
			}
		}
	}
	walk(Preview(clip.Robin))
	if count[0x1F43B675] != 2 || len(frames) != 2*clip.Frames || count[0x86] != 1 {
		t.Errorf("%d clusters, %d frames", count[0x1F43B675], len(frames))
	}
	if !bytes.Equal(frames[0], footages[VP8][clip.Robin]().set.Clips[clip.Breathing(false, clip.BlinkMiddle)][0]) {
		t.Error("the first frame is not that of the clip")
	}
}
