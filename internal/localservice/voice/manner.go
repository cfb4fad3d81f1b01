package voice

import (
	"hash/fnv"
	"regexp"
	"strings"
)

// Manner is how a text is spoken. The zero value is the service's usual voice.
type Manner struct {
	// Name is that of a voice of the catalog. The presets Clear, Deep, Bright and Klar have sounds of their own. Any other
	// voice gets one that depends on its ID.
	Name string
	ID   string
	// Language is that of the voice, as ISO 639-1 or BCP 47, like "en" or "de-DE". espeak-ng speaks it; the built-in voice
	// pronounces every language like English, and an endpoint recognises the language of a text by itself. "" and anything
	// that is no such code is English.
	Language string
	// Speed is 1 for the usual one, from MinSpeed to MaxSpeed, to which other values are limited. 0 is 1.
	Speed float64
}

// Limits of [Manner.Speed].
const (
	MinSpeed = 0.5
	MaxSpeed = 2
)

// speed is the factor of the speed.
func (m Manner) speed() float64 {
	if !(m.Speed > 0) {
		return 1
	}
	return min(max(m.Speed, MinSpeed), MaxSpeed)
}

// timbre is the sound of a voice in each kind of voice.
type timbre struct {
	pitch, tract float64 // of the built-in voice: factors of its pitch, and of its formants
	variant      string  // of espeak-ng, as in "f3"
	espeakPitch  string  // of espeak-ng, 0 to 99
	endpoint     string  // the voice of the endpoint
}

// usual is a woman's voice, as the first face is a woman's.
var usual = timbre{1, 1, "f3", "50", DefaultVoice}

// presets are the voices of the catalog with these names.
var presets = map[string]timbre{
	"clear":  usual,
	"deep":   {0.52, 0.86, "m3", "30", "onyx"},
	"bright": {1.22, 1.09, "f5", "68", "shimmer"},
	"klar":   {0.9, 0.97, "f2", "46", "nova"},
}

// others are the sounds of all other voices.
var others = []timbre{
	{0.62, 0.9, "m1", "40", "ash"},
	{0.7, 0.94, "m2", "48", "echo"},
	{0.58, 0.84, "m7", "34", "ballad"},
	{1.1, 1.04, "f1", "56", "sage"},
	{1.3, 1.13, "f4", "74", "alloy"},
	{0.82, 1.02, "f5", "42", "fable"},
}

func (m Manner) timbre() timbre {
	if m == (Manner{Speed: m.Speed}) {
		return usual
	}
	if preset, ok := presets[strings.ToLower(m.Name)]; ok {
		return preset
	}
	sum := fnv.New32a()
	sum.Write([]byte(m.ID)) //nolint:errcheck // never fails
	return others[sum.Sum32()%uint32(len(others))]
}

// code matches a code of a language, of which the first part is the language itself.
var code = regexp.MustCompile(`^([a-z]{2,3})(-[A-Za-z0-9]{2,8})*$`)

// espeakLanguage is the name that espeak-ng has for the language.
func (m Manner) espeakLanguage() string {
	if found := code.FindStringSubmatch(m.Language); found != nil && found[1] != "en" {
		return found[1]
	}
	return espeakEnglish
}
