// Command makeclips draws the face of the renderer and encodes its clips, one file for H264 and one for VP8. It is run by
// "go generate" in the renderer's directory and needs ffmpeg with libx264 and libvpx; nothing else does.
package main

import (
	"flag"
	"fmt"
	"image"
	"log"
	"os"
	"path/filepath"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "clips", "directory for the clip files")
	flag.Parse()
	if err := encodeFiles(*out); err != nil {
		log.Fatalf("makeclips: %v", err)
	}
}

func encodeFiles(dir string) error {
	drawn := make(drawings)
	for name, encode := range map[string]encoder{"h264.bin": encodeH264, "vp8.bin": encodeVP8} {
		set := new(clip.Set)
		for id, poses := range scripts() {
			if err := encode(set, clip.ID(id), drawn.film(poses)); err != nil {
				return fmt.Errorf("encode clip %d for %s: %w", id, name, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), set.Marshal(), 0o644); err != nil {
			return fmt.Errorf("write clips: %w", err)
		}
	}
	return nil
}

// drawings caches pictures by pose, because most poses are part of several clips.
type drawings map[pose]*image.RGBA

func (d drawings) film(poses [clip.Frames]pose) []*image.RGBA {
	film := make([]*image.RGBA, len(poses))
	for i, p := range poses {
		if d[p] == nil {
			d[p] = draw(p)
		}
		film[i] = d[p]
	}
	return film
}
