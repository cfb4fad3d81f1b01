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

// Bounds of an offer. A browser's WHEP offer has about 6 kB and two sections.
const (
	maxOffer    = 64 << 10 // bytes
	maxSections = 8
)

var (
	errOfferSize = fmt.Errorf("offer is larger than %d bytes", maxOffer)
	errSections  = fmt.Errorf("offer has no media sections, or more than %d", maxSections)
	errKind      = errors.New("offer has a section that is neither audio nor video")
)

// codec is an offered codec, with the offer's payload type and parameters.
type codec struct {
	webrtc.RTPCodecParameters
	kind webrtc.RTPCodecType
}

// offer is the part of a client's session description that is used.
type offer struct {
	sdp          string // without candidates, see the package comment
	video, audio []codec
}

// parseOffer reads a session description. All codecs of all sections of a kind are taken together, because a client that has several
// sections of a kind offers the same in each.
func parseOffer(text string) (offer, error) {
	if len(text) > maxOffer {
		return offer{}, errOfferSize
	}
	var description sdp.SessionDescription
	if err := description.UnmarshalString(text); err != nil {
		return offer{}, fmt.Errorf("offer: %w", err)
	}
	if n := len(description.MediaDescriptions); n == 0 || n > maxSections {
		return offer{}, errSections
	}
	var o offer
	for _, section := range description.MediaDescriptions {
		section.Attributes = slices.DeleteFunc(section.Attributes, isCandidate)
		switch section.MediaName.Media {
		case "video":
			o.video = append(o.video, codecsOf(&description, section, webrtc.RTPCodecTypeVideo)...)
		case "audio":
			o.audio = append(o.audio, codecsOf(&description, section, webrtc.RTPCodecTypeAudio)...)
		default:
			return offer{}, errKind
		}
	}
	description.Attributes = slices.DeleteFunc(description.Attributes, isCandidate)
	plain, err := description.Marshal()
	if err != nil {
		return offer{}, fmt.Errorf("offer: %w", err)
	}
	o.sdp = string(plain)
	return o, nil
}

func isCandidate(a sdp.Attribute) bool {
	return a.Key == "candidate" || a.Key == "end-of-candidates" || a.Key == "remote-candidates"
}

// codecsOf lists the codecs of a section in the order of preference. Formats without rtpmap, which browsers always write, are left
// out.
func codecsOf(description *sdp.SessionDescription, section *sdp.MediaDescription, kind webrtc.RTPCodecType) []codec {
	var codecs []codec
	for _, format := range section.MediaName.Formats {
		payloadType, err := strconv.ParseUint(format, 10, 7)
		if err != nil {
			continue
		}
		offered, err := description.GetCodecForPayloadType(uint8(payloadType))
		if err != nil || offered.Name == "" {
			continue
		}
		channels, _ := strconv.ParseUint(offered.EncodingParameters, 10, 8) // 0 when there is none
		c := codec{kind: kind}
		c.PayloadType, c.SDPFmtpLine = webrtc.PayloadType(payloadType), offered.Fmtp
		c.MimeType, c.ClockRate, c.Channels = kind.String()+"/"+offered.Name, offered.ClockRate, uint16(channels)
		codecs = append(codecs, c)
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
