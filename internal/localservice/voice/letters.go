package voice

import (
	"strings"
	"unicode/utf8"
)

// sound is one speech sound, as the synthesiser makes it. Frequencies are in Hz, for a man's vocal tract.
type sound struct {
	formants [3]float64 // resonances of the mouth; zero keeps those of the sound before
	millis   float64    // duration
	voice    float64    // strength of the vocal cords
	breath   float64    // strength of the noise that passes through the mouth
	hiss     float64    // strength of the noise that is made at the teeth or lips
	hissAt   float64    // where its spectrum peaks
}

// Formants after Peterson and Barney (1952) for the vowels; consonants are close to the usual textbook loci.
var sounds = map[string]sound{
	"ah": {formants: [3]float64{730, 1090, 2440}, millis: 120, voice: 1},
	"ae": {formants: [3]float64{660, 1720, 2410}, millis: 115, voice: 1},
	"uh": {formants: [3]float64{640, 1190, 2390}, millis: 75, voice: 0.9},
	"aw": {formants: [3]float64{570, 840, 2410}, millis: 125, voice: 1},
	"eh": {formants: [3]float64{530, 1840, 2480}, millis: 95, voice: 1},
	"er": {formants: [3]float64{490, 1350, 1690}, millis: 110, voice: 0.9},
	"ih": {formants: [3]float64{390, 1990, 2550}, millis: 75, voice: 0.9},
	"ee": {formants: [3]float64{270, 2290, 3010}, millis: 115, voice: 0.9},
	"oo": {formants: [3]float64{300, 870, 2240}, millis: 115, voice: 0.9},
	"ow": {formants: [3]float64{450, 900, 2300}, millis: 85, voice: 1},

	"m":  {formants: [3]float64{280, 1000, 2200}, millis: 70, voice: 0.45},
	"n":  {formants: [3]float64{280, 1500, 2500}, millis: 65, voice: 0.45},
	"ng": {formants: [3]float64{280, 2000, 2700}, millis: 75, voice: 0.4},
	"l":  {formants: [3]float64{360, 1000, 2700}, millis: 65, voice: 0.6},
	"r":  {formants: [3]float64{350, 1160, 1600}, millis: 65, voice: 0.6},
	"w":  {formants: [3]float64{300, 650, 2200}, millis: 60, voice: 0.6},
	"y":  {formants: [3]float64{270, 2250, 3000}, millis: 55, voice: 0.6},
	"h":  {millis: 60, breath: 0.5},

	"s":  {formants: [3]float64{320, 1500, 2500}, millis: 100, hiss: 0.5, hissAt: 5600},
	"sh": {formants: [3]float64{300, 1700, 2400}, millis: 105, hiss: 0.6, hissAt: 2900},
	"f":  {formants: [3]float64{320, 900, 2200}, millis: 85, hiss: 0.18, hissAt: 6500},
	"th": {formants: [3]float64{320, 1300, 2500}, millis: 75, hiss: 0.14, hissAt: 6000},
	"z":  {formants: [3]float64{280, 1500, 2500}, millis: 80, voice: 0.35, hiss: 0.25, hissAt: 5600},
	"zh": {formants: [3]float64{280, 1700, 2400}, millis: 60, voice: 0.35, hiss: 0.3, hissAt: 2900},
	"v":  {formants: [3]float64{280, 1000, 2200}, millis: 60, voice: 0.4, hiss: 0.07, hissAt: 6500},
	"dh": {formants: [3]float64{280, 1300, 2500}, millis: 50, voice: 0.45, hiss: 0.05, hissAt: 6000},

	// A stop is the closed mouth, then its burst.
	"stop":  {millis: 55},
	"hum":   {formants: [3]float64{220, 1200, 2400}, millis: 45, voice: 0.2},
	"p":     {formants: [3]float64{350, 900, 2200}, millis: 28, breath: 0.35, hiss: 0.2, hissAt: 1000},
	"t":     {formants: [3]float64{350, 1700, 2600}, millis: 32, breath: 0.2, hiss: 0.45, hissAt: 4800},
	"k":     {formants: [3]float64{350, 1900, 2400}, millis: 34, breath: 0.25, hiss: 0.4, hissAt: 2000},
	"b":     {formants: [3]float64{300, 900, 2200}, millis: 14, voice: 0.5, hiss: 0.1, hissAt: 1000},
	"d":     {formants: [3]float64{300, 1700, 2600}, millis: 14, voice: 0.5, hiss: 0.18, hissAt: 4300},
	"g":     {formants: [3]float64{300, 1900, 2300}, millis: 18, voice: 0.5, hiss: 0.15, hissAt: 2000},
	"space": {millis: 35},
	"comma": {millis: 190},
	"end":   {millis: 280},
}

// spellings are the sounds of groups of letters, for English as far as a short table can. The longest match is used.
var spellings = map[string]string{
	"a": "ae", "e": "eh", "i": "ih", "o": "aw", "u": "uh", "y": "ee",
	"ai": "eh ih", "ay": "eh ih", "au": "aw", "aw": "aw", "ar": "ah r", "al": "aw l", "air": "eh r", "are": "eh r",
	"ea": "ee", "ee": "ee", "ei": "eh ih", "ey": "ee", "eu": "y oo", "ew": "y oo", "er": "er", "ear": "ih r",
	"ie": "ee", "ir": "er", "igh": "ah ih", "ight": "ah ih stop t",
	"oa": "ow oo", "oe": "ow oo", "oi": "aw ih", "oo": "oo", "or": "aw r", "ou": "ah oo", "ow": "ow oo", "oy": "aw ih",
	"our": "aw r", "ough": "aw", "ould": "oo hum d", "old": "ow l hum d", "ue": "oo", "ur": "er",
	"b": "hum b", "bb": "hum b", "c": "stop k", "ce": "s", "ci": "s ih", "ch": "stop t sh", "ck": "stop k", "d": "hum d", "dd": "hum d",
	"f": "f", "ff": "f", "g": "hum g", "ge": "hum d zh", "gg": "hum g", "gh": "", "h": "h", "j": "hum d zh", "k": "stop k", "kn": "n",
	"l": "l", "ll": "l", "m": "m", "mm": "m", "n": "n", "nn": "n", "ng": "ng", "p": "stop p", "ph": "f", "pp": "stop p",
	"q": "stop k", "qu": "stop k w", "r": "r", "rr": "r", "s": "s", "sh": "sh", "ss": "s", "sion": "zh uh n", "t": "stop t",
	"th": "th", "tch": "stop t sh", "tion": "sh uh n", "tt": "stop t", "ture": "stop t sh er", "v": "v", "w": "w", "wh": "w", "wr": "r",
	"x": "stop k s", "z": "z", "zz": "z",
}

// spoken are the sounds of words with irregular spelling, and of digits and signs.
var spoken = map[string]string{
	"a": "uh", "i": "ah ih", "the": "dh uh", "to": "stop t oo", "of": "uh v", "you": "y oo", "your": "y aw r", "are": "ah r", "is": "ih z",
	"was": "w uh z", "as": "ae z", "his": "h ih z", "has": "h ae z", "do": "hum d oo", "have": "h ae v", "there": "dh eh r",
	"this": "dh ih s", "that": "dh ae stop t", "they": "dh eh ih", "with": "w ih dh", "what": "w uh stop t", "who": "h oo", "one": "w uh n",
	"some": "s uh m", "come": "stop k uh m", "me": "m ee", "we": "w ee", "be": "hum b ee", "he": "h ee", "she": "sh ee", "my": "m ah ih",
	"by": "hum b ah ih", "why": "w ah ih", "hello": "h uh l ow oo", "no": "n ow oo", "so": "s ow oo", "go": "hum g ow oo",
	"0": "z ih r ow oo", "1": "w uh n", "2": "stop t oo", "3": "th r ee", "4": "f aw r", "5": "f ah ih v", "6": "s ih stop k s",
	"7": "s eh v uh n", "8": "eh ih stop t", "9": "n ah ih n",
	"&": "ae n hum d", "%": "stop p er s eh n stop t", "+": "stop p l uh s", "@": "ae stop t", "$": "hum d aw l er z",
}

const longestSpelling = 4

// pronounce returns the sounds of a word and of the pause after it. Letters that are not in the tables sound as a
// murmur of the right length.
func pronounce(word string) []sound {
	lower := strings.ToLower(word)
	core := strings.Trim(lower, ".,;:!?\"'()[]…-–—")
	var names []string
	if known, ok := spoken[core]; ok {
		names = strings.Fields(known)
	} else {
		names = spell(core)
	}
	names = append(names, pauseAfter(lower))
	voiced := make([]sound, 0, len(names))
	for _, name := range names {
		voiced = append(voiced, sounds[name])
	}
	return voiced
}

func pauseAfter(word string) string {
	word = strings.TrimRight(word, "\"')]")
	switch {
	case strings.HasSuffix(word, ".") || strings.HasSuffix(word, "!") || strings.HasSuffix(word, "?") || strings.HasSuffix(word, "…"):
		return "end"
	case strings.HasSuffix(word, ",") || strings.HasSuffix(word, ";") || strings.HasSuffix(word, ":"):
		return "comma"
	default:
		return "space"
	}
}

// spell sounds a word out by its letters.
func spell(word string) []string {
	// A final e is silent where the word has another vowel to be heard.
	if stem := strings.TrimSuffix(word, "e"); stem != word && strings.ContainsAny(stem, "aeiouy") && !strings.HasSuffix(stem, "e") {
		if !strings.HasSuffix(stem, "c") && !strings.HasSuffix(stem, "g") {
			word = stem
		}
	}
	var names []string
	for len(word) > 0 {
		length := min(longestSpelling, len(word))
		for length > 0 {
			if group, ok := spellings[word[:length]]; ok {
				names = append(names, strings.Fields(group)...)
				break
			}
			if name, ok := spoken[word[:length]]; ok && length == 1 {
				names = append(names, strings.Fields(name)...)
				break
			}
			length--
		}
		if length == 0 {
			names = append(names, "uh")
			_, length = utf8.DecodeRuneInString(word)
		}
		word = word[length:]
	}
	return names
}
