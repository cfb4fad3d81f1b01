package media

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"
)

// Bounds of an offer, which are checked before it is parsed. The offers of browsers have up to 12 kB in two sections, each with up to 60
// formats and 250 lines of up to 300 bytes.
const (
	maxOffer    = 32 << 10 // bytes
	maxLine     = 4 << 10  // bytes
	maxLines    = 1000
	maxSections = 8
	maxFormats  = 128 // in a section: there are no more payload types
)

var (
	errOfferSize = fmt.Errorf("offer is larger than %d bytes, or has more than %d lines or one longer than %d bytes", maxOffer, maxLines, maxLine)
	errSections  = fmt.Errorf("offer has no media sections, or more than %d", maxSections)
	errFormats   = fmt.Errorf("offer has a section with more than %d formats", maxFormats)
	errKind      = errors.New("offer has a section that is neither audio nor video")
)

// checkOffer enforces the bounds of an offer that can be counted without parsing it.
func checkOffer(text string) error {
	if len(text) > maxOffer {
		return errOfferSize
	}
	lines, sections := 0, 0
	for line := range strings.Lines(text) {
		if lines++; lines > maxLines || len(line) > maxLine {
			return errOfferSize
		}
		if strings.HasPrefix(line, "m=") {
			if sections++; sections > maxSections {
				return errSections
			}
			if strings.Count(line, " ") > maxFormats+2 { // the others are before the port, the protocol and the first format
				return errFormats
			}
		}
	}
	if sections == 0 {
		return errSections
	}
	return nil
}

// codec is an offered codec, with the offer's payload type and parameters.
type codec struct {
	webrtc.RTPCodecParameters
	kind webrtc.RTPCodecType
}

// offer is the part of a client's session description that is used.
type offer struct {
	description  *sdp.SessionDescription // without candidates, see the package comment
	video, audio []codec
}

// parseOffer reads a session description. All codecs of all sections of a kind are taken together, because a client that has several
// sections of a kind offers the same in each.
func parseOffer(text string) (offer, error) {
	if err := checkOffer(text); err != nil {
		return offer{}, err
	}
	o := offer{description: &sdp.SessionDescription{}}
	if err := o.description.UnmarshalString(text); err != nil {
		return offer{}, fmt.Errorf("offer: %w", err)
	}
	for _, section := range o.description.MediaDescriptions {
		section.Attributes = slices.DeleteFunc(section.Attributes, isCandidate)
		switch section.MediaName.Media {
		case "video":
			o.video = append(o.video, codecsOf(section, webrtc.RTPCodecTypeVideo)...)
		case "audio":
			o.audio = append(o.audio, codecsOf(section, webrtc.RTPCodecTypeAudio)...)
		default:
			return offer{}, errKind
		}
	}
	o.description.Attributes = slices.DeleteFunc(o.description.Attributes, isCandidate)
	return o, nil
}

// text returns the offer with these codecs only; a section without one of them keeps its first format, because it must have one. It
// is for pion, which reads all attributes of a section again for each of its formats.
func (o offer) text(codecs ...codec) (string, error) {
	for _, section := range o.description.MediaDescriptions {
		if len(section.MediaName.Formats) == 0 {
			continue
		}
		first := section.MediaName.Formats[:1:1]
		seen := map[string]bool{}
		section.MediaName.Formats = slices.DeleteFunc(slices.Clone(section.MediaName.Formats), func(format string) bool {
			repeated := seen[format]
			seen[format] = true
			return repeated || !slices.ContainsFunc(codecs, func(c codec) bool {
				return c.kind.String() == section.MediaName.Media && fmt.Sprint(c.PayloadType) == format
			})
		})
		if len(section.MediaName.Formats) == 0 {
			section.MediaName.Formats = first
		}
		section.Attributes = slices.DeleteFunc(section.Attributes, func(a sdp.Attribute) bool {
			format, _, _ := strings.Cut(a.Value, " ")
			return isOfFormat(a) && format != "*" && !slices.Contains(section.MediaName.Formats, format)
		})
	}
	text, err := o.description.Marshal()
	if err != nil {
		return "", fmt.Errorf("offer: %w", err)
	}
	return string(text), nil
}

func isCandidate(a sdp.Attribute) bool {
	return a.Key == "candidate" || a.Key == "end-of-candidates" || a.Key == "remote-candidates"
}

// isOfFormat reports whether the value of an attribute begins with a format.
func isOfFormat(a sdp.Attribute) bool {
	return a.Key == "rtpmap" || a.Key == "fmtp" || a.Key == "rtcp-fb"
}

// codecsOf lists the codecs of a section in the order of preference. Formats without rtpmap, which browsers always write, are left
// out.
func codecsOf(section *sdp.MediaDescription, kind webrtc.RTPCodecType) []codec {
	offered := map[string]*codec{} // by format
	of := func(format string) *codec {
		if offered[format] == nil {
			offered[format] = &codec{kind: kind}
		}
		return offered[format]
	}
	for _, a := range section.Attributes {
		format, value, _ := strings.Cut(a.Value, " ")
		switch a.Key {
		case "rtpmap": // name/clock rate/channels
			c, parts := of(format), strings.Split(value, "/")
			if parts[0] == "" || len(parts) < 2 {
				continue
			}
			rate, err := strconv.ParseUint(parts[1], 10, 32)
			if err != nil {
				continue
			}
			c.MimeType, c.ClockRate = kind.String()+"/"+parts[0], uint32(rate)
			if len(parts) > 2 {
				channels, _ := strconv.ParseUint(parts[2], 10, 8) // 0 when there is none
				c.Channels = uint16(channels)
			}
		case "fmtp":
			of(format).SDPFmtpLine = value
		}
	}
	var codecs []codec
	for _, format := range section.MediaName.Formats {
		payloadType, err := strconv.ParseUint(format, 10, 7)
		if c := offered[format]; err == nil && c != nil && c.MimeType != "" {
			c.PayloadType = webrtc.PayloadType(payloadType)
			codecs = append(codecs, *c)
		}
	}
	return codecs
}

// is reports whether c is the codec mimeType. Names in SDP are case-insensitive.
func (c codec) is(mimeType string) bool {
	return strings.EqualFold(c.MimeType, mimeType)
}

// first returns the first codec that fits.
func first(codecs []codec, fits func(codec) bool) (codec, bool) {
	i := slices.IndexFunc(codecs, fits)
	if i < 0 {
		return codec{}, false
	}
	return codecs[i], true
}

// chooseVideo returns the codec to send pictures with. H264 is preferred, with packetization-mode 1 because a key frame is larger than
// a packet. Its baseline profiles come first, because they are what we send; but any decoder can decode constrained baseline.
func chooseVideo(codecs []codec) (codec, bool) {
	for _, profile := range []string{"42e0", "4200", ""} {
		c, ok := first(codecs, func(c codec) bool {
			return c.is(webrtc.MimeTypeH264) && c.parameter("packetization-mode") == "1" &&
				strings.HasPrefix(strings.ToLower(c.parameter("profile-level-id")), profile)
		})
		if ok {
			c.MimeType = webrtc.MimeTypeH264
			return c, true
		}
	}
	c, ok := first(codecs, func(c codec) bool { return c.is(webrtc.MimeTypeVP8) })
	c.MimeType = webrtc.MimeTypeVP8
	return c, ok
}

// chooseAudio returns the codec to send the voice with: the better one of those that can be encoded without C.
func chooseAudio(codecs []codec) (codec, bool) {
	for _, mimeType := range []string{webrtc.MimeTypeG722, webrtc.MimeTypePCMU} {
		if c, ok := first(codecs, func(c codec) bool { return c.is(mimeType) }); ok {
			c.MimeType = mimeType
			return c, true
		}
	}
	return codec{}, false
}

// parameter returns a parameter of the format, such as packetization-mode.
func (c codec) parameter(name string) string {
	for p := range strings.SplitSeq(c.SDPFmtpLine, ";") {
		if key, value, _ := strings.Cut(strings.TrimSpace(p), "="); strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}
