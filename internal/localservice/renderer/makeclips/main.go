// Command makeclips draws the face of the renderer and encodes its clips, one file for H264 and one for VP8. It is run by
// "go generate" in the renderer's directory and needs ffmpeg with libx264 and libvpx; nothing else does.
//
// With -png it writes each face as a picture instead, to be looked at.
package main

import (
	"flag"
	"fmt"
	"image"
	"image/png"
	"log"
	"os"
	"path/filepath"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "clips", "directory for the clip files, or the pictures")
	pictures := flag.Bool("png", false, "write the faces as pictures and encode nothing")
	flag.Parse()

	run := encodeFiles
	if *pictures {
		run = writePictures
	}
	if err := run(*out); err != nil {
		log.Fatalf("makeclips: %v", err)
	}
}

func encodeFiles(dir string) error {
	studio := make(studio)
	for name, encode := range map[string]encoder{"h264.bin": encodeH264, "vp8.bin": encodeVP8} {
		set := new(clip.Set)
		for id, poses := range scripts() {
			if err := encode(set, clip.ID(id), studio.film(poses)); err != nil {
				return fmt.Errorf("encode clip %d for %s: %w", id, name, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), set.Marshal(), 0o644); err != nil {
			return fmt.Errorf("write clips: %w", err)
		}
	}
	return nil
}

func writePictures(dir string) error {
	for id, poses := range scripts() {
		name := filepath.Join(dir, fmt.Sprintf("clip%02d.png", id))
		if err := writePicture(name, draw(poses[clip.Frames/2])); err != nil {
			return fmt.Errorf("write picture: %w", err)
		}
	}
	return nil
}

func writePicture(name string, picture image.Image) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := png.Encode(file, picture); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// studio keeps the pictures that were drawn, because most poses come in several clips.
type studio map[pose]*image.RGBA

func (s studio) film(poses [clip.Frames]pose) []*image.RGBA {
	film := make([]*image.RGBA, len(poses))
	for i, p := range poses {
		if s[p] == nil {
			s[p] = draw(p)
		}
		film[i] = s[p]
	}
	return film
}
