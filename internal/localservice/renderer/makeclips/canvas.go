package main

import (
	"image"
	"image/color"
	"math"
	"slices"

	"github.com/agentruntime/agentruntime/internal/localservice/renderer/clip"
)

// oversample is the number of dots that a pixel has in each direction while drawing; their mean smooths every edge.
const oversample = 4

// curveSteps is the number of straight pieces that a curve between two points is drawn with.
const curveSteps = 16

// point is a place on the picture, in pixels from the upper left corner.
type point struct{ x, y float64 }

// outline is a closed shape, filled by the even-odd rule.
type outline []point

// smooth is the closed curve through points, rounded at each of them (a Catmull-Rom spline).
func smooth(points ...point) outline {
	n := len(points)
	var shape outline
	for i := range points {
		shape = append(shape, between(points[(i+n-1)%n], points[i], points[(i+1)%n], points[(i+2)%n])...)
	}
	return shape
}

// arc is the open curve through points.
func arc(points ...point) []point {
	last := len(points) - 1
	var curve []point
	for i := range last {
		curve = append(curve, between(points[max(i-1, 0)], points[i], points[i+1], points[min(i+2, last)])...)
	}
	return append(curve, points[last])
}

// between is the piece of a Catmull-Rom spline from b to c, without c.
func between(a, b, c, d point) []point {
	piece := make([]point, curveSteps)
	for i := range piece {
		t := float64(i) / curveSteps
		piece[i] = point{spline(a.x, b.x, c.x, d.x, t), spline(a.y, b.y, c.y, d.y, t)}
	}
	return piece
}

func spline(a, b, c, d, t float64) float64 {
	return b + t/2*(c-a+t*(2*a-5*b+4*c-d+t*(3*b-a-3*c+d)))
}

func ellipse(cx, cy, rx, ry float64) outline {
	const steps = 96
	shape := make(outline, steps)
	for i := range shape {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / steps)
		shape[i] = point{cx + rx*cos, cy + ry*sin}
	}
	return shape
}

// ribbon is a line along curve, width wide in the middle and thinner to both ends.
func ribbon(curve []point, width float64) outline {
	var left, right outline
	for i, p := range curve {
		a, b := curve[max(i-1, 0)], curve[min(i+1, len(curve)-1)]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		t := float64(i) / float64(len(curve)-1)
		half := width / 2 * (0.35 + 0.65*math.Sin(math.Pi*t))
		dx, dy := -(b.y-a.y)/length*half, (b.x-a.x)/length*half
		left = append(left, point{p.x + dx, p.y + dy})
		right = append(right, point{p.x - dx, p.y - dy})
	}
	slices.Reverse(right)
	return append(left, right...)
}

// canvas is a picture that is being drawn. The zero value is black.
type canvas struct {
	dots [clip.Height * oversample][clip.Width * oversample]color.RGBA
}

// fill paints a shape, inside all of the given limits only.
func (c *canvas) fill(shape outline, paint color.RGBA, limits ...outline) {
	top, bottom := math.Inf(1), math.Inf(-1)
	for _, p := range shape {
		top, bottom = min(top, p.y), max(bottom, p.y)
	}
	first := max(int(top*oversample), 0)
	last := min(int(bottom*oversample)+1, len(c.dots)-1)
	for row := first; row <= last; row++ {
		y := (float64(row) + 0.5) / oversample
		spans := crossings(shape, y)
		for _, limit := range limits {
			spans = intersect(spans, crossings(limit, y))
		}
		for i := 0; i+1 < len(spans); i += 2 {
			c.paintRow(row, spans[i], spans[i+1], paint)
		}
	}
}

func (c *canvas) paintRow(row int, from, to float64, paint color.RGBA) {
	line := &c.dots[row]
	first := max(int(math.Ceil(from*oversample-0.5)), 0)
	last := min(int(math.Ceil(to*oversample-0.5)), len(line))
	for x := first; x < last; x++ {
		line[x] = blend(line[x], paint)
	}
}

// blend lays a colour on another; alpha is the share of the upper one.
func blend(lower, upper color.RGBA) color.RGBA {
	mix := func(a, b uint8) uint8 {
		return uint8((int(a)*(255-int(upper.A)) + int(b)*int(upper.A)) / 255)
	}
	return color.RGBA{mix(lower.R, upper.R), mix(lower.G, upper.G), mix(lower.B, upper.B), 255}
}

// crossings are the sorted places where a shape's edge meets a row, in pairs of in and out.
func crossings(shape outline, y float64) []float64 {
	var xs []float64
	for i, a := range shape {
		b := shape[(i+1)%len(shape)]
		if (a.y <= y) != (b.y <= y) {
			xs = append(xs, a.x+(y-a.y)/(b.y-a.y)*(b.x-a.x))
		}
	}
	slices.Sort(xs)
	return xs
}

// intersect returns the in and out pairs of the places that are inside both lists.
func intersect(a, b []float64) []float64 {
	var both []float64
	for i := 0; i+1 < len(a); i += 2 {
		for j := 0; j+1 < len(b); j += 2 {
			from, to := max(a[i], b[j]), min(a[i+1], b[j+1])
			if from < to {
				both = append(both, from, to)
			}
		}
	}
	return both
}

// picture is the canvas at its final size.
func (c *canvas) picture() *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, clip.Width, clip.Height))
	for y := range clip.Height {
		for x := range clip.Width {
			img.SetRGBA(x, y, c.mean(x*oversample, y*oversample))
		}
	}
	return img
}

func (c *canvas) mean(left, top int) color.RGBA {
	const dots = oversample * oversample
	var r, g, b int
	for y := top; y < top+oversample; y++ {
		for _, dot := range c.dots[y][left : left+oversample] {
			r, g, b = r+int(dot.R), g+int(dot.G), b+int(dot.B)
		}
	}
	return color.RGBA{uint8(r / dots), uint8(g / dots), uint8(b / dots), 255}
}
