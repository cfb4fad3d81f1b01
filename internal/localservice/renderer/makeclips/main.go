// Command makeclips draws the faces of the renderer and encodes their clips, of each face a picture at rest, one file for H264 and one for VP8. It is run by
// "go generate" in the renderer's directory and needs ffmpeg with libx264 and libvpx; nothing else does. Without ffmpeg it only draws, and leaves the clips as they are.
package main

import (
	"bytes"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "clips", "directory for the clip files")
	only := flag.String("face", "", "the only face to encode; empty is all")
	flag.Parse()
	err := drawStills(*out)
	if _, missing := exec.LookPath("ffmpeg"); missing != nil {
		log.Print("makeclips: the clips stay as they are, because ffmpeg is not on the PATH: install it, with libx264 and libvpx, to encode them again")
	} else {
		err = errors.Join(err, encodeFiles(*out, *only))
	}
	if err != nil {
		log.Fatalf("makeclips: %v", err)
	}
}

// drawStills writes a picture of each face at rest, as its clips begin.
func drawStills(dir string) error {
	for face := range clip.Faces {
		var file bytes.Buffer
		if err := png.Encode(&file, draw(&looks[face], pose{mouth: clip.Closed, lids: 1})); err != nil {
			return fmt.Errorf("draw %s: %w", face, err)
		}
		if err := os.WriteFile(filepath.Join(dir, face.String()+".png"), file.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write a picture: %w", err)
		}
	}
	return nil
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
			var file bytes.Buffer
			if err := gob.NewEncoder(&file).Encode(set); err != nil {
				return fmt.Errorf("write clips: %w", err)
			}
			if err := os.WriteFile(filepath.Join(dir, face.String()+"-"+name+".bin"), file.Bytes(), 0o644); err != nil {
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
