package clip

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Set is the content of one clip file: every clip in one codec.
type Set struct {
	// Prefix goes before every key frame: H264's parameter sets in Annex B, nothing for VP8.
	Prefix []byte
	// Toggle is the position, counted in bits from the start of an H264 clip's first frame, of the bit that turns its
	// idr_pic_id into another valid one. Two IDR pictures in a row must differ in it (ITU-T H.264 §7.4.3). Zero for VP8.
	Toggle int
	// Clips holds Frames frames for each ID.
	Clips [Count][Frames][]byte
}

// magic opens a file; its last byte is the version of the layout.
const magic = "CLIPS\x01"

// errTruncated means that a length points beyond the end of the file.
var errTruncated = errors.New("clip file is truncated")

// Marshal lays a set out as a file: the magic, then the prefix, the toggle position and every frame of every clip, each
// byte string with its length before it as a varint.
func (s *Set) Marshal() []byte {
	file := appendBytes([]byte(magic), s.Prefix)
	file = binary.AppendUvarint(file, uint64(s.Toggle))
	for _, frames := range s.Clips {
		for _, frame := range frames {
			file = appendBytes(file, frame)
		}
	}
	return file
}

// Unmarshal reads a file. The frames point into it.
func Unmarshal(file []byte) (*Set, error) {
	if len(file) < len(magic) || string(file[:len(magic)]) != magic {
		return nil, errors.New("not a clip file")
	}
	file = file[len(magic):]
	set := new(Set)
	var err error
	if set.Prefix, file, err = cutBytes(file); err != nil {
		return nil, fmt.Errorf("read prefix: %w", err)
	}
	toggle, n := binary.Uvarint(file)
	if n <= 0 || toggle > 1024 {
		return nil, fmt.Errorf("read toggle: %w", errTruncated)
	}
	set.Toggle, file = int(toggle), file[n:]
	for id := range set.Clips {
		for i := range set.Clips[id] {
			if set.Clips[id][i], file, err = cutBytes(file); err != nil {
				return nil, fmt.Errorf("read frame %d of clip %d: %w", i, id, err)
			}
		}
	}
	if len(file) != 0 {
		return nil, fmt.Errorf("%d bytes after the last clip", len(file))
	}
	return set, nil
}

func appendBytes(file, data []byte) []byte {
	return append(binary.AppendUvarint(file, uint64(len(data))), data...)
}

func cutBytes(file []byte) (data, rest []byte, err error) {
	length, n := binary.Uvarint(file)
	if n <= 0 || length > uint64(len(file)-n) {
		return nil, nil, errTruncated
	}
	end := n + int(length)
	return file[n:end:end], file[end:], nil
}
