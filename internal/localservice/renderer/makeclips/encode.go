package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"io"
	"os/exec"
	"strconv"

	"github.com/pion/webrtc/v4/pkg/media/h264reader"
	"github.com/pion/webrtc/v4/pkg/media/ivfreader"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

// encoder puts a film into a set as the clip id.
type encoder func(set *clip.Set, id clip.ID, film []*image.RGBA) error

// encodeH264 makes constrained baseline, one slice for each frame, for level 3.0.
func encodeH264(set *clip.Set, id clip.ID, film []*image.RGBA) error {
	// The first frame is encoded twice: the second IDR picture has the idr_pic_id 1, which takes as many bits as 2, so
	// the renderer can make each into the other.
	film = append(film[:1:1], film...)
	stream, err := ffmpeg(film, "-c:v", "libx264", "-profile:v", "baseline", "-level", "3.0", "-preset", "veryslow",
		"-qp", "25", "-threads", "1", "-force_key_frames", "expr:lt(n,2)", "-f", "h264", "-x264-params",
		"keyint=infinite:scenecut=0:ipratio=1:chroma-qp-offset=-2:colorprim=smpte170m:transfer=smpte170m:colormatrix=smpte170m")
	if err != nil {
		return err
	}
	var sps, pps []byte
	var frames [][]byte
	nals, err := h264reader.NewReader(bytes.NewReader(stream))
	if err != nil {
		return err
	}
	for {
		nal, err := nals.NextNAL()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch nal.UnitType {
		case h264reader.NalUnitTypeSPS:
			sps = nal.Data
		case h264reader.NalUnitTypePPS:
			pps = nal.Data
		case h264reader.NalUnitTypeCodedSliceIdr, h264reader.NalUnitTypeCodedSliceNonIdr:
			frames = append(frames, annexB(nal.Data))
		}
	}
	if len(frames) != clip.Frames+1 {
		return fmt.Errorf("%d slices for %d frames", len(frames), clip.Frames+1)
	}
	toggle, err := idrToggle(sps, frames[1])
	if err != nil {
		return err
	}
	prefix := append(annexB(sps), annexB(pps)...)
	if set.Prefix != nil && (toggle != set.Toggle || !bytes.Equal(prefix, set.Prefix)) {
		return errors.New("parameters differ from those of the other clips")
	}
	set.Prefix, set.Toggle = prefix, toggle
	copy(set.Clips[id][:], frames[1:])
	return nil
}

func annexB(nal []byte) []byte {
	return append([]byte{0, 0, 0, 1}, nal...)
}

// idrToggle finds the last bit of a slice's idr_pic_id, which must be 1.
func idrToggle(sps, frame []byte) (int, error) {
	parameters := bitReader{data: sps, at: 4 * 8} // past the NAL header, profile, constraints and level
	parameters.exp()                              // seq_parameter_set_id
	frameNumBits := parameters.exp() + 4          // log2_max_frame_num_minus4

	slice := bitReader{data: frame, at: 5 * 8} // past the start code and NAL header
	slice.exp()                                // first_mb_in_slice
	slice.exp()                                // slice_type
	slice.exp()                                // pic_parameter_set_id
	slice.at += frameNumBits                   // frame_num
	if idr := slice.exp(); idr != 1 {
		return 0, fmt.Errorf("idr_pic_id is %d, want 1", idr)
	}
	return slice.at - 1, nil
}

// bitReader reads the few header fields that are needed, all of them before any emulation prevention byte.
type bitReader struct {
	data []byte
	at   int
}

func (r *bitReader) bit() int {
	bit := r.data[r.at/8] >> (7 - r.at%8) & 1
	r.at++
	return int(bit)
}

// exp reads an unsigned Exp-Golomb number.
func (r *bitReader) exp() int {
	zeros := 0
	for r.bit() == 0 {
		zeros++
	}
	value := 1
	for range zeros {
		value = value<<1 | r.bit()
	}
	return value - 1
}

func encodeVP8(set *clip.Set, id clip.ID, film []*image.RGBA) error {
	stream, err := ffmpeg(film, "-c:v", "libvpx", "-deadline", "best", "-cpu-used", "0", "-auto-alt-ref", "0", "-lag-in-frames", "0",
		"-qmin", "14", "-qmax", "14", "-b:v", "2M", "-g", strconv.Itoa(2*clip.Frames), "-threads", "1", "-f", "ivf")
	if err != nil {
		return err
	}
	frames, _, err := ivfreader.NewWith(bytes.NewReader(stream))
	if err != nil {
		return err
	}
	for i := range set.Clips[id] {
		if set.Clips[id][i], _, err = frames.ParseNextFrame(); err != nil {
			return err
		}
	}
	if _, _, err := frames.ParseNextFrame(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than %d frames", clip.Frames)
	}
	return nil
}

// ffmpeg encodes a film with the given output options.
func ffmpeg(film []*image.RGBA, options ...string) ([]byte, error) {
	args := append([]string{
		"-v", "error", "-f", "rawvideo", "-pix_fmt", "rgba", "-s", fmt.Sprintf("%dx%d", clip.Width, clip.Height),
		"-r", strconv.Itoa(clip.FrameRate), "-i", "-", "-pix_fmt", "yuv420p", "-fflags", "+bitexact", "-flags", "+bitexact",
	}, options...)
	var pixels, stream, complaints bytes.Buffer
	for _, picture := range film {
		pixels.Write(picture.Pix)
	}
	command := exec.Command("ffmpeg", append(args, "-")...)
	command.Stdin, command.Stdout, command.Stderr = &pixels, &stream, &complaints
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("run ffmpeg: %w: %s", err, complaints.Bytes())
	}
	return stream.Bytes(), nil
}
