//go:build !js

package media

import (
	"encoding/hex"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

func TestPictureSizes(t *testing.T) {
	for _, test := range []struct {
		name   string
		read   func([]byte) (Picture, bool)
		packet string
		want   Picture
	}{
		{"VP8 key frame", vp8Size, "10" + "500000" + "9d012a" + "80026801", Picture{Width: 640, Height: 360}},
		{"VP8 with a picture id and a scale", vp8Size, "9080" + "8123" + "500000" + "9d012a" + "80428001", Picture{Width: 640, Height: 384}},
		{"VP8 delta frame", vp8Size, "10" + "510000" + "9d012a" + "80026801", Picture{}},
		{"VP8 in the middle of a frame", vp8Size, "00" + "500000" + "9d012a" + "80026801", Picture{}},
		{"VP8 cut", vp8Size, "10500000", Picture{}},
		// The parameters are those of x264 for the named sizes.
		{"H264 baseline 640x360, cropped", h264Size, "6742c01ed900a02ff97011000003000100000300320f162e48", Picture{Width: 640, Height: 360}},
		{"H264 high 1920x1080, cropped", h264Size, "67640028acd940780227e5c044000003000400000300c83c60c658", Picture{Width: 1920, Height: 1080}},
		{"H264 high 854x480, cropped", h264Size, "6764001eacd940d83de6f011000003000100000300320f162d96", Picture{Width: 854, Height: 480}},
		{"H264 slice", h264Size, "6588840", Picture{}},
		{"H264 empty", h264Size, "", Picture{}},
		{"H264 cut", h264Size, "6742c01e", Picture{}},
		{"H264 bundle, parameters second", h264Size, "78" + "0002" + "09f0" + "0019" + "6742c01ed900a02ff97011000003000100000300320f162e48", Picture{Width: 640, Height: 360}},
		{"H264 bundle that lies about its length", h264Size, "78" + "00ff" + "6742", Picture{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			packet := must.Get(hex.DecodeString(test.packet[:len(test.packet)&^1]))(t)
			got, ok := test.read(packet)
			if want := test.want.Width > 0; ok != want || ok && got != test.want {
				t.Errorf("%+v, %v; want %+v", got, ok, test.want)
			}
		})
	}
}

func FuzzPictureSize(f *testing.F) {
	f.Add([]byte{0x67, 100, 0, 40, 0xAC, 0xD9, 0x40})
	f.Add([]byte{0x78, 0, 2, 9, 0xF0})
	f.Fuzz(func(t *testing.T, packet []byte) {
		for _, read := range []func([]byte) (Picture, bool){h264Size, vp8Size} {
			if p, ok := read(packet); ok && (p.Width <= 0 || p.Height <= 0 || p.Width > maxSide || p.Height > maxSide) {
				t.Errorf("%+v", p)
			}
		}
	})
}
