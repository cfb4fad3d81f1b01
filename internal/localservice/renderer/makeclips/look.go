package main

import (
	"image/color"
	"math"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

// look is what distinguishes a face from the others.
type look struct {
	wall, halo           color.RGBA
	hairDark, hairLight  color.RGBA
	skin, skinShade      color.RGBA
	blush, brow, lash    color.RGBA
	iris                 color.RGBA
	lip, lipShade        color.RGBA
	jacket, jacketShade  color.RGBA
	blouse               color.RGBA
	hair                 hair
	clothes              clothes
	tie, frame           color.RGBA // of a suit, and of glasses; the zero value is none
	moustache, lashWings bool
}

// hair is a way to wear hair.
type hair int

const (
	hairLong  hair = iota // parted at the side, over the shoulders
	hairBob               // straight, with a fringe down to the brows
	hairCurls             // round the whole head
	hairShort             // above the ears, with a high forehead
)

// clothes is what covers the shoulders.
type clothes int

const (
	jacketOpen clothes = iota // lapels over an open collar
	suit                      // lapels, a closed collar and a tie
	sweater                   // a round collar
)

// looks are the faces. They have the attributes of the catalog's visuals with the same names.
var looks = [clip.Faces]look{
	clip.Robin: {
		wall: color.RGBA{207, 225, 229, 255}, halo: color.RGBA{226, 238, 240, 255},
		hairDark: color.RGBA{74, 46, 38, 255}, hairLight: color.RGBA{104, 66, 52, 255},
		skin: color.RGBA{244, 204, 172, 255}, skinShade: color.RGBA{226, 172, 138, 255},
		blush: color.RGBA{236, 138, 118, 70}, brow: color.RGBA{84, 54, 44, 255}, lash: color.RGBA{58, 36, 32, 255},
		iris: color.RGBA{92, 120, 98, 255}, lip: color.RGBA{205, 104, 96, 255}, lipShade: color.RGBA{156, 62, 62, 255},
		jacket: color.RGBA{45, 78, 112, 255}, jacketShade: color.RGBA{36, 64, 94, 255}, blouse: color.RGBA{250, 247, 241, 255},
		hair: hairLong, clothes: jacketOpen, lashWings: true,
	},
	clip.Ada: {
		wall: color.RGBA{232, 214, 190, 255}, halo: color.RGBA{242, 230, 212, 255},
		hairDark: color.RGBA{30, 28, 36, 255}, hairLight: color.RGBA{62, 60, 78, 255},
		skin: color.RGBA{218, 168, 124, 255}, skinShade: color.RGBA{190, 136, 96, 255},
		blush: color.RGBA{206, 104, 84, 70}, brow: color.RGBA{38, 32, 36, 255}, lash: color.RGBA{28, 24, 28, 255},
		iris: color.RGBA{84, 56, 40, 255}, lip: color.RGBA{178, 56, 68, 255}, lipShade: color.RGBA{118, 30, 44, 255},
		jacket: color.RGBA{58, 54, 62, 255}, jacketShade: color.RGBA{42, 38, 46, 255}, blouse: color.RGBA{176, 42, 62, 255},
		hair: hairBob, clothes: jacketOpen, lashWings: true,
	},
	clip.Noor: {
		wall: color.RGBA{206, 214, 196, 255}, halo: color.RGBA{224, 230, 216, 255},
		hairDark: color.RGBA{34, 26, 24, 255}, hairLight: color.RGBA{64, 48, 42, 255},
		skin: color.RGBA{140, 90, 62, 255}, skinShade: color.RGBA{110, 68, 46, 255},
		blush: color.RGBA{168, 78, 62, 70}, brow: color.RGBA{38, 26, 24, 255}, lash: color.RGBA{26, 18, 18, 255},
		iris: color.RGBA{62, 40, 30, 255}, lip: color.RGBA{158, 74, 74, 255}, lipShade: color.RGBA{100, 40, 42, 255},
		jacket: color.RGBA{232, 174, 58, 255}, jacketShade: color.RGBA{206, 148, 40, 255}, blouse: color.RGBA{240, 190, 84, 255},
		hair: hairCurls, clothes: sweater, lashWings: true,
	},
	clip.Ben: {
		wall: color.RGBA{198, 206, 224, 255}, halo: color.RGBA{216, 222, 236, 255},
		hairDark: color.RGBA{172, 172, 176, 255}, hairLight: color.RGBA{206, 206, 210, 255},
		skin: color.RGBA{238, 196, 172, 255}, skinShade: color.RGBA{214, 162, 138, 255},
		blush: color.RGBA{222, 124, 110, 80}, brow: color.RGBA{150, 148, 150, 255}, lash: color.RGBA{84, 74, 72, 255},
		iris: color.RGBA{84, 112, 146, 255}, lip: color.RGBA{196, 120, 110, 255}, lipShade: color.RGBA{148, 80, 76, 255},
		jacket: color.RGBA{66, 74, 70, 255}, jacketShade: color.RGBA{52, 58, 56, 255}, blouse: color.RGBA{244, 246, 250, 255},
		hair: hairShort, clothes: suit, tie: color.RGBA{120, 34, 44, 255}, frame: color.RGBA{52, 50, 56, 255}, moustache: true,
	},
}

// drawCurls fills circles along an ellipse around the middle of the head, from one angle to another in turns, where 0 is
// the right.
func drawCurls(c *canvas, paint color.RGBA, cy, rx, ry, size, from, to float64, count int) {
	for i := range count {
		sin, cos := math.Sincos(2 * math.Pi * (from + (to-from)*float64(i)/float64(count-1)))
		c.fill(ellipse(middleX+rx*cos, cy+ry*sin, size, size), paint)
	}
}

// drawGlasses lays frames over the eyes.
func drawGlasses(c *canvas, frame color.RGBA, dy float64) {
	y := eyesY + dy
	for _, side := range []float64{-1, 1} {
		ring := ellipse(middleX+side*32, y+1, 27, 24)
		c.fill(append(ring, ellipse(middleX+side*32, y+1, 24, 21)...), frame)
		at := func(x, y float64) point { return point{middleX + side*x, y} }
		c.fill(outline{at(57, y-6), at(76, y-10), at(76, y-7), at(58, y-2)}, frame)
	}
	c.fill(ribbon(arc(point{middleX - 7, y - 1}, point{middleX, y - 5}, point{middleX + 7, y - 1}), 4), frame)
}

// drawMoustache lays a moustache over the upper lip.
func drawMoustache(c *canvas, l *look, dy float64) {
	c.fill(mirrored(dy, point{0, 190}, point{14, 188}, point{30, 196}, point{40, 207}, point{24, 204}, point{0, 201}), l.hairDark)
	c.fill(ribbon(arc(point{middleX - 26, 197 + dy}, point{middleX - 10, 192 + dy}, point{middleX, 194 + dy}), 2.4), l.hairLight)
	c.fill(ribbon(arc(point{middleX, 194 + dy}, point{middleX + 10, 192 + dy}, point{middleX + 26, 197 + dy}), 2.4), l.hairLight)
}
