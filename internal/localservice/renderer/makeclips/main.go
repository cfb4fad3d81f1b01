// Command makeclips draws the faces of the renderer and encodes their clips, of each face one file for H264 and one for VP8. It is run by
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
	only := flag.String("face", "", "the only face to encode; empty is all")
	flag.Parse()
	if err := encodeFiles(*out, *only); err != nil {
		log.Fatalf("makeclips: %v", err)
	}
}

func encodeFiles(dir, only string) error {
	for face := range clip.Faces {
		if only != "" && only != face.String() {
			continue
		}
		drawn := drawings{look: &looks[face], pictures: map[pose]*image.RGBA{}}
		for name, encode := range map[string]encoder{"h264": encodeH264, "vp8": encodeVP8} {
			set := new(clip.Set)
			for id, poses := range scripts() {
				if err := encode(set, clip.ID(id), drawn.film(poses)); err != nil {
					return fmt.Errorf("encode clip %d of %s for %s: %w", id, face, name, err)
				}
			}
			file := filepath.Join(dir, face.String()+"-"+name+".bin")
			if err := os.WriteFile(file, set.Marshal(), 0o644); err != nil {
				return fmt.Errorf("write clips: %w", err)
			}
		}
	}
	return nil
}

// drawings caches the pictures of a face by pose, because most poses are part of several clips.
type drawings struct {
	look     *look
	pictures map[pose]*image.RGBA
}

func (d *drawings) film(poses [clip.Frames]pose) []*image.RGBA {
	film := make([]*image.RGBA, len(poses))
	for i, p := range poses {
		if d.pictures[p] == nil {
			d.pictures[p] = draw(d.look, p)
		}
		film[i] = d.pictures[p]
	}
	return film
}
