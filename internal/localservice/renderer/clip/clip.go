// Package clip is the contract between the renderer and the program that makes its clips: which clips there are, how long
// they run, and what a file of them, written by encoding/gob, has in it.
//
// A clip is a short piece of encoded video that begins with a key frame and depends on nothing before it, so a player
// may enter any clip at any time by its first frame, and leave it after any frame.
package clip

// Picture format of every clip.
const (
	Width     = 640
	Height    = 360
	FrameRate = 25 // frames a second
	// Frames in each clip. It is also the longest time between two key frames: two seconds.
	Frames = 50
)

// Mouth is a shape of the mouth.
type Mouth int

// The mouth shapes, from closed to wide open; the comments name a sound that looks like it.
const (
	Closed Mouth = iota // a friendly rest
	Parted              // n
	Toothy              // f
	Narrow              // ee
	Half                // eh
	Pursed              // oo
	Open                // ai
	Round               // oh
	Wide                // ah
	Mouths              // how many there are
)

// Eyes is how far the eyes are open.
type Eyes int

// The positions of the lids.
const (
	EyesOpen Eyes = iota
	EyesHalf
	EyesClosed
	EyePositions // how many there are
)

// Idle is what the silent face does in one clip, apart from breathing.
type Idle int

// The idle clips. Each exists for breathing in and for breathing out, and ends as the other begins.
const (
	Still Idle = iota
	BlinkEarly
	BlinkMiddle
	BlinkLate
	Glance // looks aside and back
	Idles  // how many there are
)

// BlinkFrame returns the frame of an idle clip in which the eyes start to close, and whether they do.
func (i Idle) BlinkFrame() (frame int, blinks bool) {
	switch i {
	case BlinkEarly:
		return 8, true
	case BlinkMiddle:
		return 23, true
	case BlinkLate:
		return 38, true
	default:
		return 0, false
	}
}

// ID is a clip's place in the file.
type ID int

// Count is the number of clips.
const Count = ID(int(Mouths)*int(EyePositions) + 2*int(Idles))

// Talking is the clip that holds one state of the face.
func Talking(m Mouth, e Eyes) ID {
	return ID(int(m)*int(EyePositions) + int(e))
}

// Breathing is the clip of a silent face while it breathes in, or out.
func Breathing(out bool, i Idle) ID {
	id := Talking(Mouths, 0) + ID(i)
	if out {
		id += ID(Idles)
	}
	return id
}

// Face is a person whom the clips show. Each has files of its own.
type Face int

// The faces: the visuals of the catalog with these names.
const (
	Robin Face = iota
	Ada
	Noor
	Ben
	Faces // how many there are
)

// String is the name of the face in names of files.
func (f Face) String() string {
	return [Faces]string{"robin", "ada", "noor", "ben"}[f]
}

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
