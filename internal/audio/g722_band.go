package audio

import "math"

// The names of the steps (QUANTL, LOGSCL, UPPOL2 …) are those of ITU-T G.722 §6.2, where the arithmetic is fixed to
// the bit: any decoder must reach the same state as our encoder, so the constants and the order of the shifts and
// limits below are not free.

// qmf is the quadrature mirror filter that splits 16 kHz into two bands of 8 kHz, or joins them.
type qmf struct {
	x [24]int32
}

// Half of the filter's 24 symmetric taps (G.722 table 11), which sum to 4096.
var qmfTaps = [12]int32{3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11}

func (q *qmf) push(a, b int32) {
	copy(q.x[:], q.x[2:])
	q.x[22], q.x[23] = a, b
}

func (q *qmf) sums() (odd, even int32) {
	for i, tap := range qmfTaps {
		odd += q.x[2*i] * tap
		even += q.x[2*i+1] * qmfTaps[11-i]
	}
	return odd, even
}

// band is the adaptive predictor and quantiser state of one sub-band, the same in encoder and decoder.
type band struct {
	s, sz int32    // the predicted signal, and the contribution of the zeros to it
	r     [2]int32 // doubled, as the filter needs them
	p     [2]int32 // newest first
	a     [2]int32 // poles
	d     [6]int32 // doubled, newest first
	b     [6]int32 // zeros
	nb    int32    // logarithmic scale factor
	det   int32    // quantiser step
}

func lowBand() band  { return band{det: 32} }
func highBand() band { return band{det: 8} }

const (
	lowScaleLimit  = 18432
	highScaleLimit = 22528
)

// QUANTL decision levels, and INVQAL/INVQBL outputs for the four and six bit codes.
var (
	lowLevels = [30]int32{
		0, 35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650,
		714, 786, 858, 940, 1023, 1121, 1219, 1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919,
	}
	lowOutputs4 = [16]int32{
		0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584, 1200, 0,
	}
	lowOutputs6 = [64]int32{
		-136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232, -9360, -8576, -7856,
		-7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688, -1360, -1040, -728,
		24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192, 6576, 6000, 5456,
		4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432, -136,
	}
	// LOGSCL steps by magnitude of the four bit code: magnitude 0 shrinks the scale, 7 grows it.
	lowScaleSteps  = [16]int32{-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60}
	highOutputs    = [4]int32{-7408, -1616, 7408, 1616}
	highScaleSteps = [4]int32{798, -214, 798, -214}
	// 2048 × 2^(i/32), the mantissa of the antilogarithm.
	antilog = [32]int32{
		2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834,
		2896, 2960, 3025, 3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008,
	}
)

// highLevel is QUANTH's only decision level.
const highLevel = 564

func (b *band) encodeLow(x int32) byte {
	e := saturate(x - b.s)
	magnitude := e
	if e < 0 {
		magnitude = ^e
	}
	level, most := 1, len(lowLevels) // binary search: the levels are in ascending order
	for level < most {
		if middle := (level + most) / 2; magnitude >= (lowLevels[middle]*b.det)>>12 {
			level = middle + 1
		} else {
			most = middle
		}
	}
	code := byte(62 - level) // 61 down to 32 for a positive difference
	if e < 0 {
		code = byte(34 - level) // 31 down to 4; the two smallest sit at the top of the code table
		if level < 3 {
			code = byte(64 - level)
		}
	}
	b.stepLow(code)
	return code
}

func (b *band) decodeLow(code byte) int32 {
	value := b.s + (b.det*lowOutputs6[code])>>15
	b.stepLow(code)
	return min(max(value, -16384), 16383)
}

// stepLow adapts to a code. Only its upper four bits count, so that a decoder can do without the lower two.
func (b *band) stepLow(code byte) {
	code >>= 2
	difference := (b.det * lowOutputs4[code]) >> 15
	b.nb = min(max((b.nb*127)>>7+lowScaleSteps[code], 0), lowScaleLimit)
	b.det = scale(b.nb, 8)
	b.predict(difference)
}

func (b *band) encodeHigh(x int32) byte {
	e := saturate(x - b.s)
	magnitude, code := e, byte(3)
	if e < 0 {
		magnitude, code = ^e, 1
	}
	if magnitude >= (highLevel*b.det)>>12 {
		code--
	}
	b.stepHigh(code)
	return code
}

func (b *band) decodeHigh(code byte) int32 {
	value := b.s + (b.det*highOutputs[code])>>15
	b.stepHigh(code)
	return min(max(value, -16384), 16383)
}

func (b *band) stepHigh(code byte) {
	difference := (b.det * highOutputs[code]) >> 15
	b.nb = min(max((b.nb*127)>>7+highScaleSteps[code], 0), highScaleLimit)
	b.det = scale(b.nb, 10)
	b.predict(difference)
}

// scale is SCALEL and SCALEH: the quantiser step of a logarithmic scale factor.
func scale(nb, exponent int32) int32 {
	mantissa, shift := antilog[(nb>>6)&31], exponent-nb>>11
	if shift < 0 {
		return mantissa << -shift << 2
	}
	return mantissa >> shift << 2
}

// predict adapts poles and zeros to the newest quantised difference, and predicts the next sample.
func (b *band) predict(d int32) {
	p := saturate(b.sz + d) // PARREC
	r := saturate(b.s + d)  // RECONS

	same1, same2 := (p < 0) == (b.p[0] < 0), (p < 0) == (b.p[1] < 0)
	a2 := b.secondPole(same1, same2)
	b.a[0] = b.firstPole(same1, a2)
	b.a[1] = a2

	step := int32(128)
	if d == 0 {
		step = 0
	}
	// UPZERO, DELAYA and FILTEZ in one pass, without branches: this is most of the cost of a voice (BenchmarkG722Speech
	// with the search in encodeLow: 34 µs before, 20 µs now). Where the signs differ, other is -1 and inverts the change.
	// No zero exceeds 16 bits: 32767·32640/32768 + 128 is 32767.
	b.sz = 0
	newest := saturate(2 * d)
	for i, older := range b.d {
		other := (d ^ older) >> 31
		b.b[i] = (step ^ other) - other + (b.b[i]*32640)>>15
		b.sz += (b.b[i] * newest) >> 15
		b.d[i], newest = newest, older
	}
	b.sz = saturate(b.sz)
	b.p[1], b.p[0] = b.p[0], p
	b.r[1], b.r[0] = b.r[0], saturate(2*r)
	poles := saturate((b.a[0]*b.r[0])>>15 + (b.a[1]*b.r[1])>>15) // FILTEP
	b.s = saturate(poles + b.sz)                                 // PREDIC
}

// secondPole is UPPOL2.
func (b *band) secondPole(same1, same2 bool) int32 {
	first := saturate(4 * b.a[0])
	if same1 {
		first = min(-first, math.MaxInt16)
	}
	change := int32(-128)
	if same2 {
		change = 128
	}
	return min(max(change+first>>7+(b.a[1]*32512)>>15, -12288), 12288)
}

// firstPole is UPPOL1.
func (b *band) firstPole(same1 bool, a2 int32) int32 {
	change := int32(-192)
	if same1 {
		change = 192
	}
	limit := saturate(15360 - a2)
	return min(max(saturate(change+(b.a[0]*32640)>>15), -limit), limit)
}

func saturate(v int32) int32 {
	return min(max(v, math.MinInt16), math.MaxInt16)
}
