package main

import (
	"image"
	"image/color"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

// Colours that all faces have.
var (
	eyeWhite    = color.RGBA{255, 253, 250, 255}
	pupil       = color.RGBA{38, 30, 30, 255}
	mouthInside = color.RGBA{112, 38, 44, 255}
	tongue      = color.RGBA{214, 108, 108, 255}
)

// The middle of the face.
const (
	middleX = clip.Width / 2
	eyesY   = 150.0
	mouthY  = 207.0
)

// pose is everything that moves.
type pose struct {
	mouth  clip.Mouth
	lids   float64 // 0 closed to 1 open
	look   float64 // -1 to 1, sideways
	breath float64 // 0 out to 1 in
}

// lips is the form of a mouth, in pixels around its middle.
type lips struct {
	width  float64 // from corner to corner
	open   float64 // height of the opening
	smile  float64 // how far the corners are raised
	upper  float64 // thickness of the upper lip
	lower  float64
	teeth  float64 // how far the upper teeth reach into the opening
	tongue float64 // how far the tongue does
	round  bool    // an ellipse instead of a smile
}

var lipsOf = [clip.Mouths]lips{
	clip.Closed: {width: 54, open: 0, smile: 7, upper: 4, lower: 5},
	clip.Parted: {width: 48, open: 7, smile: 4, upper: 4, lower: 5, teeth: 4},
	clip.Toothy: {width: 50, open: 9, smile: 5, upper: 4, lower: 4, teeth: 8},
	clip.Narrow: {width: 62, open: 13, smile: 7, upper: 4, lower: 5, teeth: 10},
	clip.Half:   {width: 50, open: 17, smile: 4, upper: 4, lower: 5, teeth: 6, tongue: 5},
	clip.Pursed: {width: 22, open: 12, upper: 6, lower: 6, round: true},
	clip.Open:   {width: 54, open: 25, smile: 4, upper: 4, lower: 5, teeth: 7, tongue: 9},
	clip.Round:  {width: 33, open: 27, upper: 6, lower: 6, tongue: 5, round: true},
	clip.Wide:   {width: 56, open: 33, smile: 3, upper: 4, lower: 5, teeth: 9, tongue: 13},
}

// draw makes the picture of a pose. Layers go from the back to the front.
func draw(l *look, p pose) *image.RGBA {
	c := new(canvas)
	rise := -1.6 * p.breath // the shoulders rise with the breath, the head a little less
	drawBackground(c, l)
	drawHairBehind(c, l, 0.6*rise)
	drawBody(c, l, rise)
	head := 0.6 * rise
	drawHead(c, l, p, head)
	drawMouth(c, l, lipsOf[p.mouth], head)
	if l.moustache {
		drawMoustache(c, l, head)
	}
	for _, side := range []float64{-1, 1} {
		drawEye(c, l, p, side, head)
	}
	drawFringe(c, l, head)
	if l.frame.A > 0 {
		drawGlasses(c, l.frame, head)
	}
	return c.picture()
}

// mirrored adds the other half of a symmetric shape: points run down the right side, x counting from the middle.
func mirrored(dy float64, right ...point) outline {
	points := make([]point, 0, 2*len(right))
	for _, p := range right {
		points = append(points, point{middleX + p.x, p.y + dy})
	}
	for i := len(right) - 1; i >= 0; i-- {
		if right[i].x > 0 {
			points = append(points, point{middleX - right[i].x, right[i].y + dy})
		}
	}
	return smooth(points...)
}

func drawBackground(c *canvas, l *look) {
	c.fill(outline{{0, 0}, {clip.Width, 0}, {clip.Width, clip.Height}, {0, clip.Height}}, l.wall)
	c.fill(ellipse(middleX, 178, 172, 172), l.halo)
}

func drawHairBehind(c *canvas, l *look, dy float64) {
	switch l.hair {
	case hairLong:
		c.fill(mirrored(dy, point{0, 34}, point{54, 44}, point{88, 84}, point{98, 140}, point{104, 200}, point{100, 244},
			point{74, 262}, point{40, 254}, point{0, 250}), l.hairDark)
	case hairBob:
		c.fill(mirrored(dy, point{0, 32}, point{52, 40}, point{88, 76}, point{98, 132}, point{100, 190}, point{97, 226},
			point{70, 232}, point{40, 228}, point{0, 226}), l.hairDark)
	case hairCurls:
		c.fill(ellipse(middleX, 132+dy, 108, 100), l.hairDark)
		drawCurls(c, l.hairDark, 132+dy, 104, 96, 22, 0.38, 1.12, 24)
		drawCurls(c, l.hairLight, 126+dy, 96, 86, 7, 0.52, 0.98, 13)
	case hairShort:
		c.fill(mirrored(dy, point{0, 40}, point{48, 48}, point{78, 80}, point{86, 126}, point{84, 164}, point{60, 176}, point{0, 176}), l.hairDark)
	}
}

func drawBody(c *canvas, l *look, dy float64) {
	shoulders := mirrored(dy, point{0, 276}, point{44, 280}, point{104, 298}, point{142, 326}, point{158, 380}, point{0, 396})
	c.fill(shoulders, l.jacket)
	neck := outline{
		{middleX - 30, 215 + dy},
		{middleX + 30, 215 + dy},
		{middleX + 32, 282 + dy},
		{middleX, 322 + dy},
		{middleX - 32, 282 + dy},
	}
	if l.clothes == sweater {
		c.fill(ellipse(middleX, 284+dy, 54, 26), l.jacketShade)
		c.fill(ellipse(middleX, 281+dy, 47, 22), l.skin)
		c.fill(outline{neck[0], neck[1], neck[2], neck[4]}, l.skin)
		c.fill(ellipse(middleX, 236+dy, 46, 30), l.skinShade, neck)
		return
	}
	// The blouse's collar, then the neck in it, then the lapels.
	c.fill(outline{
		{middleX - 46, 272 + dy},
		{middleX + 46, 272 + dy},
		{middleX + 30, 330 + dy},
		{middleX + 4, 380 + dy},
		{middleX - 4, 380 + dy},
		{middleX - 30, 330 + dy},
	}, l.blouse)
	c.fill(neck, l.skin)
	c.fill(ellipse(middleX, 236+dy, 46, 30), l.skinShade, neck)
	for _, side := range []float64{-1, 1} {
		at := func(x, y float64) point { return point{middleX + side*x, y + dy} }
		c.fill(outline{at(31, 268), at(46, 274), at(40, 308), at(0, 326)}, l.blouse)
		c.fill(outline{at(44, 274), at(62, 284), at(74, 318), at(56, 322), at(58, 334), at(2, 384), at(2, 366)}, l.jacketShade)
		if l.clothes == suit {
			c.fill(outline{at(31, 266), at(40, 272), at(34, 302), at(2, 292), at(0, 288)}, l.blouse)
		}
	}
	if l.clothes == suit {
		c.fill(mirrored(dy, point{0, 288}, point{9, 290}, point{7, 300}, point{13, 340}, point{14, 380}, point{0, 396}), l.tie)
	}
}

func drawHead(c *canvas, l *look, p pose, dy float64) {
	for _, side := range []float64{-1, 1} {
		c.fill(ellipse(middleX+side*77, 158+dy, 12, 19), l.skin)
		c.fill(ellipse(middleX+side*77, 159+dy, 6, 11), l.skinShade)
	}
	jaw := 0.22 * lipsOf[p.mouth].open
	face := mirrored(dy, point{0, 66}, point{44, 76}, point{72, 112}, point{76, 156}, point{66, 200 + 0.3*jaw},
		point{38, 235 + jaw}, point{0, 248 + jaw})
	c.fill(face, l.skin)
	for _, side := range []float64{-1, 1} {
		c.fill(ellipse(middleX+side*49, 188+dy, 17, 11), l.blush, face)
	}
	nose := arc(point{middleX - 9, 180 + dy}, point{middleX - 1, 184.5 + dy}, point{middleX + 9, 180 + dy})
	c.fill(ribbon(nose, 3.6), l.skinShade)
}

func drawEye(c *canvas, l *look, p pose, side, dy float64) {
	x, y := middleX+side*32, eyesY+dy
	at := func(dx, dy float64) point { return point{x + side*dx, y + dy} } // dx grows outwards

	lift := -1.5 * lipsOf[p.mouth].open / lipsOf[clip.Wide].open // brows rise a little with a wide mouth
	c.fill(ribbon(arc(at(-17, -24+lift), at(0, -31+lift), at(19, -23+lift)), 6.2), l.brow)

	// The upper lid falls from -13 to a bit below the middle.
	lid := 6 - 19*p.lids
	if p.lids < 0.1 {
		c.fill(ribbon(arc(at(-17, 3), at(0, 8.5), at(18, 2)), 4.4), l.lash)
		return
	}
	upper := arc(at(-18, 3), at(-9, lid+4), at(1, lid), at(12, lid+4), at(18, 0))
	lower := arc(at(18, 0), at(10, 10), at(0, 12), at(-11, 9), at(-18, 3))
	shape := append(append(outline{}, upper...), lower...)
	c.fill(shape, eyeWhite)
	irisX, irisY := x+2.5*p.look*1.8, y-0.5
	c.fill(ellipse(irisX, irisY, 10.2, 11), l.iris, shape)
	c.fill(ellipse(irisX, irisY, 5.4, 5.8), pupil, shape)
	c.fill(ellipse(irisX+3.4, irisY-4, 2.8, 2.8), eyeWhite, shape)
	c.fill(ribbon(upper, 4.2), l.lash)
	if l.lashWings {
		c.fill(ribbon(arc(at(15.5, -1.5), at(19.5, -2.5), at(23.5, -6)), 3.2), l.lash)
	}
	c.fill(ribbon(arc(at(-12, lid-2), at(1, lid-6), at(15, lid-1)), 1.6), l.skinShade)
}

func drawMouth(c *canvas, l *look, m lips, dy float64) {
	if m.round {
		drawRoundMouth(c, l, m, dy)
		return
	}
	half := m.width / 2
	at := func(x, y float64) point { return point{middleX + x, mouthY + dy + y} }
	corner := -m.smile
	// The opening hangs from the corners: its upper edge is flat, its lower one falls with the jaw.
	top := arc(at(-half, corner), at(-half*0.45, -1), at(0, 0), at(half*0.45, -1), at(half, corner))
	bottom := arc(at(half, corner), at(half*0.62, m.open*0.78), at(0, m.open), at(-half*0.62, m.open*0.78), at(-half, corner))

	outer := smooth(at(-half-3, corner-1), at(-half*0.4, -m.upper-1), at(0, -m.upper+1), at(half*0.4, -m.upper-1), at(half+3, corner-1),
		at(half*0.66, m.open*0.8+m.lower), at(0, m.open+m.lower+1), at(-half*0.66, m.open*0.8+m.lower))
	c.fill(outer, l.lip)
	if m.open == 0 {
		smile := arc(at(-half-3, corner-1.5), at(-half*0.5, -0.5), at(0, 1.5), at(half*0.5, -0.5), at(half+3, corner-1.5))
		c.fill(ribbon(smile, 3), l.lipShade)
		return
	}
	opening := append(append(outline{}, top...), bottom...)
	c.fill(opening, mouthInside)
	c.fill(ellipse(middleX, mouthY+dy+m.open+6-m.tongue/2, half*0.6, m.tongue/2+6), withAlpha(tongue, m.tongue), opening)
	c.fill(shifted(opening, m.teeth-m.open), eyeWhite, opening)
}

func drawRoundMouth(c *canvas, l *look, m lips, dy float64) {
	y := mouthY + dy + m.open/2 - 3
	c.fill(ellipse(middleX, y, m.width/2+m.upper, m.open/2+m.lower), l.lip)
	opening := ellipse(middleX, y, m.width/2, m.open/2)
	c.fill(opening, mouthInside)
	c.fill(ellipse(middleX, y+m.open/2+4-m.tongue/2, m.width*0.36, m.tongue/2+4), withAlpha(tongue, m.tongue), opening)
}

func shifted(shape outline, dy float64) outline {
	moved := make(outline, len(shape))
	for i, p := range shape {
		moved[i] = point{p.x, p.y + dy}
	}
	return moved
}

// withAlpha makes paint transparent if size is 0.
func withAlpha(paint color.RGBA, size float64) color.RGBA {
	if size == 0 {
		paint.A = 0
	}
	return paint
}

func drawFringe(c *canvas, l *look, dy float64) {
	at := func(x, y float64) point { return point{middleX + x, y + dy} }
	switch l.hair {
	case hairBob:
		c.fill(mirrored(dy, point{0, 44}, point{54, 52}, point{86, 96}, point{94, 150}, point{92, 222}, point{78, 226}, point{74, 160},
			point{66, 116}, point{40, 112}, point{0, 111}), l.hairDark)
		c.fill(ribbon(arc(at(-62, 78), at(-30, 62), at(0, 60), at(30, 62), at(62, 78)), 6), l.hairLight)
		return
	case hairCurls:
		drawCurls(c, l.hairDark, 128+dy, 72, 62, 18, 0.53, 0.97, 11)
		drawCurls(c, l.hairLight, 118+dy, 60, 56, 5, 0.56, 0.94, 9)
		return
	case hairShort:
		for _, side := range []float64{-1, 1} {
			at := func(x, y float64) point { return point{middleX + side*x, y + dy} }
			c.fill(smooth(at(-2, 43), at(56, 58), at(82, 96), at(86, 140), at(82, 164), at(74, 150), at(70, 118), at(58, 92), at(30, 80), at(-2, 74)), l.hairDark)
			c.fill(ribbon(arc(at(38, 62), at(64, 82), at(78, 116)), 4), l.hairLight)
		}
		return
	}
	// Swept from a parting on one side over the forehead, and down past the ear.
	long := smooth(at(-30, 50), at(10, 36), at(58, 48), at(90, 92), at(96, 150), at(95, 196), at(86, 206), at(80, 168), at(72, 124),
		at(44, 100), at(4, 82))
	short := smooth(at(-26, 46), at(-60, 56), at(-88, 92), at(-96, 150), at(-95, 196), at(-86, 206), at(-80, 168), at(-74, 126),
		at(-52, 98), at(-28, 78), at(-12, 60))
	c.fill(short, l.hairDark)
	c.fill(long, l.hairDark)
	c.fill(ribbon(arc(at(-18, 56), at(26, 58), at(60, 82), at(76, 116)), 5), l.hairLight)
	c.fill(ribbon(arc(at(-42, 66), at(-64, 86), at(-80, 120)), 4.5), l.hairLight)
}
